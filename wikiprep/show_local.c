#include "wikiprep/calendar.h"
#include "wikiprep/language.h"
#include "wikiprep/number.h"
#include "wikiprep/show.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ---------------------------------------------------------------------------------- */

/* Of a pattern, up to its end or `stop`: "$1" is an argument, "[…]" is left out unless one in it
 * was given. *given counts those that were. Returns where it stopped. */
static const char *put_pattern(const struct call *c, const char *p, char stop, int *given,
                               struct buf *out)
{
    for (; *p && *p != stop; p++) {
        if (*p == '[') {
            size_t mark = out->len;
            int inside = 0;
            p = put_pattern(c, p + 1, ']', &inside, out);
            if (!inside)
                buf_truncate(out, mark);
            *given += inside;
        } else if (*p == '$' && isdigit((unsigned char)p[1])) {
            *given += show_span(call_at(c, *++p - '0'), out);
        } else {
            buf_addc(out, *p);
        }
    }
    return p;
}

static int show_pattern(const struct call *c, const char *text, int n, struct buf *out)
{
    size_t mark = out->len;
    int given = 0;
    put_pattern(c, text, '\0', &given, out);
    if (!given && !n)
        buf_truncate(out, mark);
    return given || n;
}

/* ---- numbers, units and dates ------------------------------------------------------------------ */

static int is_exponent(struct span s)
{
    int v;
    size_t sign = s.n > 3 && !memcmp(s.s, "−", 3) ? 3 : s.n > 1 && memchr("-\x0C", *s.s, 2) ? 1 : 0;
    return span_number((struct span){ s.s + sign, s.n - sign }, &v);
}

/* {{unité|5|kg/m|3}}: "5 kg/m³"; {{unité|10|m|s|-1}}: "10 m s⁻¹" */
static int show_unit(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!call_at(c, 1).n)
        return 0;
    show_grouped_span(c, call_at(c, 1), out);
    for (int i = 2; i <= c->a.count; i++) {
        struct span s = call_at(c, i);
        if (i > 2 && is_exponent(s)) {
            show_superscript(s, out);
        } else if (s.n) {
            buf_adds(out, span_is(s, "°") ? "" : " ");
            span_put(s, out);
        }
    }
    return 1;
}

/* The month that s is in the language of the page, or its number: 0 to 11; -1. */
static int local_month(const struct call *c, struct span s)
{
    int m;
    if (span_number(s, &m))
        return m >= 1 && m <= 12 ? m - 1 : -1;
    for (m = 0; m < 12; m++) {
        struct span name = calendar_name(c->page->lang, CALENDAR_MONTH, m);
        if (name.n == s.n && !memcmp(name.s, s.s, s.n))
            return m;
    }
    return -1;
}

/* {{date|1|janvier|2000}}: day, month, year. `text` stands between them: " de " in Spanish. */
static int show_day(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    struct span day = call_at(c, 1), year = call_at(c, 3);
    int month = local_month(c, call_at(c, 2));
    if (month < 0) /* all in one */
        return show_join_from(c, 1, " ", out);
    if (day.n) {
        while (day.n > 1 && *day.s == '0')
            day = (struct span){ day.s + 1, day.n - 1 };
        span_put(day, out);
        if (!strcmp(c->page->lang, "fr") && span_is(day, "1"))
            buf_adds(out, "er");
        buf_adds(out, text);
    }
    span_put(calendar_name(c->page->lang, CALENDAR_MONTH_GENITIVE, month), out);
    if (year.n) {
        buf_adds(out, text);
        span_put(year, out);
    }
    return 1;
}

/* {{Höhe|100|DE-NHN}}: "100 m ü. NHN" */
static int show_height(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const levels[][2] = { { "DE-NHN", " ü. NHN" },
                                             { "DE-NN", " ü. NN" },
                                             { "AT", " ü. A." },
                                             { "CH", " ü. M." },
                                             { "", "" } };
    (void)text, (void)n;
    if (!call_at(c, 1).n)
        return 0;
    show_grouped_span(c, call_at(c, 1), out);
    size_t i = 0;
    while (*levels[i][0] && !span_is(call_at(c, 2), levels[i][0]))
        i++;
    buf_addf(out, " m%s", levels[i][1]);
    return 1;
}

