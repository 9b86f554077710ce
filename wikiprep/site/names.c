#include "wikiprep/site/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "unicode/letter_case.h"

enum { NAME_MAX_BYTES = 96 }; /* a longer prefix is no namespace */

struct entry {
    char *key; /* folded; NULL: free */
    enum names_kind kind;
};

struct names {
    struct entry *entries; /* open addressing; cap is a power of two */
    size_t count, cap;
    int capital;
};

/* ---- folding ----------------------------------------------------------------------------- */

/* Into out, with its NUL; 0 when the name is empty or too long. */
static size_t fold(char out[NAME_MAX_BYTES], const char *s, size_t n)
{
    size_t len = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        if (c == '_' || c == '\t')
            c = ' ';
        if (c == ' ' && (!len || out[len - 1] == ' '))
            continue;
        if (len + 4 >= NAME_MAX_BYTES)
            return 0;
        if (used > 1 || c < 0x80)
            len += utf8_encode(out + len, letter_case_lower(c));
        else
            out[len++] = (char)c; /* no UTF-8 */
    }
    if (len && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
    return len;
}

int names_equal(const char *a, size_t an, const char *b, size_t bn)
{
    char x[NAME_MAX_BYTES], y[NAME_MAX_BYTES];
    size_t n = fold(x, a, an);
    return n && n == fold(y, b, bn) && !memcmp(x, y, n);
}

void names_add_title(struct buf *out, const char *s, size_t n, int capital)
{
    size_t begin = out->len;
    int space = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = 1;
        if (strchr(" _\t\r\n", s[i]) && s[i]) {
            space = out->len > begin;
            continue;
        }
        if (space)
            buf_addc(out, ' ');
        space = 0;
        if (capital && out->len == begin)
            letter_case_put(out, s + i, used = utf8_read(s + i, n - i, &c), letter_case_title);
        else
            buf_addc(out, s[i]);
    }
}

/* ---- table ------------------------------------------------------------------------------- */

static struct entry *find(const struct names *names, const char *key)
{
    size_t mask = names->cap - 1, i = hash_bytes(key, strlen(key)) & mask;
    while (names->entries[i].key && strcmp(names->entries[i].key, key))
        i = (i + 1) & mask;
    return &names->entries[i];
}

static void grow(struct names *names)
{
    struct names bigger = { .cap = names->cap * 2 };
    bigger.entries = mem_zalloc(bigger.cap, sizeof *bigger.entries);
    for (size_t i = 0; i < names->cap; i++)
        if (names->entries[i].key)
            *find(&bigger, names->entries[i].key) = names->entries[i];
    free(names->entries);
    names->entries = bigger.entries;
    names->cap = bigger.cap;
}

void names_add(struct names *names, const char *name, enum names_kind kind)
{
    char key[NAME_MAX_BYTES];
    if (!fold(key, name, strlen(name)))
        return;
    if (names->count * 2 >= names->cap)
        grow(names);
    struct entry *e = find(names, key);
    if (!e->key) {
        e->key = mem_strdup(key);
        names->count++;
    }
    e->kind = kind;
}

enum names_kind names_find(const struct names *names, const char *prefix, size_t n)
{
    char key[NAME_MAX_BYTES];
    if (!fold(key, prefix, n))
        return NAMES_NONE;
    const struct entry *e = find(names, key);
    return e->key ? e->kind : NAMES_NONE;
}

/* ---- built-in names ---------------------------------------------------------------------- */

static const char files[] =
    "archivo|imagen|ficheiro|imagem|arquivo|fichier|immagine|datei|bild|bestand|afbeelding|fil|"
    "bilde|billede|tiedosto|kuva|mynd|skrá|plik|grafika|soubor|obrázok|súbor|fájl|kép|"
    "fișier|fişier|imagine|slika|datoteka|датотека|слика|файл|"
    "изображение|картинка|зображення|выява|картина|"
    "αρχείο|εικόνα|dosya|resim|fayl|şəkil|fails|attēls|vaizdas|pilt|fitxer|imatge|"
    "ficheru|imaxe|fitxategi|irudi|restr|skeudenn|delwedd|íomhá|figura|imago|dosiero|imagno|"
    "skedari|stampa|fichero|ფაილი|სურათი|պատկեր|ֆայլ|קובץ|"
    "תמונה|ملف|صورة|پرونده|تصویر|وێنە|ਤਸਵੀਰ|चित्र|"
    "तस्वीर|फ़ाइल|সচিত্র|চিত্র|படிமம்|"
    "దస్త్రం|బొమ్మ|ചിത്രം|പ്രമാണം|"
    "ಚಿತ್ರ|ไฟล์|ภาพ|tập tin|hình|berkas|gambar|fail|imej|talaksan|"
    "larawan|payl|ファイル|画像|파일|그림|文件|图像|图片|檔案|圖像|圖片|"
    "archivu|lêer|beeld|wobraz|dataja|bôrk|òbrôzk|bilt|wêne|файлъ|сүрөт|"
    "сурет|рәсем|расм|акс|зураг|şekil|tasvir";
static const char categories[] =
    "category|categoría|categoria|catégorie|kategorie|categorie|kategori|kategória|kategoria|"
    "luokka|flokkur|bólkur|kategorija|категорија|категория|"
    "категорія|катэгорыя|κατηγορία|kateqoriya|turkum|kategoreja|"
    "kategooria|rummad|kategoriya|kategorio|catagóir|rannan|kategorî|categorio|categorii|kawan|"
    "კატეგორია|կատեգորիա|קטגוריה|تصنيف|رده|زمرہ|"
    "پۆل|श्रेणी|वर्ग|বিষয়শ্রেণী|"
    "ਸ਼੍ਰੇਣੀ|શ્રેણી|பகுப்பு|వర్గం|"
    "വർഗ്ഗം|ವರ್ಗ|ප්‍රවර්ගය|หมวดหมู่|"
    "thể loại|kaarangay|kaurian|カテゴリ|分类|分類|분류|санат|төркем|"
    "категори|гурӯҳ|ангилал";
