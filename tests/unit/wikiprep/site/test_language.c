/* Names of languages. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/site/language.h"
#include "wikiprep/site/magic.h"
#include "wikiprep/site/names.h"
#include "wikiprep/values/calendar.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"
#include "wikiprep/values/plural.h"

static void check(const char *code, const char *wiki, const char *name)
{
    const char *got = language_name(code, strlen(code), wiki);
    cr_expect(name ? got && !strcmp(got, name) : !got, "%s in %s: %s", code, wiki,
              got ? got : "none");
}

Test(language, in_the_language_of_the_wiki)
{
    check("ru", "en", "Russian");
    check("ru", "ja", "ロシア語");
    check("ru", "it", "russo");
    check("ru", "de", "russisch");
    check("ar", "ca", "àrab"); /* the first and the last of a row */
    check("zh", "fr", "chinois");
    check("zh", "uk", "кит.");
    check("la", "nn", "latin");
    check("ru", "hy", "ռուս.");
    check("ru", "ka", "რუს.");
    check("sr-Latn", "pl", "serb.");
    check("gem-pro", "en", "Proto-Germanic");
    check("gem-x-other", "en", "Germanic");
}

Test(language, english_where_no_names_are_known)
{
    check("ru", "ltg", "Russian");
    check("ace", "en", "Acehnese");
    check("ace", "de", NULL);
    check("not-a-code", "de", NULL);
    check("averylongcodethatisnone", "de", NULL);
}

Test(language, without_data)
{
    static const struct {
        const char *code, *doubt;
    } cases[] = {
        { "de", NULL },
        { "ka", NULL }, /* a file without words */
        { "xx",
          "no data for the language 'xx': headings, magic words and dates are taken for English, "
          "and sentences end by the rules of all languages" },
        { "it.learned", "" },
        { "common", "" },
        { "", "the dump names no language, and --language is not given: " },
    };
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(language_lacks_data(cases[i].code, &out), cases[i].doubt != NULL);
        if (cases[i].doubt)
            cr_expect(strstr(out.data, cases[i].doubt), "%s: %s", cases[i].code, out.data);
    }
    cr_expect(language_has_data("pt-br", 2) && !language_has_data("pt-br", 5));
    cr_expect_eq(language_known("pt-br"), 2);
    cr_expect_eq(language_known("be-tarask"), 9);
    cr_expect_eq(language_known("xx-yy"), 5);
    buf_release(&out);
}