/* {{siglo|XIX||s}}: "siglo XIX"; the second is an era. */
static int show_siglo(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span era = call_at(c, 2), word = call_at(c, 3);
    if (!call_at(c, 1).n)
        return 0;
    if (word.n)
        buf_adds(out, *word.s == 'S' ? "Siglo " : "siglo ");
    span_put(call_at(c, 1), out);
    buf_adds(out, span_is(era, "a") ? " a. C." : span_is(era, "d") ? " d. C." : "");
    return 1;
}

/* ---- languages --------------------------------------------------------------------------------- */

/* {{j|en}}: "(ang.)" */
static int show_language_mark(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    const char *name = language_name(call_at(c, 1).s, call_at(c, 1).n, c->page->lang);
    if (name)
        buf_addf(out, "(%s)", name);
    return name != NULL;
}

/* {{vjazyce2|en|Moon}}: "anglicky Moon", and {{vjazyce|en}} */
static int show_language_of(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    const char *name = language_name(call_at(c, 1).s, call_at(c, 1).n, c->page->lang);
    if (!name)
        return show_span(call_at(c, 2), out);
    buf_adds(out, name);
    if (call_at(c, 2).n) {
        buf_addc(out, ' ');
        span_put(call_at(c, 2), out);
    }
    return 1;
}

/* ---- the table --------------------------------------------------------------------------------- */