static const char media[] = "media|mídia|média|medij|медиа|медија|медіа|мультимедиа|"
                            "μέσο|medya|メディア|미디어|媒体|媒體|מדיה|وسائط|مدیا|medeja|"
                            "multimedia";
/* Wikipedia's languages, and codes that once were. */
static const char languages[] =
    "aa|ab|ace|ady|af|ak|als|alt|am|ami|an|ang|anp|ann|ar|arc|ary|arz|as|ast|atj|av|avk|awa|ay|"
    "az|azb|ba|ban|bar|bat-smg|bbc|bcl|bdr|be|be-tarask|be-x-old|bew|bg|bh|bi|bjn|blk|bm|bn|bo|"
    "bpy|br|bs|btm|bug|bxr|ca|cbk-zam|cdo|ce|ceb|ch|cho|chr|chy|ckb|co|cr|crh|cs|csb|cu|cv|cy|cz|"
    "da|dag|de|dga|din|diq|dk|dsb|dtp|dty|dv|dz|ee|el|eml|en|eo|epo|es|et|eu|ext|fa|fat|ff|fi|"
    "fiu-vro|fj|fo|fon|fr|frp|frr|fur|fy|ga|gag|gan|gcr|gd|gl|glk|gn|gom|gor|got|gpe|gsw|gu|guc|"
    "gur|guw|gv|ha|hak|haw|he|hi|hif|ho|hr|hsb|ht|hu|hy|hyw|hz|ia|iba|id|ie|ig|igl|ii|ik|ilo|inh|"
    "io|is|it|iu|ja|jam|jbo|jp|jv|ka|kaa|kab|kaj|kbd|kbp|kcg|kg|kge|ki|kj|kk|kl|km|kn|knc|ko|koi|"
    "kr|krc|ks|ksh|ku|kus|kv|kw|ky|la|lad|lb|lbe|lez|lfn|lg|li|lij|lld|lmo|ln|lo|lrc|lt|ltg|lv|"
    "lzh|mad|mai|map-bms|mdf|mg|mh|mhr|mi|min|minnan|mk|ml|mn|mni|mnw|mo|mos|mr|mrj|ms|mt|mus|"
    "mwl|my|myv|mzn|na|nah|nan|nap|nb|nds|nds-nl|ne|new|ng|nia|nl|nn|no|nov|nqo|nr|nrm|nso|nup|"
    "nv|ny|oc|olo|om|or|os|pa|pag|pam|pap|pcd|pcm|pdc|pfl|pi|pih|pl|pms|pnb|pnt|ps|pt|pwn|qu|rm|"
    "rmy|rn|ro|roa-rup|roa-tara|rsk|ru|rue|rup|rw|sa|sah|sat|sc|scn|sco|sd|se|sg|sgs|sh|shi|shn|"
    "shy|si|simple|sk|skr|sl|sm|smn|sn|so|sq|sr|srn|ss|st|stq|su|sv|sw|syl|szl|szy|ta|tay|tcy|"
    "tdd|te|tet|tg|th|ti|tig|tk|tl|tly|tn|to|tpi|tr|trv|ts|tt|tum|tw|ty|tyv|udm|ug|uk|ur|uz|ve|"
    "vec|vep|vi|vls|vo|vro|wa|war|wo|wuu|xal|xh|xmf|yi|yo|yue|za|zea|zgh|zh|zh-cfr|zh-classical|"
    "zh-cn|zh-min-nan|zh-tw|zh-yue|zu";
static const char projects[] =
    "w|wikipedia|wikt|wiktionary|s|wikisource|q|wikiquote|b|wikibooks|n|wikinews|v|wikiversity|"
    "voy|wikivoyage|c|commons|m|meta|metawikipedia|d|wikidata|species|wikispecies|mw|"
    "mediawikiwiki|wmf|foundation|incubator|outreach|phab|phabricator|bugzilla|mail|mailarchive|"
    "doi|arxiv|rfc|google|imdbname|imdbtitle|wikia|wikicities|tools|toolforge|toollabs|"
    "translatewiki|betawiki|f|wikifunctions";

static void add_all(struct names *names, const char *list, enum names_kind kind)
{
    for (const char *s = list; *s;) {
        size_t n = strcspn(s, "|");
        char *name = mem_strndup(s, n);
        names_add(names, name, kind);
        free(name);
        s += n + (s[n] == '|');
    }
}

struct names *names_new(void)
{
    struct names *names = mem_zalloc(1, sizeof *names);
    names->capital = 1;
    names->cap = 2048;
    names->entries = mem_zalloc(names->cap, sizeof *names->entries);
    add_all(names, projects, NAMES_PROJECT);
    add_all(names, languages, NAMES_LANGUAGE);
    add_all(names, media, NAMES_MEDIA);
    add_all(names, categories, NAMES_CATEGORY);
    add_all(names, files, NAMES_ALIAS);
    add_all(names, "file|image", NAMES_FILE);
    return names;
}

void names_set_capital(struct names *names, int capital)
{
    names->capital = capital;
}

int names_capital(const struct names *names)
{
    return names->capital;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->cap; i++)
        free(names->entries[i].key);
    free(names->entries);
    free(names);
}
