#include "wikiprep/section.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "wikiprep/names.h"

struct section_list {
    char *names; /* with commas between */
};

/* clang-format off */
static const char *const defaults[][2] = {
    { "en", "References,Notes,Notes and references,Footnotes,Citations,Sources,Bibliography,"
            "Further reading,External links,See also" },
    { "de", "Einzelnachweise,Weblinks,Literatur,Siehe auch,Anmerkungen,Quellen,Fußnoten,Belege" },
    { "es", "Referencias,Notas,Notas y referencias,Bibliografía,Enlaces externos,Véase también" },
    { "fr", "Références,Notes et références,Notes,Bibliographie,Liens externes,Voir aussi,"
            "Articles connexes,Annexes" },
    { "it", "Note,Bibliografia,Altri progetti,Collegamenti esterni,Voci correlate" },
    { "ja", "脚注,出典,注釈,参考文献,関連項目,外部リンク,関連書籍,関連文献" },
    { "nl", "Bronnen,Referenties,Literatuur,Externe links,Zie ook,Noten,Externe link" },
    { "pl", "Przypisy,Bibliografia,Linki zewnętrzne,Zobacz też,Uwagi" },
    { "pt", "Referências,Notas,Bibliografia,Ligações externas,Ver também,Notas e referências" },
    { "ru", "Примечания,Литература,Ссылки,См. также,Источники" },
    { "sv", "Referenser,Noter,Källor,Externa länkar,Se även,Litteratur" },
    { "uk", "Примітки,Література,Посилання,Див. також,Джерела" },
    { "zh", "参考文献,參考文獻,注释,註釋,参考资料,參考資料,"
            "外部链接,外部連結,参见,參見" },
};
/* clang-format on */

static const char *default_names(const char *lang)
{
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!strcmp(lang, defaults[i][0]))
            return defaults[i][1];
    return defaults[0][1];
}

struct section_list *section_list_new(const char *names, const char *lang)
{
    struct section_list *list = mem_zalloc(1, sizeof *list);
    struct buf all = BUF_INIT;
    while (*names) {
        size_t n = strcspn(names, ",");
        if (n == strlen("default") && !memcmp(names, "default", n))
            buf_adds(&all, default_names(lang));
        else
            buf_add(&all, names, n);
        buf_addc(&all, ',');
        names += n + (names[n] == ',');
    }
    list->names = buf_detach(&all);
    return list;
}

void section_list_free(struct section_list *list)
{
    if (!list)
        return;
    free(list->names);
    free(list);
}

int section_listed(const struct section_list *list, const char *heading, size_t n)
{
    for (const char *s = list->names; *s;) {
        size_t len = strcspn(s, ",");
        if (names_equal(s, len, heading, n))
            return 1;
        s += len + (s[len] == ',');
    }
    return 0;
}
