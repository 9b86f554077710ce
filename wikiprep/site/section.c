#include "wikiprep/site/section.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "wikiprep/site/names.h"

struct section_list {
    char *names; /* with commas between */
};

/* clang-format off */
static const char *const defaults[][2] = {
    { "en", "References,Notes,Notes and references,Footnotes,Citations,Sources,Bibliography,"
            "Further reading,External links,See also" },
    { "ar", "مراجع,المراجع,ملاحظات,هوامش,مصادر,"
            "وصلات خارجية,انظر أيضًا,انظر أيضا,"
            "روابط خارجية,قراءة متعمقة" },
    { "be", "Крыніцы,Зноскі,Літаратура,Спасылкі,"
            "Гл. таксама,Заўвагі" },
    { "bg", "Източници,Бележки,Литература,"
            "Външни препратки,Вижте също" },
    { "bn", "তথ্যসূত্র,টীকা,বহিঃসংযোগ,"
            "আরও দেখুন,আরও পড়ুন,"
            "গ্রন্থপঞ্জি" },
    { "ca", "Referències,Notes,Bibliografia,Enllaços externs,Vegeu també" },
    { "cs", "Reference,Poznámky,Literatura,Externí odkazy,Související články,Odkazy" },
    { "da", "Referencer,Noter,Kilder,Litteratur,Eksterne henvisninger,Se også,Fodnoter" },
    { "de", "Einzelnachweise,Weblinks,Literatur,Siehe auch,Anmerkungen,Quellen,Fußnoten,Belege" },
    { "el", "Παραπομπές,Σημειώσεις,Πηγές,Βιβλιογραφία,"
            "Εξωτερικοί σύνδεσμοι,Δείτε επίσης" },
    { "eo", "Referencoj,Notoj,Fontoj,Literaturo,Eksteraj ligiloj,Vidu ankaŭ" },
    { "es", "Referencias,Notas,Notas y referencias,Bibliografía,Enlaces externos,"
            "Véase también" },
    { "et", "Viited,Kirjandus,Välislingid,Vaata ka" },
    { "eu", "Erreferentziak,Oharrak,Bibliografia,Kanpo estekak,Ikus gainera" },
    { "fa", "منابع,پانویس,یادداشت‌ها,پیوند به بیرون,"
            "جستارهای وابسته,برای مطالعهٔ بیشتر" },
    { "fi", "Lähteet,Viitteet,Kirjallisuutta,Aiheesta muualla,Katso myös,Huomautukset" },
    { "fr", "Références,Notes et références,Notes,Bibliographie,Liens externes,Voir aussi,"
            "Articles connexes,Annexes" },
    { "he", "הערות שוליים,ביאורים,לקריאה נוספת,"
            "קישורים חיצוניים,ראו גם" },
    { "hi", "सन्दर्भ,संदर्भ,टिप्पणियाँ,"
            "बाहरी कड़ियाँ,इन्हें भी देखें" },
    { "hr", "Izvori,Bilješke,Literatura,Vanjske poveznice,Povezani članci,Vidi još" },
    { "hu", "Jegyzetek,Források,Irodalom,További információk,Kapcsolódó szócikkek" },
    { "hy", "Ծանոթագրություններ,Գրականություն,"
            "Արտաքին հղումներ,Տես նաև" },
    { "id", "Referensi,Catatan,Catatan kaki,Daftar pustaka,Pranala luar,Lihat pula,"
            "Bacaan lanjutan" },
    { "it", "Note,Bibliografia,Altri progetti,Collegamenti esterni,Voci correlate" },
    { "ja", "脚注,出典,注釈,参考文献,関連項目,外部リンク,関連書籍,"
            "関連文献" },
    { "ka", "სქოლიო,ლიტერატურა,"
            "რესურსები ინტერნეტში,"
            "იხილეთ აგრეთვე" },
    { "kk", "Дереккөздер,Әдебиеттер,Сыртқы сілтемелер,"
            "Тағы қараңыз" },
    { "ko", "각주,주석,출처,참고 문헌,참고문헌,외부 링크,같이 보기" },
    { "lt", "Šaltiniai,Išnašos,Literatūra,Nuorodos,Taip pat skaitykite" },
    { "lv", "Atsauces,Piezīmes,Literatūra,Ārējās saites,Skatīt arī" },
    { "ms", "Rujukan,Nota,Bacaan lanjut,Pautan luar,Lihat juga" },
    { "nl", "Bronnen,Referenties,Literatuur,Externe links,Zie ook,Noten,Externe link" },
    { "no", "Referanser,Noter,Kilder,Litteratur,Eksterne lenker,Se også,Fotnoter" },
    { "pl", "Przypisy,Bibliografia,Linki zewnętrzne,Zobacz też,Uwagi" },
    { "pt", "Referências,Notas,Bibliografia,Ligações externas,Ver também,"
            "Notas e referências" },
    { "ro", "Note,Referințe,Bibliografie,Legături externe,Vezi și,Note și referințe,"
            "Lectură suplimentară" },
    { "ru", "Примечания,Литература,Ссылки,См. также,"
            "Источники" },
    { "sk", "Referencie,Zdroje,Poznámky,Literatúra,Externé odkazy,Iné projekty,Pozri aj" },
    { "sl", "Sklici,Opombe,Viri,Literatura,Zunanje povezave,Glej tudi" },
    { "sr", "Референце,Напомене,Извори,Литература,"
            "Спољашње везе,Види још,Reference,Napomene,Izvori,Literatura,"
            "Spoljašnje veze,Vidi još" },
    { "sv", "Referenser,Noter,Källor,Externa länkar,Se även,Litteratur" },
    { "ta", "மேற்கோள்கள்,குறிப்புகள்,"
            "வெளி இணைப்புகள்,"
            "இவற்றையும் பார்க்கவும்" },
    { "th", "อ้างอิง,หมายเหตุ,เชิงอรรถ,"
            "บรรณานุกรม,แหล่งข้อมูลอื่น,"
            "ดูเพิ่ม" },
    { "tr", "Kaynakça,Notlar,Dipnotlar,Dış bağlantılar,Ayrıca bakınız,"
            "Konuyla ilgili yayınlar" },
    { "uk", "Примітки,Література,Посилання,Див. також,"
            "Джерела" },
    { "ur", "حوالہ جات,بیرونی روابط,مزید دیکھیے" },
    { "vi", "Tham khảo,Chú thích,Ghi chú,Thư mục,Đọc thêm,Liên kết ngoài,"
            "Xem thêm" },
    { "zh", "参考文献,參考文獻,注释,註釋,参考资料,參考資料,外部链接,"
            "外部連結,参见,參見" },
};
/* clang-format on */

static const char *default_names(const char *lang)
{
    if (!strcmp(lang, "nb") || !strcmp(lang, "nn"))
        lang = "no";
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
