#include "wikiprep/language.h"

#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 12, ENGLISH = 0, JAPANESE = 1, ITALIAN = 2, LANGUAGES = 3 };

/* Sorted by code. */
/* clang-format off */
static const struct language {
    const char *code, *names[LANGUAGES]; /* in English, Japanese, Italian */
} languages[] = {
    { "ab", { "Abkhaz" } }, { "ace", { "Acehnese" } },
    { "af", { "Afrikaans", "アフリカーンス語" } }, { "akk", { "Akkadian" } },
    { "am", { "Amharic" } },
    { "an", { "Aragonese" } }, { "ang", { "Old English" } },
    { "ar", { "Arabic", "アラビア語", "arabo" } }, { "arc", { "Aramaic" } },
    { "arz", { "Egyptian Arabic" } }, { "as", { "Assamese" } }, { "ast", { "Asturian" } },
    { "av", { "Avar" } }, { "ay", { "Aymara" } },
    { "az", { "Azerbaijani", "アゼルバイジャン語" } }, { "ba", { "Bashkir" } },
    { "bar", { "Bavarian" } },
    { "be", { "Belarusian", "ベラルーシ語" } }, { "ber", { "Berber languages" } },
    { "bg", { "Bulgarian", "ブルガリア語" } }, { "bm", { "Bambara" } },
    { "bn", { "Bengali", "ベンガル語" } }, { "bo", { "Tibetan", "チベット語" } },
    { "br", { "Breton" } },
    { "bs", { "Bosnian" } }, { "ca", { "Catalan", "カタルーニャ語", "catalano" } },
    { "ce", { "Chechen" } }, { "ceb", { "Cebuano" } }, { "ch", { "Chamorro" } },
    { "chr", { "Cherokee" } }, { "ckb", { "Central Kurdish" } }, { "co", { "Corsican" } },
    { "cop", { "Coptic" } }, { "cr", { "Cree" } }, { "crh", { "Crimean Tatar" } },
    { "cs", { "Czech", "チェコ語", "ceco" } }, { "csb", { "Kashubian" } },
    { "cu", { "Old Church Slavonic" } }, { "cv", { "Chuvash" } },
    { "cy", { "Welsh", "ウェールズ語" } }, { "da", { "Danish", "デンマーク語", "danese" } },
    { "de", { "German", "ドイツ語", "tedesco" } }, { "dsb", { "Lower Sorbian" } },
    { "dv", { "Divehi" } }, { "dz", { "Dzongkha" } }, { "ee", { "Ewe" } },
    { "egy", { "Egyptian" } }, { "el", { "Greek", "ギリシア語", "greco" } },
    { "en", { "English", "英語", "inglese" } }, { "eo", { "Esperanto", "エスペラント語" } },
    { "es", { "Spanish", "スペイン語", "spagnolo" } }, { "et", { "Estonian", "エストニア語" } },
    { "ett", { "Etruscan" } }, { "eu", { "Basque", "バスク語" } },
    { "fa", { "Persian", "ペルシア語" } },
    { "fi", { "Finnish", "フィンランド語", "finlandese" } }, { "fil", { "Filipino" } },
    { "fj", { "Fijian" } }, { "fo", { "Faroese" } },
    { "fr", { "French", "フランス語", "francese" } }, { "frm", { "Middle French" } },
    { "fro", { "Old French" } }, { "frp", { "Franco-Provençal" } }, { "fur", { "Friulian" } },
    { "fy", { "West Frisian" } }, { "ga", { "Irish", "アイルランド語" } }, { "gag", { "Gagauz" } },
    { "gd", { "Scottish Gaelic" } }, { "gem", { "Germanic" } }, { "gez", { "Geʽez" } },
    { "gl", { "Galician", "ガリシア語" } }, { "gmh", { "Middle High German" } },
    { "gn", { "Guarani" } }, { "goh", { "Old High German" } }, { "got", { "Gothic" } },
    { "grc", { "Ancient Greek", "古代ギリシア語", "greco antico" } },
    { "gsw", { "Alemannic German" } },
    { "gu", { "Gujarati" } }, { "gv", { "Manx" } }, { "ha", { "Hausa" } },
    { "haw", { "Hawaiian" } }, { "he", { "Hebrew", "ヘブライ語", "ebraico" } },
    { "hi", { "Hindi", "ヒンディー語" } }, { "hit", { "Hittite" } },
    { "hr", { "Croatian", "クロアチア語", "croato" } }, { "hsb", { "Upper Sorbian" } },
    { "ht", { "Haitian Creole" } }, { "hu", { "Hungarian", "ハンガリー語", "ungherese" } },
    { "hy", { "Armenian", "アルメニア語" } }, { "ia", { "Interlingua" } },
    { "id", { "Indonesian", "インドネシア語" } }, { "ie", { "Interlingue" } }, { "ig", { "Igbo" } },
    { "inc", { "Indic" } }, { "io", { "Ido" } },
    { "is", { "Icelandic", "アイスランド語" } },
    { "it", { "Italian", "イタリア語", "italiano" } },
    { "iu", { "Inuktitut" } }, { "ja", { "Japanese", "日本語", "giapponese" } },
    { "jv", { "Javanese" } }, { "ka", { "Georgian", "ジョージア語" } }, { "kab", { "Kabyle" } },
    { "kk", { "Kazakh", "カザフ語" } }, { "kl", { "Greenlandic" } },
    { "km", { "Khmer", "クメール語" } }, { "kn", { "Kannada" } },
    { "ko", { "Korean", "朝鮮語", "coreano" } }, { "ku", { "Kurdish", "クルド語" } },
    { "kw", { "Cornish" } }, { "ky", { "Kyrgyz" } },
    { "la", { "Latin", "ラテン語", "latino" } }, { "lad", { "Judaeo-Spanish" } },
    { "lb", { "Luxembourgish" } }, { "lez", { "Lezgian" } }, { "li", { "Limburgish" } },
    { "lij", { "Ligurian" } }, { "lmo", { "Lombard" } }, { "ln", { "Lingala" } },
    { "lo", { "Lao" } }, { "lt", { "Lithuanian", "リトアニア語" } }, { "ltg", { "Latgalian" } },
    { "lv", { "Latvian", "ラトビア語" } }, { "lzh", { "Literary Chinese" } },
    { "mai", { "Maithili" } },
    { "mg", { "Malagasy" } }, { "mi", { "Māori" } }, { "mk", { "Macedonian" } },
    { "ml", { "Malayalam" } }, { "mn", { "Mongolian", "モンゴル語" } }, { "mr", { "Marathi" } },
    { "ms", { "Malay", "マレー語" } }, { "mt", { "Maltese" } },
    { "my", { "Burmese", "ビルマ語" } }, { "nah", { "Nahuatl" } }, { "nap", { "Neapolitan" } },
    { "nb", { "Norwegian Bokmål" } }, { "nds", { "Low German" } },
    { "ne", { "Nepali", "ネパール語" } }, { "nl", { "Dutch", "オランダ語", "olandese" } },
    { "nn", { "Norwegian Nynorsk" } },
    { "no", { "Norwegian", "ノルウェー語", "norvegese" } }, { "non", { "Old Norse" } },
    { "nrf", { "Norman" } }, { "nv", { "Navajo" } }, { "oc", { "Occitan" } },
    { "oj", { "Ojibwe" } }, { "or", { "Odia" } }, { "os", { "Ossetian" } },
    { "ota", { "Ottoman Turkish" } }, { "pa", { "Punjabi" } }, { "pal", { "Middle Persian" } },
    { "peo", { "Old Persian" } }, { "phn", { "Phoenician" } }, { "pi", { "Pali" } },
    { "pl", { "Polish", "ポーランド語", "polacco" } }, { "pms", { "Piedmontese" } },
    { "ps", { "Pashto", "パシュトー語" } },
    { "pt", { "Portuguese", "ポルトガル語", "portoghese" } }, { "qu", { "Quechua" } },
    { "rm", { "Romansh" } }, { "ro", { "Romanian", "ルーマニア語", "rumeno" } },
    { "rom", { "Romani" } },
    { "ru", { "Russian", "ロシア語", "russo" } }, { "rue", { "Rusyn" } }, { "rw", { "Kinyarwanda" } },
    { "sa", { "Sanskrit", "サンスクリット", "sanscrito" } }, { "sah", { "Yakut" } },
    { "sc", { "Sardinian" } }, { "scn", { "Sicilian" } }, { "sco", { "Scots" } },
    { "sd", { "Sindhi" } }, { "se", { "Northern Sami" } }, { "sga", { "Old Irish" } },
    { "sh", { "Serbo-Croatian" } }, { "si", { "Sinhala" } },
    { "sk", { "Slovak", "スロバキア語" } }, { "sl", { "Slovene", "スロベニア語", "sloveno" } },
    { "sm", { "Samoan" } }, { "so", { "Somali" } }, { "sq", { "Albanian", "アルバニア語" } },
    { "sr", { "Serbian", "セルビア語", "serbo" } }, { "st", { "Sotho" } }, { "su", { "Sundanese" } },
    { "sux", { "Sumerian" } }, { "sv", { "Swedish", "スウェーデン語", "svedese" } },
    { "sw", { "Swahili", "スワヒリ語" } }, { "syc", { "Classical Syriac" } }, { "syr", { "Syriac" } },
    { "szl", { "Silesian" } }, { "ta", { "Tamil", "タミル語" } }, { "te", { "Telugu" } },
    { "tet", { "Tetum" } }, { "tg", { "Tajik" } }, { "th", { "Thai", "タイ語" } },
    { "ti", { "Tigrinya" } }, { "tk", { "Turkmen" } }, { "tl", { "Tagalog", "タガログ語" } },
    { "tn", { "Tswana" } }, { "to", { "Tongan" } },
    { "tr", { "Turkish", "トルコ語", "turco" } }, { "tt", { "Tatar" } }, { "tyv", { "Tuvan" } },
    { "udm", { "Udmurt" } }, { "ug", { "Uyghur" } },
    { "uk", { "Ukrainian", "ウクライナ語", "ucraino" } }, { "ur", { "Urdu", "ウルドゥー語" } },
    { "uz", { "Uzbek", "ウズベク語" } }, { "vec", { "Venetian" } },
    { "vi", { "Vietnamese", "ベトナム語" } }, { "vo", { "Volapük" } }, { "wa", { "Walloon" } },
    { "wo", { "Wolof" } }, { "xh", { "Xhosa" } }, { "yi", { "Yiddish" } }, { "yo", { "Yoruba" } },
    { "yue", { "Cantonese" } }, { "za", { "Zhuang" } },
    { "zh", { "Chinese", "中国語", "cinese" } }, { "zu", { "Zulu" } },
};
/* clang-format on */

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct language *)item)->code);
}

const char *language_name(const char *code, size_t n, const char *wiki)
{
    char key[CODE_MAX + 1];
    const char *dash = memchr(code, '-', n); /* "sr-Latn" */
    if (dash)
        n = (size_t)(dash - code);
    if (n > CODE_MAX)
        return NULL;
    memcpy(key, code, n);
    key[n] = '\0';
    const struct language *l =
        bsearch(key, languages, sizeof languages / sizeof *languages, sizeof *languages, compare);
    if (!l)
        return NULL;
    int in = !strcmp(wiki, "ja") ? JAPANESE : !strcmp(wiki, "it") ? ITALIAN : ENGLISH;
    return l->names[in] ? l->names[in] : l->names[ENGLISH];
}
