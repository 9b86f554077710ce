#include "wikiprep/site/language.h"

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

/* The languages met most, in the languages of other wikis, as their templates write them in front of
 * a word; "nb" and "nn" are "no". In the order of `met`. */
static const char *const met[] = {
    "ar", "cs", "de", "el", "en", "es", "fa", "fi", "fr", "grc", "he", "hi", "hu", "it", "ja",
    "ko", "la", "nl", "pl", "pt", "ro", "ru", "sa", "sr", "sv", "tr", "uk", "vi", "zh",
};
enum { MET = sizeof met / sizeof *met };

static const struct wiki {
    const char *lang, *names[MET];
} wikis[] = {
    { "ar", {
      "العربية", "التشيكية", "الألمانية", "اليونانية",
      "الإنجليزية", "الإسبانية", "الفارسية", "الفنلندية",
      "الفرنسية", "الإغريقية", "العبرية", "الهندية",
      "المجرية", "الإيطالية", "اليابانية", "الكورية",
      "اللاتينية", "الهولندية", "البولندية", "البرتغالية",
      "الرومانية", "الروسية", "السنسكريتية", "الصربية",
      "السويدية", "التركية", "الأوكرانية", "الفيتنامية",
      "الصينية", } },
    { "ca", {
      "àrab", "txec", "alemany", "grec", "anglès", "espanyol", "persa", "finès", "francès",
      "grec antic", "hebreu", "hindi", "hongarès", "italià", "japonès", "coreà", "llatí",
      "neerlandès", "polonès", "portuguès", "romanès", "rus", "sànscrit", "serbi", "suec",
      "turc", "ucraïnès", "vietnamita", "xinès", } },
    { "cs", {
      "arabsky", "česky", "německy", "řecky", "anglicky", "španělsky", "persky", "finsky",
      "francouzsky", "starořecky", "hebrejsky", "hindsky", "maďarsky", "italsky", "japonsky",
      "korejsky", "latinsky", "nizozemsky", "polsky", "portugalsky", "rumunsky", "rusky",
      "sanskrtsky", "srbsky", "švédsky", "turecky", "ukrajinsky", "vietnamsky", "čínsky", } },
    { "da", {
      "arabisk", "tjekkisk", "tysk", "græsk", "engelsk", "spansk", "persisk", "finsk", "fransk",
      "oldgræsk", "hebraisk", "hindi", "ungarsk", "italiensk", "japansk", "koreansk", "latin",
      "nederlandsk", "polsk", "portugisisk", "rumænsk", "russisk", "sanskrit", "serbisk", "svensk",
      "tyrkisk", "ukrainsk", "vietnamesisk", "kinesisk", } },
    { "de", {
      "arabisch", "tschechisch", "deutsch", "griechisch", "englisch", "spanisch", "persisch",
      "finnisch", "französisch", "altgriechisch", "hebräisch", "hindi", "ungarisch",
      "italienisch", "japanisch", "koreanisch", "lateinisch", "niederländisch", "polnisch",
      "portugiesisch", "rumänisch", "russisch", "sanskrit", "serbisch", "schwedisch", "türkisch",
      "ukrainisch", "vietnamesisch", "chinesisch", } },
    { "es", {
      "árabe", "checo", "alemán", "griego", "inglés", "español", "persa", "finés", "francés",
      "griego antiguo", "hebreo", "hindi", "húngaro", "italiano", "japonés", "coreano", "latín",
      "neerlandés", "polaco", "portugués", "rumano", "ruso", "sánscrito", "serbio", "sueco",
      "turco", "ucraniano", "vietnamita", "chino", } },
    { "fa", {
      "عربی", "چکی", "آلمانی", "یونانی", "انگلیسی", "اسپانیایی",
      "فارسی", "فنلاندی", "فرانسوی", "یونانی باستان", "عبری",
      "هندی", "مجاری", "ایتالیایی", "ژاپنی", "کره‌ای", "لاتین",
      "هلندی", "لهستانی", "پرتغالی", "رومانیایی", "روسی",
      "سانسکریت", "صربی", "سوئدی", "ترکی استانبولی",
      "اوکراینی", "ویتنامی", "چینی", } },
    { "fi", {
      "arabiaksi", "tšekiksi", "saksaksi", "kreikaksi", "englanniksi", "espanjaksi", "persiaksi",
      "suomeksi", "ranskaksi", "muinaiskreikaksi", "hepreaksi", "hindiksi", "unkariksi",
      "italiaksi", "japaniksi", "koreaksi", "latinaksi", "hollanniksi", "puolaksi", "portugaliksi",
      "romaniaksi", "venäjäksi", "sanskritiksi", "serbiaksi", "ruotsiksi", "turkiksi",
      "ukrainaksi", "vietnamiksi", "kiinaksi", } },
    { "fr", {
      "arabe", "tchèque", "allemand", "grec", "anglais", "espagnol", "persan", "finnois",
      "français", "grec ancien", "hébreu", "hindi", "hongrois", "italien", "japonais", "coréen",
      "latin", "néerlandais", "polonais", "portugais", "roumain", "russe", "sanskrit", "serbe",
      "suédois", "turc", "ukrainien", "vietnamien", "chinois", } },
    { "he", {
      "ערבית", "צ'כית", "גרמנית", "יוונית", "אנגלית", "ספרדית",
      "פרסית", "פינית", "צרפתית", "יוונית עתיקה", "עברית",
      "הינדי", "הונגרית", "איטלקית", "יפנית", "קוריאנית",
      "לטינית", "הולנדית", "פולנית", "פורטוגזית", "רומנית",
      "רוסית", "סנסקריט", "סרבית", "שוודית", "טורקית",
      "אוקראינית", "וייטנאמית", "סינית", } },
    { "hu", {
      "arabul", "csehül", "németül", "görögül", "angolul", "spanyolul", "perzsául",
      "finnül", "franciául", "ógörögül", "héberül", "hindiül", "magyarul", "olaszul",
      "japánul", "koreaiul", "latinul", "hollandul", "lengyelül", "portugálul", "románul",
      "oroszul", "szanszkritül", "szerbül", "svédül", "törökül", "ukránul", "vietnámiul",
      "kínaiul", } },
    { "id", {
      "Arab", "Ceko", "Jerman", "Yunani", "Inggris", "Spanyol", "Persia", "Suomi", "Prancis",
      "Yunani Kuno", "Ibrani", "Hindi", "Hungaria", "Italia", "Jepang", "Korea", "Latin", "Belanda",
      "Polandia", "Portugis", "Rumania", "Rusia", "Sanskerta", "Serbia", "Swedia", "Turki",
      "Ukraina", "Vietnam", "Tionghoa", } },
    { "ko", {
      "아랍어", "체코어", "독일어", "그리스어", "영어", "스페인어",
      "페르시아어", "핀란드어", "프랑스어", "고대 그리스어", "히브리어",
      "힌디어", "헝가리어", "이탈리아어", "일본어", "한국어", "라틴어",
      "네덜란드어", "폴란드어", "포르투갈어", "루마니아어", "러시아어",
      "산스크리트어", "세르비아어", "스웨덴어", "튀르키예어",
      "우크라이나어", "베트남어", "중국어", } },
    { "nl", {
      "Arabisch", "Tsjechisch", "Duits", "Grieks", "Engels", "Spaans", "Perzisch", "Fins", "Frans",
      "Oudgrieks", "Hebreeuws", "Hindi", "Hongaars", "Italiaans", "Japans", "Koreaans", "Latijn",
      "Nederlands", "Pools", "Portugees", "Roemeens", "Russisch", "Sanskriet", "Servisch", "Zweeds",
      "Turks", "Oekraïens", "Vietnamees", "Chinees", } },
    { "no", {
      "arabisk", "tsjekkisk", "tysk", "gresk", "engelsk", "spansk", "persisk", "finsk", "fransk",
      "gammelgresk", "hebraisk", "hindi", "ungarsk", "italiensk", "japansk", "koreansk", "latin",
      "nederlandsk", "polsk", "portugisisk", "rumensk", "russisk", "sanskrit", "serbisk", "svensk",
      "tyrkisk", "ukrainsk", "vietnamesisk", "kinesisk", } },
    { "pl", {
      "arab.", "czes.", "niem.", "gr.", "ang.", "hiszp.", "pers.", "fiń.", "fr.", "stgr.", "hebr.",
      "hindi", "węg.", "wł.", "jap.", "kor.", "łac.", "niderl.", "pol.", "port.", "rum.", "ros.",
      "sanskr.", "serb.", "szw.", "tur.", "ukr.", "wiet.", "chiń.", } },
    { "pt", {
      "árabe", "checo", "alemão", "grego", "inglês", "espanhol", "persa", "finlandês",
      "francês", "grego antigo", "hebraico", "hindi", "húngaro", "italiano", "japonês",
      "coreano", "latim", "neerlandês", "polonês", "português", "romeno", "russo", "sânscrito",
      "sérvio", "sueco", "turco", "ucraniano", "vietnamita", "chinês", } },
    { "ro", {
      "arabă", "cehă", "germană", "greacă", "engleză", "spaniolă", "persană", "finlandeză",
      "franceză", "greacă veche", "ebraică", "hindi", "maghiară", "italiană", "japoneză",
      "coreeană", "latină", "neerlandeză", "poloneză", "portugheză", "română", "rusă",
      "sanscrită", "sârbă", "suedeză", "turcă", "ucraineană", "vietnameză", "chineză", } },
    { "ru", {
      "араб.", "чеш.", "нем.", "греч.", "англ.", "исп.", "перс.",
      "фин.", "фр.", "др.-греч.", "ивр.", "хинди", "венг.", "итал.",
      "яп.", "кор.", "лат.", "нидерл.", "польск.", "порт.", "рум.",
      "рус.", "санскр.", "серб.", "швед.", "тур.", "укр.", "вьетн.",
      "кит.", } },
    { "sv", {
      "arabiska", "tjeckiska", "tyska", "grekiska", "engelska", "spanska", "persiska", "finska",
      "franska", "klassisk grekiska", "hebreiska", "hindi", "ungerska", "italienska", "japanska",
      "koreanska", "latin", "nederländska", "polska", "portugisiska", "rumänska", "ryska",
      "sanskrit", "serbiska", "svenska", "turkiska", "ukrainska", "vietnamesiska", "kinesiska", } },
    { "tr", {
      "Arapça", "Çekçe", "Almanca", "Yunanca", "İngilizce", "İspanyolca", "Farsça", "Fince",
      "Fransızca", "Grekçe", "İbranice", "Hintçe", "Macarca", "İtalyanca", "Japonca", "Korece",
      "Latince", "Felemenkçe", "Lehçe", "Portekizce", "Rumence", "Rusça", "Sanskritçe",
      "Sırpça", "İsveççe", "Türkçe", "Ukraynaca", "Vietnamca", "Çince", } },
    { "uk", {
      "араб.", "чес.", "нім.", "грец.", "англ.", "ісп.", "перс.",
      "фін.", "фр.", "дав.-гр.", "івр.", "гінді", "угор.", "італ.",
      "яп.", "кор.", "лат.", "нід.", "пол.", "порт.", "рум.", "рос.",
      "санскр.", "серб.", "швед.", "тур.", "укр.", "в'єт.", "кит.", } },
    { "vi", {
      "tiếng Ả Rập", "tiếng Séc", "tiếng Đức", "tiếng Hy Lạp", "tiếng Anh",
      "tiếng Tây Ban Nha", "tiếng Ba Tư", "tiếng Phần Lan", "tiếng Pháp",
      "tiếng Hy Lạp cổ đại", "tiếng Hebrew", "tiếng Hindi", "tiếng Hungary",
      "tiếng Ý", "tiếng Nhật", "tiếng Hàn", "tiếng Latinh", "tiếng Hà Lan",
      "tiếng Ba Lan", "tiếng Bồ Đào Nha", "tiếng Rumani", "tiếng Nga", "tiếng Phạn",
      "tiếng Serbia", "tiếng Thụy Điển", "tiếng Thổ Nhĩ Kỳ", "tiếng Ukraina",
      "tiếng Việt", "tiếng Trung", } },
    { "zh", {
      "阿拉伯語", "捷克語", "德語", "希臘語", "英語", "西班牙語", "波斯語",
      "芬蘭語", "法語", "古希臘語", "希伯來語", "印地語", "匈牙利語",
      "義大利語", "日語", "韓語", "拉丁語", "荷蘭語", "波蘭語", "葡萄牙語",
      "羅馬尼亞語", "俄語", "梵語", "塞爾維亞語", "瑞典語", "土耳其語",
      "烏克蘭語", "越南語", "漢語", } },
};
/* clang-format on */

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct language *)item)->code);
}

