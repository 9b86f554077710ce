#define _GNU_SOURCE /* memmem */
#include "wikiprep/site/disambiguation.h"

#include <string.h>

#include "wikiprep/site/names.h"

enum { NAME_MAX_BYTES = 64 };

static const char *const templates[] = {
    "disambiguation",
    "disambig",
    "disamb",
    "dab",
    "disambiguation cleanup",
    "hndis",
    "geodis",
    "human name disambiguation",
    "place name disambiguation",
    "school disambiguation",
    "hospital disambiguation",
    "airport disambiguation",
    "number disambiguation",
    "mathematical disambiguation",
    "letter-number combination disambiguation",
    "roaddis",
    "species latin name disambiguation",
    "taxonomy disambiguation",
    "callsigndis",
    "shipindex",
    "begriffsklärung",
    "homonymie",
    "desambiguación",
    "desambiguació",
    "desambiguação",
    "disambigua",
    "doorverwijspagina",
    "dp",
    "förgrening",
    "gren",
    "peker",
    "flertydig",
    "flertydig titel",
    "täsmennyssivu",
    "ujednoznacznienie",
    "rozcestník",
    "egyért",
    "anlam ayrımı",
    "неоднозначность",
    "неоднозначність",
    "αποσαφήνιση",
    "trang định hướng",
    "định hướng",
    "aimai",
    "曖昧さ回避",
    "人名の曖昧さ回避",
    "地名の曖昧さ回避",
    "消歧义",
    "消歧義",
    "동음이의",
    "توضيح",
    "ابهام‌زدایی",
    "פירושונים",
};

static int marks_one(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++)
        if (names_equal(name, n, templates[i], strlen(templates[i])))
            return 1;
    return 0;
}

int disambiguation_page(const char *text, size_t n)
{
    const char *end = text + n;
    if (memmem(text, n, "__DISAMBIG__", strlen("__DISAMBIG__")))
        return 1;
    for (const char *s = text; (s = memmem(s, (size_t)(end - s), "{{", 2)); s += 2) {
        size_t most = (size_t)(end - s - 2) < NAME_MAX_BYTES ? (size_t)(end - s - 2)
                                                             : NAME_MAX_BYTES;
        size_t len = 0;
        while (len < most && !strchr("|}\n{", s[2 + len]))
            len++;
        if (len < most && marks_one(s + 2, len))
            return 1;
    }
    return 0;
}