Test(language, sections_without_prose)
{
    static const char *const cases[][2] = {
        { "hu", "Fordítás" },        { "tr", "kaynaklar" },   { "zh", "延伸閱讀" },
        { "cy", "Dolenni allanol" }, { "ru", "Комментарии" }, { "ar", "انظر أيضاً" },
        { "sv", "Vidare läsning" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *list = language_sections("default", cases[i][0]);
        cr_expect(names_listed(list, ',', cases[i][1], strlen(cases[i][1])), "%s", cases[i][1]);
        free(list);
    }
}

/* ---- a language as docs/languages.md says ---------------------------------------------------- */

static void check_name(const char *lang, enum calendar_kind kind, int index, const char *name)
{
    struct span got = calendar_name(lang, kind, index);
    cr_expect(span_is(got, name) && got.n == strlen(name), "%s %d: %.*s", lang, index, (int)got.n,
              got.s);
}

Test(calendar, names)
{
    cr_expect(calendar_has("af") && !calendar_has("xx"));
    check_name("af", CALENDAR_MONTH, 0, "Januarie");
    check_name("af", CALENDAR_MONTH, 11, "Desember");      /* on a continued line */
    check_name("af", CALENDAR_MONTH_GENITIVE, 2, "Maart"); /* not given: as the month */
    check_name("af", CALENDAR_MONTH_SHORT, 2, "Mrt");
    check_name("af", CALENDAR_DAY, 6, "Saterdag");
    check_name("af", CALENDAR_DAY_SHORT, 0, "So");
    check_name("ru", CALENDAR_MONTH_GENITIVE, 4, "мая");
    check_name("xx", CALENDAR_MONTH, 4, "May");
    check_name("bs", CALENDAR_MONTH_GENITIVE, 5, "juna");
    check_name("hy", CALENDAR_MONTH_GENITIVE, 0, "Հունվարի");
    check_name("ka", CALENDAR_DAY, 1, "ორშაბათი");
    check_name("kk", CALENDAR_MONTH, 11, "желтоқсан");
    check_name("ms", CALENDAR_MONTH, 2, "Mac");
    check_name("ta", CALENDAR_MONTH_SHORT, 0, "சன");
    check_name("th", CALENDAR_MONTH_SHORT, 11, "ธ.ค.");
    check_name("am", CALENDAR_MONTH, 0, "ጃንዩዌሪ");
    check_name("az", CALENDAR_DAY_SHORT, 1, "Bazar ertəsi");
    check_name("be-tarask", CALENDAR_MONTH_GENITIVE, 4, "траўня");
    check_name("cy", CALENDAR_MONTH, 0, "Ionawr");
    check_name("km", CALENDAR_MONTH_GENITIVE, 11, "ធ្នូ");
    check_name("mr", CALENDAR_MONTH, 11, "डिसेंबर");
    check_name("yo", CALENDAR_DAY, 6, "Ọjọ́àbámẹ́ta");
    check_name("ur", CALENDAR_MONTH, 11, "دسمبر");
}

static void check_word(const char *lang, const char *word, const char *english)
{
    struct nameset *m = magic_new(lang);
    const char *got = magic_find(m, word, strlen(word));
    cr_expect(english ? got && !strcmp(got, english) : !got, "%s %s: %s", lang, word,
              got ? got : "none");
    nameset_free(m);
}

Test(magic, words)
{
    check_word("af", "HUIDIGEDAG", "CURRENTDAY");
    check_word("af", "#taal", "#language");
    check_word("af", "huidigedag", NULL); /* those of variables as they are written */
    check_word("de", "SEITENNAME", "PAGENAME");
    check_word("de", "klein", "lc");
    check_word("de", "NOMPAGE", NULL);
    check_word("fr", "NOMPAGE", "PAGENAME");
    check_word("es", "#invocar", "#invoke");
    check_word("ru", "#вызвать", "#invoke");
    check_word("nb", "SIDENAVN", "PAGENAME"); /* no.wikipedia.org says that it is in nb */
    check_word("xx", "SEITENNAME", NULL);
    check_word("", "file", NULL);
}

Test(knowledge, of_a_new_language)
{
    char *list = language_sections("Lead, default", "af");
    cr_expect(names_listed(list, ',', "Eksterne skakels", 16) &&
              names_listed(list, ',', "lead", 4));
    cr_expect_not(names_listed(list, ',', "Geskiedenis", 11));
    free(list);
    cr_expect_str_eq(language_name("de", 2, "af"), "Duits");
    cr_expect(span_is(number_style("af").point, ","));
    cr_expect_eq(plural_form("af", 1), 0);
    struct sentence_model *m = sentence_model_new("af");
    struct buf out = BUF_INIT;
    const char text[] = "Mnr. Smit het bl. 4 gelees. Daarna het dr. Botha gekom.";
    sentence_split_text(m, &out, text, sizeof text - 1);
    cr_expect_str_eq(out.data, "Mnr. Smit het bl. 4 gelees.\nDaarna het dr. Botha gekom.");
    sentence_model_free(m);
    buf_release(&out);
}

Test(knowledge, rows_are_sorted)
{
    const struct knowledge_row *rows;
    for (size_t i = 1; i < knowledge_rows_count; i++) {
        const struct knowledge_row *a = &knowledge_rows[i - 1], *b = &knowledge_rows[i];
        int order = strcmp(a->section, b->section);
        order = order ? order : strcmp(a->lang, b->lang);
        order = order ? order : strcmp(a->key, b->key);
        cr_assert_lt(order, 0, "%s %s %s", b->section, b->lang, b->key);
    }
    cr_assert_eq(knowledge_section("calendar", "de", &rows), 4);
    cr_expect_str_eq(rows[0].key, "days");
    cr_expect_eq(knowledge_section("calendar", "xx", &rows), 0);
    cr_expect_eq(knowledge_section("none", NULL, &rows), 0);
    cr_expect_null(knowledge_find("calendar", "de", "years"));
    cr_expect(knowledge_section("prefixes", NULL, &rows) >= 4);
}