/* The name in the language of a wiki that is in the second table; else NULL. */
static const char *name_in(const char *wiki, const char *key)
{
    if (!strcmp(wiki, "nb") || !strcmp(wiki, "nn"))
        wiki = "no";
    for (size_t i = 0; i < sizeof wikis / sizeof *wikis; i++)
        for (int k = 0; k < MET && !strcmp(wikis[i].lang, wiki); k++)
            if (!strcmp(met[k], key))
                return wikis[i].names[k];
    return NULL;
}

/* ---- in themselves -------------------------------------------------------------------------- */

/* Sorted by code. */
/* clang-format off */
static const struct own {
    const char *code, *name;
} owns[] = {
    { "aa", "Qafár af" }, { "ab", "аԥсшәа" }, { "ace", "Acèh" }, { "af", "Afrikaans" },
    { "ak", "Akan" }, { "als", "Alemannisch" }, { "am", "አማርኛ" }, { "an", "aragonés" },
    { "ang", "Ænglisc" }, { "ar", "العربية" }, { "arc", "ܐܪܡܝܐ" }, { "arz", "مصرى" },
    { "as", "অসমীয়া" }, { "ast", "asturianu" }, { "av", "авар" },
    { "ay", "Aymar aru" }, { "az", "azərbaycanca" }, { "ba", "башҡортса" },
    { "bar", "Boarisch" }, { "bat-smg", "žemaitėška" }, { "be", "беларуская" },
    { "be-tarask", "беларуская (тарашкевіца)" }, { "bg", "български" },
    { "bi", "Bislama" }, { "bm", "bamanankan" }, { "bn", "বাংলা" },
    { "bo", "བོད་ཡིག" }, { "br", "brezhoneg" }, { "bs", "bosanski" }, { "ca", "català" },
    { "cbk-zam", "Chavacano de Zamboanga" }, { "ce", "нохчийн" }, { "ceb", "Cebuano" },
    { "ch", "Chamoru" }, { "chr", "ᏣᎳᎩ" }, { "ckb", "کوردی" }, { "co", "corsu" },
    { "cr", "Nēhiyawēwin / ᓀᐦᐃᔭᐍᐏᐣ" }, { "crh", "qırımtatarca" },
    { "cs", "čeština" }, { "csb", "kaszëbsczi" },
    { "cu", "словѣньскъ / ⰔⰎⰑⰂⰡⰐⰠⰔⰍⰟ" }, { "cv", "чӑвашла" },
    { "cy", "Cymraeg" }, { "da", "dansk" }, { "de", "Deutsch" },
    { "de-at", "Österreichisches Deutsch" }, { "de-ch", "Schweizer Hochdeutsch" }, { "diq", "Zazaki" },
    { "dsb", "dolnoserbski" }, { "dv", "ދިވެހިބަސް" }, { "dz", "ཇོང་ཁ" },
    { "ee", "eʋegbe" }, { "el", "Ελληνικά" }, { "en", "English" },
    { "en-gb", "British English" }, { "eo", "Esperanto" }, { "es", "español" }, { "et", "eesti" },
    { "eu", "euskara" }, { "fa", "فارسی" }, { "ff", "Fulfulde" }, { "fi", "suomi" },
    { "fiu-vro", "võro" }, { "fj", "Na Vosa Vakaviti" }, { "fo", "føroyskt" }, { "fr", "français" },
    { "frp", "arpetan" }, { "fur", "furlan" }, { "fy", "Frysk" }, { "ga", "Gaeilge" },
    { "gd", "Gàidhlig" }, { "gl", "galego" }, { "gn", "Avañe'ẽ" },
    { "got", "𐌲𐌿𐍄𐌹𐍃𐌺" }, { "gsw", "Alemannisch" }, { "gu", "ગુજરાતી" },
    { "gv", "Gaelg" }, { "ha", "Hausa" }, { "haw", "Hawaiʻi" }, { "he", "עברית" },
    { "hi", "हिन्दी" }, { "hr", "hrvatski" }, { "hsb", "hornjoserbsce" },
    { "ht", "Kreyòl ayisyen" }, { "hu", "magyar" }, { "hy", "հայերեն" },
    { "ia", "interlingua" }, { "id", "Bahasa Indonesia" }, { "ie", "Interlingue" }, { "ig", "Igbo" },
    { "ilo", "Ilokano" }, { "io", "Ido" }, { "is", "íslenska" }, { "it", "italiano" },
    { "iu", "ᐃᓄᒃᑎᑐᑦ/inuktitut" }, { "ja", "日本語" }, { "jbo", "la .lojban." },
    { "jv", "Jawa" }, { "ka", "ქართული" }, { "kaa", "Qaraqalpaqsha" },
    { "kab", "Taqbaylit" }, { "kk", "қазақша" }, { "kl", "kalaallisut" },
    { "km", "ភាសាខ្មែរ" }, { "kn", "ಕನ್ನಡ" }, { "ko", "한국어" },
    { "krc", "къарачай-малкъар" }, { "ku", "kurdî" }, { "kv", "коми" },
    { "kw", "kernowek" }, { "ky", "кыргызча" }, { "la", "Latina" }, { "lb", "Lëtzebuergesch" },
    { "lez", "лезги" }, { "li", "Limburgs" }, { "lij", "Ligure" }, { "lmo", "lombard" },
    { "ln", "lingála" }, { "lo", "ລາວ" }, { "lt", "lietuvių" }, { "ltg", "latgaļu" },
    { "lv", "latviešu" }, { "map-bms", "Basa Banyumasan" }, { "mg", "Malagasy" }, { "mi", "Māori" },
    { "min", "Minangkabau" }, { "mk", "македонски" }, { "ml", "മലയാളം" },
    { "mn", "монгол" }, { "mr", "मराठी" }, { "ms", "Bahasa Melayu" }, { "mt", "Malti" },
    { "mwl", "Mirandés" }, { "my", "မြန်မာဘာသာ" }, { "na", "Dorerin Naoero" },
    { "nap", "Napulitano" }, { "nb", "norsk bokmål" }, { "nds", "Plattdüütsch" },
    { "nds-nl", "Nedersaksies" }, { "ne", "नेपाली" }, { "nl", "Nederlands" },
    { "nn", "norsk nynorsk" }, { "no", "norsk" }, { "nv", "Diné bizaad" }, { "ny", "Chi-Chewa" },
    { "oc", "occitan" }, { "om", "Oromoo" }, { "or", "ଓଡ଼ିଆ" }, { "os", "ирон" },
    { "pa", "ਪੰਜਾਬੀ" }, { "pl", "polski" }, { "pms", "Piemontèis" },
    { "pnb", "پنجابی" }, { "ps", "پښتو" }, { "pt", "português" },
    { "pt-br", "português do Brasil" }, { "qu", "Runa Simi" }, { "rm", "rumantsch" },
    { "ro", "română" }, { "roa-rup", "armãneashti" }, { "roa-tara", "tarandíne" },
    { "ru", "русский" }, { "rue", "русиньскый" }, { "rw", "Ikinyarwanda" },
    { "sa", "संस्कृतम्" }, { "sah", "саха тыла" }, { "sc", "sardu" },
    { "scn", "sicilianu" }, { "sco", "Scots" }, { "sd", "سنڌي" }, { "se", "davvisámegiella" },
    { "sgs", "žemaitėška" }, { "sh", "srpskohrvatski / српскохрватски" },
    { "si", "සිංහල" }, { "simple", "Simple English" }, { "sk", "slovenčina" },
    { "sl", "slovenščina" }, { "sm", "Gagana Samoa" }, { "sn", "chiShona" }, { "so", "Soomaaliga" },
    { "sq", "shqip" }, { "sr", "српски / srpski" }, { "ss", "SiSwati" }, { "st", "Sesotho" },
    { "su", "Sunda" }, { "sv", "svenska" }, { "sw", "Kiswahili" }, { "szl", "ślůnski" },
    { "ta", "தமிழ்" }, { "te", "తెలుగు" }, { "tet", "tetun" },
    { "tg", "тоҷикӣ" }, { "th", "ไทย" }, { "ti", "ትግርኛ" }, { "tk", "Türkmençe" },
    { "tl", "Tagalog" }, { "tn", "Setswana" }, { "to", "lea faka-Tonga" }, { "tr", "Türkçe" },
    { "ts", "Xitsonga" }, { "tt", "татарча/tatarça" }, { "tw", "Twi" }, { "ty", "reo tahiti" },
    { "udm", "удмурт" }, { "ug", "ئۇيغۇرچە / Uyghurche" },
    { "uk", "українська" }, { "ur", "اردو" }, { "uz", "oʻzbekcha/ўзбекча" },
    { "ve", "Tshivenda" }, { "vec", "vèneto" }, { "vep", "vepsän kel’" },
    { "vi", "Tiếng Việt" }, { "vls", "West-Vlams" }, { "vo", "Volapük" }, { "vro", "võro" },
    { "wa", "walon" }, { "war", "Winaray" }, { "wo", "Wolof" }, { "wuu", "吴语" },
    { "xh", "isiXhosa" }, { "yi", "ייִדיש" }, { "yo", "Yorùbá" }, { "yue", "粵語" },
    { "za", "Vahcuengh" }, { "zea", "Zeêuws" }, { "zh", "中文" }, { "zh-classical", "文言" },
    { "zh-cn", "中文（中国大陆）" }, { "zh-hans", "中文（简体）" },
    { "zh-hant", "中文（繁體）" }, { "zh-hk", "中文（香港）" },
    { "zh-tw", "中文（臺灣）" }, { "zh-yue", "粵語" }, { "zu", "isiZulu" },
};
/* clang-format on */

static int compare_own(const void *key, const void *item)
{
    return strcmp(key, ((const struct own *)item)->code);
}

const char *language_own_name(const char *code, size_t n)
{
    char key[CODE_MAX + 1];
    if (n > CODE_MAX)
        return NULL;
    memcpy(key, code, n);
    key[n] = '\0';
    const struct own *o = bsearch(key, owns, sizeof owns / sizeof *owns, sizeof *owns, compare_own);
    return o ? o->name : NULL;
}

/* ---- in the wiki's --------------------------------------------------------------------------- */

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
    const struct language *l = bsearch(key, languages, sizeof languages / sizeof *languages,
                                       sizeof *languages, compare);
    if (!l)
        return NULL;
    int in = !strcmp(wiki, "ja") ? JAPANESE : !strcmp(wiki, "it") ? ITALIAN : ENGLISH;
    const char *name = in == ENGLISH ? name_in(wiki, key) : l->names[in];
    return name ? name : l->names[ENGLISH];
}