/* Sorted by language and name. What is like English is not here: show_find has it. */
/* clang-format off */
static const struct show_entry entries[] = {
    { "ar:إنج", show_pattern, "بالإنجليزية: $1", 0 },
    { "ar:اقتباس", show_quote, NULL, 0 },
    { "ar:لات", show_pattern, "باللاتينية: $1", 0 }, { "ar:وإو", show_nth, NULL, 1 },
    { "cs:citát", show_quote, NULL, 0 }, { "cs:cizojazyčně", show_nth, NULL, 2 },
    { "cs:vjazyce", show_language_of, NULL, 0 }, { "cs:vjazyce2", show_language_of, NULL, 0 },
    { "de:\"", show_wrap, "„ “", 0 }, { "de:b", show_pattern, "$1 $2[,$3][ $4]", 0 },
    { "de:bruch", show_fraction, "⁄", 0 }, { "de:höhe", show_height, NULL, 0 },
    { "de:zitat", show_quote, NULL, 0 }, { "de:zitat-en", show_quote, NULL, 0 },
    { "de:zitat-fr", show_quote, NULL, 0 }, { "es:a. c.", show_say, "a. C.", 0 },
    { "es:a.c.", show_say, "a. C.", 0 }, { "es:abreviatura", show_nth, NULL, 1 },
    { "es:ac", show_say, "a. C.", 0 }, { "es:afi", show_nth, NULL, 1 },
    { "es:cita", show_quote, NULL, 0 }, { "es:cita necesaria", show_nth, NULL, 1 },
    { "es:cita requerida", show_nth, NULL, 1 }, { "es:d. c.", show_say, "d. C.", 0 },
    { "es:d.c.", show_say, "d. C.", 0 }, { "es:dc", show_say, "d. C.", 0 },
    { "es:esd", show_nth, NULL, 1 }, { "es:fecha", show_day, " de ", 0 },
    { "es:fecha de inicio", show_day, " de ", 0 }, { "es:refnec", show_nth, NULL, 1 },
    { "es:siglo", show_siglo, NULL, 0 }, { "es:unidad", show_unit, NULL, 0 },
    { "es:versalita", show_nth, NULL, 1 }, { "fa:نقل قول", show_quote, NULL, 0 },
    { "fr:-av jc", show_say, "av. J.-C.", 0 }, { "fr:-s", show_pattern, "$1$2 siècle av. J.-C.", 0 },
    { "fr:-s-", show_pattern, "$1$2 siècle av. J.-C.", 0 },
    { "fr:-s2", show_pattern, "$1$2 et $3$4 siècles av. J.-C.", 0 },
    { "fr:-s2-", show_pattern, "$1$2 et $3$4 siècles av. J.-C.", 0 }, { "fr:1er", show_say, "1er", 0 },
    { "fr:1re", show_say, "1re", 0 }, { "fr:1ère", show_say, "1re", 0 },
    { "fr:2de", show_say, "2de", 0 }, { "fr:2e", show_say, "2e", 0 }, { "fr:3e", show_say, "3e", 0 },
    { "fr:4e", show_say, "4e", 0 }, { "fr:abrév", show_nth, NULL, 1 },
    { "fr:abréviation", show_nth, NULL, 1 }, { "fr:abréviation discrète", show_nth, NULL, 1 },
    { "fr:ap j-c", show_say, "apr. J.-C.", 0 }, { "fr:ap jc", show_say, "apr. J.-C.", 0 },
    { "fr:ap. j.-c.", show_say, "apr. J.-C.", 0 }, { "fr:api", show_nth, NULL, 1 },
    { "fr:av j-c", show_say, "av. J.-C.", 0 }, { "fr:av jc", show_say, "av. J.-C.", 0 },
    { "fr:av. j.-c.", show_say, "av. J.-C.", 0 }, { "fr:citation", show_pattern, "« $1 »", 0 },
    { "fr:citation bloc", show_quote, NULL, 0 }, { "fr:citation nécessaire", show_nth, NULL, 1 },
    { "fr:citation étrangère", show_nth, "texte", 2 },
    { "fr:citation étrangère bloc", show_nth, "texte", 2 }, { "fr:date", show_day, " ", 0 },
    { "fr:date de décès", show_day, " ", 0 }, { "fr:date de décès-", show_day, " ", 0 },
    { "fr:date de naissance", show_day, " ", 0 }, { "fr:date de naissance-", show_day, " ", 0 },
    { "fr:date-", show_day, " ", 0 }, { "fr:dr", show_pattern, "Dr[ $1]", 1 },
    { "fr:début citation bloc", show_quote, NULL, 0 }, { "fr:e", show_say, "e", 0 },
    { "fr:er", show_say, "er", 0 }, { "fr:exp", show_nth, NULL, 1 },
    { "fr:guil", show_pattern, "« $1 »", 0 }, { "fr:guillemets", show_pattern, "« $1 »", 0 },
    { "fr:heure", show_pattern, "$1 h[ $2]", 0 }, { "fr:incise", show_pattern, "– $1 –", 0 },
    { "fr:inconnu", show_nth, NULL, 1 }, { "fr:ind", show_nth, NULL, 1 },
    { "fr:ième", show_say, "e", 0 }, { "fr:japonais", show_nihongo, NULL, 0 },
    { "fr:langue", show_nth, NULL, 2 }, { "fr:lien", show_nth, "texte|fr|1", 1 },
    { "fr:m.", show_pattern, "M.[ $1]", 1 }, { "fr:me", show_pattern, "Me[ $1]", 1 },
    { "fr:mgr", show_pattern, "Mgr[ $1]", 1 }, { "fr:mlle", show_pattern, "Mlle[ $1]", 1 },
    { "fr:mm.", show_pattern, "MM.[ $1]", 1 }, { "fr:mme", show_pattern, "Mme[ $1]", 1 },
    { "fr:nb", show_unit, NULL, 0 }, { "fr:nobr romains", show_nth, NULL, 1 },
    { "fr:nom de navire", show_nth, NULL, 1 }, { "fr:nombre", show_unit, NULL, 0 },
    { "fr:num", show_unit, NULL, 0 }, { "fr:n°", show_say, "no", 0 },
    { "fr:pas clair", show_nth, NULL, 1 }, { "fr:passage non neutre", show_nth, NULL, 1 },
    { "fr:pc", show_nth, NULL, 1 }, { "fr:pertinence détail", show_nth, NULL, 1 },
    { "fr:petite capitale", show_nth, NULL, 1 }, { "fr:petites capitales", show_nth, NULL, 1 },
    { "fr:pr", show_pattern, "Pr[ $1]", 1 }, { "fr:précision nécessaire", show_nth, NULL, 1 },
    { "fr:quand", show_nth, NULL, 1 }, { "fr:qui", show_nth, NULL, 1 }, { "fr:re", show_say, "re", 0 },
    { "fr:refins", show_nth, NULL, 1 }, { "fr:refnec", show_nth, NULL, 1 },
    { "fr:refsou", show_nth, NULL, 1 }, { "fr:rom", show_nth, NULL, 1 },
    { "fr:rom-maj", show_nth, NULL, 1 }, { "fr:romain", show_nth, NULL, 1 },
    { "fr:référence insuffisante", show_nth, NULL, 1 },
    { "fr:référence nécessaire", show_nth, NULL, 1 },
    { "fr:référence souhaitée", show_nth, NULL, 1 },
    { "fr:référence à confirmer", show_nth, NULL, 1 }, { "fr:s", show_pattern, "$1$2 siècle", 0 },
    { "fr:s mini", show_pattern, "$1$2", 0 }, { "fr:s mini-", show_pattern, "$1$2", 0 },
    { "fr:s-", show_pattern, "$1$2 siècle", 0 }, { "fr:s2", show_pattern, "$1$2 et $3$4 siècles", 0 },
    { "fr:s2-", show_pattern, "$1$2 et $3$4 siècles", 0 },
    { "fr:siècle", show_pattern, "$1$2 siècle", 0 }, { "fr:source insuffisante", show_nth, NULL, 1 },
    { "fr:souverain", show_nth, NULL, 1 }, { "fr:souverain-", show_nth, NULL, 1 },
    { "fr:souverain2", show_nth, NULL, 1 }, { "fr:souverain3", show_nth, NULL, 1 },
    { "fr:sp", show_pattern, "$1$2 $3 $4$5 siècle", 0 },
    { "fr:sp-", show_pattern, "$1$2 $3 $4$5 siècle", 0 }, { "fr:surligner", show_nth, NULL, 1 },
    { "fr:tiret", show_pattern, "– $1 –", 0 }, { "fr:unité", show_unit, NULL, 0 },
    { "fr:à sourcer", show_nth, NULL, 1 }, { "fr:ème", show_say, "e", 0 },
    { "fr:ère", show_say, "re", 0 }, { "he:אנג", show_pattern, "באנגלית: $1", 0 },
    { "he:אנגלית", show_pattern, "באנגלית: $1", 0 },
    { "he:ציטוטון", show_nth, NULL, 1 }, { "he:קישור שפה", show_nth, "4|3", 3 },
    { "it:citazione necessaria", show_nth, NULL, 1 }, { "it:cn", show_nth, NULL, 1 },
    { "it:exp", show_exp_it, NULL, 0 }, { "it:m", show_misura, NULL, 0 },
    { "it:maiuscoletto", show_nth, NULL, 1 }, { "it:numero", show_grouped, NULL, 1 },
    { "it:q", show_quote, NULL, 0 }, { "it:ta", show_nth, NULL, 1 }, { "ja:ipa", show_ipa_ja, NULL, 0 },
    { "ko:llang", show_langx, NULL, 0 }, { "ko:변환", show_convert, NULL, 1 },
    { "ko:언어", show_nth, NULL, 2 }, { "ko:인용문", show_quote, NULL, 0 },
    { "nl:citaat", show_quote, NULL, 0 }, { "pl:cytat", show_quote, NULL, 0 },
    { "pl:j", show_language_mark, NULL, 0 }, { "pl:jang", show_pattern, "ang. $1", 0 },
    { "pl:jfr", show_pattern, "fr. $1", 0 }, { "pl:jhiszp", show_pattern, "hiszp. $1", 0 },
    { "pl:jniem", show_pattern, "niem. $1", 0 }, { "pl:jros", show_pattern, "ros. $1", 0 },
    { "pl:jwł", show_pattern, "wł. $1", 0 }, { "pl:jłac", show_pattern, "łac. $1", 0 },
    { "pl:liczba", show_grouped, NULL, 1 }, { "pl:w języku", show_nth, NULL, 2 },
    { "pt:ac", show_pattern, "$1 a.C.", 0 }, { "pt:citação", show_quote, NULL, 0 },
    { "pt:citação2", show_quote, NULL, 0 }, { "pt:dc", show_pattern, "$1 d.C.", 0 },
    { "pt:dni", show_day, " de ", 0 }, { "pt:dnibr", show_day, " de ", 0 },
    { "pt:dtlink", show_day, " de ", 0 }, { "pt:fmtn", show_unit, NULL, 0 },
    { "pt:ill", show_nth, "4|3|2", 3 },
    { "pt:pbpe", show_pattern, "$1 (português brasileiro) ou $2 (português europeu)", 0 },
    { "pt:séc", show_pattern, "século $1", 0 }, { "pt:unidade", show_unit, NULL, 0 },
    { "ru:comment", show_nth, NULL, 1 }, { "ru:iw", show_nth, "2|1", 1 },
    { "ru:iw2", show_nth, "2|1", 1 }, { "ru:num", show_grouped, NULL, 1 },
    { "ru:дата", show_day, " ", 0 }, { "ru:до н. э.", show_say, "до н. э.", 0 },
    { "ru:дробь", show_fraction, "⁄", 0 }, { "ru:мфа", show_nth, NULL, 1 },
    { "ru:начало цитаты", show_quote, NULL, 0 },
    { "ru:не переведено", show_nth, "2|1", 1 },
    { "ru:не переведено 1", show_nth, "2|1", 1 },
    { "ru:не переведено 2", show_nth, "2|1", 1 },
    { "ru:не переведено 3", show_nth, "2|1", 1 },
    { "ru:не переведено 4", show_nth, "2|1", 1 },
    { "ru:не переведено 5", show_nth, "2|1", 1 },
    { "ru:не перекладено", show_nth, "2|1", 1 }, { "ru:нп", show_nth, "2|1", 1 },
    { "ru:нп1", show_nth, "2|1", 1 }, { "ru:нп2", show_nth, "2|1", 1 },
    { "ru:нп3", show_nth, "2|1", 1 }, { "ru:нп4", show_nth, "2|1", 1 },
    { "ru:нп5", show_nth, "2|1", 1 }, { "ru:удар", show_pattern, "$1́", 0 },
    { "ru:ударение", show_pattern, "$1́", 0 },
    { "ru:флагификация", show_nth, NULL, 1 }, { "ru:цитата", show_quote, NULL, 0 },
    { "ru:число", show_grouped, NULL, 1 }, { "sv:citat", show_quote, NULL, 0 },
    { "tr:alıntı", show_quote, NULL, 0 }, { "tr:dil", show_nth, NULL, 2 },
    { "tr:dönüştür", show_convert, NULL, 1 }, { "tr:çevir", show_convert, NULL, 1 },
    { "uk:comment", show_nth, NULL, 1 }, { "uk:iw", show_nth, "2|1", 1 },
    { "uk:iw2", show_nth, "2|1", 1 }, { "uk:num", show_grouped, NULL, 1 },
    { "uk:мфа", show_nth, NULL, 1 }, { "uk:начало цитаты", show_quote, NULL, 0 },
    { "uk:не переведено", show_nth, "2|1", 1 },
    { "uk:не переведено 1", show_nth, "2|1", 1 },
    { "uk:не переведено 2", show_nth, "2|1", 1 },
    { "uk:не переведено 3", show_nth, "2|1", 1 },
    { "uk:не переведено 4", show_nth, "2|1", 1 },
    { "uk:не переведено 5", show_nth, "2|1", 1 },
    { "uk:не перекладено", show_nth, "2|1", 1 }, { "uk:нп", show_nth, "2|1", 1 },
    { "uk:нп1", show_nth, "2|1", 1 }, { "uk:нп2", show_nth, "2|1", 1 },
    { "uk:нп3", show_nth, "2|1", 1 }, { "uk:нп4", show_nth, "2|1", 1 },
    { "uk:нп5", show_nth, "2|1", 1 }, { "uk:цитата", show_quote, NULL, 0 },
    { "uk:число", show_grouped, NULL, 1 }, { "vi:đổi", show_convert, NULL, 1 },
    { "zh:bd", show_pattern, "（$1$2—$3$4）", 0 }, { "zh:illm", show_nth, "lt|1", 1 },
    { "zh:internal link helper/en", show_nth, "3|1", 1 },
    { "zh:internal link helper/ja", show_nth, "3|1", 1 }, { "zh:le", show_nth, "3|1", 1 },
    { "zh:link-de", show_nth, "3|1", 1 }, { "zh:link-en", show_nth, "3|1", 1 },
    { "zh:link-es", show_nth, "3|1", 1 }, { "zh:link-fr", show_nth, "3|1", 1 },
    { "zh:link-it", show_nth, "3|1", 1 }, { "zh:link-ja", show_nth, "3|1", 1 },
    { "zh:link-ko", show_nth, "3|1", 1 }, { "zh:link-pt", show_nth, "3|1", 1 },
    { "zh:link-ru", show_nth, "3|1", 1 }, { "zh:tsl", show_nth, "4|3|2", 3 },
    { "zh:僻字", show_nth, NULL, 1 },
};
/* clang-format on */

static int compare_entry(const void *key, const void *item)
{
    return strcmp(key, ((const struct show_entry *)item)->name);
}

const struct show_entry *show_find_local(const char *name)
{
    return bsearch(name, entries, sizeof entries / sizeof *entries, sizeof *entries, compare_entry);
}
