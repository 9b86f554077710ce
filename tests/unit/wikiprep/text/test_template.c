/* The texts that templates show, which must be those that MediaWiki shows. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/show.h"
#include "wikiprep/text/template.h"
#include "wikiprep/text/wikitext.h"

static struct template_page page;
static struct buf out = BUF_INIT;

static const char *clean(const char *text)
{
    const struct wikitext_options how = { .render = template_render, .render_ctx = &page };
    struct names *names = names_new(1);
    struct wikitext *w = wikitext_new(names, &how);
    if (!page.lang)
        page = (struct template_page){ .lang = "en", .title = "Moon", .timestamp = "" };
    wikitext_clean(w, text, strlen(text), &out);
    wikitext_free(w);
    names_free(names);
    return out.data;
}

#define CHECK(text, expected) cr_expect_str_eq(clean(text), expected, "%s: %s", text, out.data)

Test(template, others_are_dropped)
{
    CHECK("a {{citation needed|date=May 2016}} b{{sfn|Bloch|2007|p=61}}, c{{rp|12}}.", "a b, c.");
    CHECK("a ({{unknown|b}}) {{infobox|c={{lang|la|d}}}} e", "a e");
    CHECK("{{coord|1|2|display=title}}{{flagicon|FRA}}{{lang}}a", "a");
    CHECK("See {{URL|example.org}}, {{url|b.org/c|d}}.", "See example.org, d.");
    CHECK("{{height|ft=6|in=1}}, {{height|m=1.8}}, {{based on|A|B}}, {{10^|6}}",
          "6 ft 1 in, 1.8 m, A by B, 10⁶");
    CHECK("{{death year and age|1990|1950}}, {{native phrase|fr|oui}}", "1990 (aged 39–40), oui");
    CHECK("{{lang|la|}} {{nowrap|}} a ({{legend|red}}) b", "a b");
}

Test(template, names)
{
    CHECK("{{Lang|la|a}} {{ lang |la| b }} {{Template:lang|la|c}} {{LANG|la|d}}", "a b c d");
    CHECK("{{as_of|2011}}, {{ As  of |2012}}", "As of 2011, As of 2012");
    CHECK("{{\u200Elang-ru|a}} {{lang\u200F|la|b}}", "Russian: a b");
}

Test(template, arguments)
{
    CHECK("{{lang|2=b|1=la}} {{nowrap|1=a=b}} {{nowrap|a|1=c}}", "b a=b c");
    CHECK("{{nowrap|a{{=}}b}} {{nowrap|[[x|y]] and ''z''}}", "a=b y and z");
    CHECK("{{nowrap|{{lang|la|{{small|x}}}}}}", "x");
    CHECK("[[Moon{{!}}the Moon]] {{nowrap|[[a{{!}}b]]}}", "the Moon b");
}

Test(template, many_arguments)
{
    SCOPED(buf) call = BUF_INIT;
    buf_adds(&call, "{{ubl");
    for (int i = 1; i <= 300; i++)
        buf_addf(&call, "|item %d", i);
    buf_adds(&call, "}}\n\n{{quote");
    for (int i = 1; i <= 50; i++)
        buf_addf(&call, "|name %d=x", i);
    buf_adds(&call, "|text=Last words.}}\n\n{{nowrap|999999999=a|1=b}}, {{convert|1-2|km}}");
    const char *s = clean(call.data);
    cr_expect(strstr(s, "\nitem 300\n"), "%s", s);
    cr_expect(strstr(s, "\nLast words.\n"), "%s", s);
    cr_expect(strstr(s, "\nb, 1–2 kilometres"), "%s", s);
}

Test(template, languages)
{
    CHECK("{{lang|grc|ἄναρχος}} and {{transl|ar|ALA|alif}} {{transl|ar|Lā}}",
          "ἄναρχος and alif Lā");
    CHECK("({{lang-ru|космонавт}})", "(Russian: космонавт)");
    CHECK("{{lang-ru|link=no|водка|vodka|little water}}",
          "Russian: водка, romanized: vodka, lit. 'little water'");
    CHECK("{{langx|ar|خوارزمی}} {{lang-ru|label=none|водка}}", "Arabic: خوارزمی водка");
    CHECK("{{lang-xyz|a}} {{lang-sr-Latn|b}}", "a Serbian: b");
    CHECK("{{Nihongo|bayonet|銃剣|jūken}}", "bayonet (銃剣, jūken)");
    CHECK("{{nihongo||元気|genki|x}} {{nihongo|a||b|c|d}} {{nihongo|a}}",
          "genki (元気, x) a (b, c) d a");
    CHECK("{{Nihongo|Aikido|合気道|Aikidō|lead=yes}}",
          "Aikido (Japanese: 合気道, Hepburn: Aikidō)");
    CHECK("{{nihongo3|moon|月|tsuki}}", "tsuki (月, moon)");
    CHECK("{{zh|s=北京|p=Běijīng}}", "simplified Chinese: 北京; pinyin: Běijīng");
    CHECK(
        "{{zh|c=月|p=yuè|l=moon}}, {{zh|labels=no|s=马|t=馬}}, {{zh|t=馬|j=maa5}}, {{zh|月}}",
        "Chinese: 月; pinyin: yuè; lit. moon, 马; 馬, traditional Chinese: 馬; Jyutping: maa5, 月");
    CHECK("{{zh|labels=no|c=月|s=马|p=mǎ}}, {{zh|labels=no|p=mǎ}}, {{zh|labels=no|月}}",
          "月; 马; mǎ, mǎ, 月");
    CHECK("{{zh|c=月|s=马|l=moon}}, {{zh|p=mǎ|j=maa5}}, {{zh|w=ma}}",
          "Chinese: 月; simplified Chinese: 马; lit. moon, pinyin: mǎ; Jyutping: maa5, "
          "Wade–Giles: ma");
    CHECK("{{native name|fr|Paris}} {{script|Copt|Ⲁ ⲁ}} {{ill|Foo|de|Bar}} {{ill|a|lt=b|de}}",
          "Paris Ⲁ ⲁ Foo b");
    CHECK("{{linktext|漢|字}} {{wikt-lang|en|moon}}", "漢字 moon");
}

Test(template, other_wikis)
{
    page = (struct template_page){ .lang = "ja", .title = "月", .timestamp = "" };
    CHECK("{{仮リンク|アダム・ビード|en|Adam Bede}}、{{仮リンク|a|label=b|en|c}}",
          "アダム・ビード、b");
    CHECK("{{lang-en|Moon}}（{{lang-fr-short|Lune}}）{{en|x}}", "英語: Moon（Lune）x");
    CHECK("{{IPA|o̞}} {{ipa|u}} {{IPA2|/awo/}}", "[o̞] /u/ /awo/");
    CHECK("{{読み仮名|'''音楽家'''|おんがくか}} {{ISBN2|4-89562}}",
          "音楽家（おんがくか） ISBN 4-89562");
    CHECK("{{要出典範囲|a|date=2021年}}{{いつ範囲|b|date=2020年}}", "ab");
    page = (struct template_page){ .lang = "it", .title = "Luna", .timestamp = "" };
    CHECK("25 {{m s.l.m.}}, {{M|61.000||km/h}}, {{exp|3,12|6}}",
          "25 m s.l.m., 61.000 km/h, 3,12×10⁶");
    CHECK("{{lang-en|Moon}} {{bandiera|Italia|nome}}{{bandiera|FRA}} {{formatnum:4000.5}}",
          "inglese: Moon Italia 4 000,5");
    CHECK("{{chiarire|prima|dove?}} {{tutto attaccato|620 nm}} {{cn|fatto}}", "prima 620 nm fatto");
    CHECK("{{numero|188520}} {{maiuscoletto|sì}}", "188 520 sì");
    CHECK("{{q|Detto|Uno}}", "Detto\n— Uno");
}

/* What a template without a rule shows is guessed from the call. */
Test(template, unknown_names)
{
    page = (struct template_page){ .lang = "el", .title = "T", .timestamp = "" };
    CHECK(
        "το ({{ΔΦΑ|/pʰ/}}) και {{ασαφές|η νέα ''φυσική''}} ή {{x|two words|z}} {{x|A 1}}, {{Κ.}} ω.",
        "το (/pʰ/) και η νέα φυσική ή two words A 1, Κ. ω.");
    CHECK(
        "μια λέξη{{σημείωση|Αυτό είναι σημείωση.}} και {{πηγή|σχόλιο=α β}} {{κλειδί|A1}} {{ref|α}} ω",
        "μια λέξη και ω");
    CHECK("'''{{x|δύο λέξεις}}''' α<ref>β</ref>{{σημείωση|Και αυτό είναι.}} '''ω'''{{x|Σχόλιο α}} "
          "''{{x|τρεις λέξεις}}''",
          "δύο λέξεις α ω τρεις λέξεις");
    CHECK("{{κύριο|Άλλη σελίδα}} α\n* {{βικιθήκη|Έγγραφο του 1833}} β", "α\nβ");
    CHECK("α {{πίνακας/Αττική|Αθήνα}} β {{ιστός|http://x.gr/α β}} γ {{πλαίσιο|α\nβ}} δ", "α β γ δ");
    CHECK("α {{en}} {{De|Wort}} {{EU|x}} {{#if:x|ναι ή όχι}} β", "α (Αγγλικά) Wort β");
    page = (struct template_page){ .lang = "ja", .title = "T", .timestamp = "" };
    CHECK("六つの「{{未知|地域生活}}」と{{未知|脚注である}}。", "六つの「地域生活」と。");
    page = (struct template_page){ .lang = "ka", .title = "T", .timestamp = "" };
    CHECK("და „{{x|სიტყვა}}“ და „ა”{{x|შენიშვნა}}.", "და „სიტყვა“ და „ა”.");
    page = (struct template_page){ .lang = "hi", .title = "T", .timestamp = "" };
    CHECK("वह {{आयु|१९९०|1|५}} वर्ष, {{दर|५०%}}, {{सूची|१०|२०|* क\n* ख}}", "वह वर्ष\nक\nख");
#define SENTENCES                                                                                  \
    "यह एक लंबा वाक्य है जो बहुत कुछ कहता है। यह दूसरा वाक्य है और वह भी लंबा है। यह तीसरा वाक्य है।"
    CHECK("{{बक्सा|" SENTENCES "}}", SENTENCES);
}

/* Names of templates that exist on only one wiki and mean something else on others. */
Test(template, local_names)
{
    static const struct {
        const char *lang, *text, *shown;
    } cases[] = {
        { "fr", "{{s|XIX|e}}, {{-s|V|e}}, {{s2|XVIII|e|XIX|e}}, XX{{e}}",
          "XIXe siècle, Ve siècle av. J.-C., XVIIIe et XIXe siècles, XXe" },
        { "fr", "== {{langue|de}} ==\n=== {{S|étymologie}} ===\na\n=== {{S|nom|de}} ===\nb",
          "allemand\nÉtymologie\na\nNom commun\nb" },
        { "fr",
          "{{t|LIVRE I|140}}\n\n{{lettrine|L}}e {{corr|roy|roi}} a {{tiret|mai|son}}. {{T|de}}"
          " {{tiret|ici}}",
          "LIVRE I\nLe roi a maison. allemand – ici –" },
        { "fr", "{{unité|5|kg/m|3}} {{Unité|1000000|km|2}} {{unité|10|m|s|-1}} {{heure|8|30}}",
          "5 kg/m³ 1 000 000 km² 10 m s⁻¹ 8 h 30" },
        { "fr",
          "10{{e|6}} km{{2}}, 5{{x10|-9}} s{{-1}}, 2{{exp|10}}, M{{e|me}}, M{{exp|lle}}, M{{lle}}, XX{{e}}, 1{{o}}",
          "10⁶ km², 5×10⁻⁹ s⁻¹, 2¹⁰, Mme, Mlle, Mlle, XXe, 1o" },
        { "fr",
          "H{{in|2}}O: {{Variante ortho de|clef|fr}} {{wsp|Panthera}}, {{déverbal de|haler|fr}}",
          "H2O: Variante orthographique de clef Panthera, déverbal de haler" },
        { "fr",
          "L'{{douteux|auteur}} d'un {{rouge|livre}} que {{passage évasif|certains}} lisent, {{nº|5}}",
          "L'auteur d'un livre que certains lisent, no 5" },
        { "fr", "De {{tmp|-5|°C}} à {{tmp|25|°C}} dès {{heures|8|30}}",
          "De -5 °C à 25 °C dès 8 h 30" },
        { "fr",
          "Du {{étyl|la|fr|luna|sens=lune}}\n#* {{exemple|La lune brille.|lang=fr}}\n"
          "* {{T|en}} : {{trad+|en|moon}}",
          "Du latin luna (« lune »)\nLa lune brille.\nanglais : moon" },
        { "fr", "{{date|1|janvier|2000}} {{date-|02|3|1999}} {{date-|avril 2019}}",
          "1er janvier 2000 2 mars 1999 avril 2019" },
        { "fr", "{{Lien|langue=en|trad=Moon|fr=Lune}} {{citation|mot}} {{M.|Dupont}} {{Mme}}",
          "Lune « mot » M. Dupont Mme" },
        { "de", "{{B|Gen|1|1}} {{Höhe|1234|DE-NHN|link=true}} {{\"|Wort}} {{formatnum:1234.5}}",
          "Gen 1,1 1.234 m ü. NHN „Wort“ 1.234,5" },
        { "de",
          "Mond ({{Sprache|Deutsch}})\n\n{{Herkunft}}\n:von ''{{Ü|gmh|māne}}'', {{Üt|ru|луна|luna}}",
          "Mond (Deutsch)\nHerkunft:\nvon māne, луна (luna)" },
        { "de", "{{convert|10|km|mi}} {{Bruch|1|2}}", "10 km (6,2 mi) 1⁄2" },
        { "de", "{{convert|1.234,5|km}} {{convert|1,234.5|km}} {{convert|1,234,567|km}}",
          "1.234,5 km (767,1 mi) 1.234,5 km (767,1 mi) 1.234.567 km (767.124 mi)" },
        { "es", "{{ord|5}} {{ordinal|3|a}}", "5 3" },
        { "es", "{{convertir|12,5|km|mi}} {{convert|10,5-20,5|m|ft|disp=comma}}",
          "12,5 km (7,8 mi) 10,5–20,5 m, 34–67 ft" },
        { "es", "{{convert|3|to|4|km}} {{convert|3|and|4|km}} {{convert|5|ft|m|abbr=off|disp=or}}",
          "3–4 km (1,9–2,5 mi) 3, 4 km (1,9, 2,5 mi) 5 ft (1,5 m)" },
        { "fa", "{{convert|۱۲٫۵|km|mi}}", "۱۲٫۵ کیلومتر (۷٫۸ مایل)" },
        { "es", "{{siglo|XIX||s}} {{siglo|V|a}} {{unidad|10|km}} {{fecha|1|2|2000}}",
          "siglo XIX V a. C. 10 km 1 de febrero de 2000" },
        { "ru", "{{Q|Цитата=Быть или не быть.|Автор=Шекспир|Комментарий=x}}\n{{Q|И это.}}",
          "Быть или не быть.\n— Шекспир\nИ это." },
        { "ru", "{{нп5|Луна|луна|en|Moon}} {{Не переведено|Луна}} {{дробь|1|2}} {{удар|о}}",
          "луна Луна 1⁄2 о́" },
        { "uk", "{{Нп|Місяць|місяць|en|Moon}}", "місяць" },
        { "pl", "{{j|en}} {{w języku|en|Moon}} {{jang|Moon}}", "(ang.) Moon ang. Moon" },
        { "pt", "{{dtlink|1|1|2000}} {{PBPE|a|b}} {{séc|XIX}} {{ill|en|Moon|Lua}}",
          "1 de janeiro de 2000 a (português brasileiro) ou b (português europeu) século XIX Lua" },
        { "zh", "{{le|月球|Moon}} {{tsl|en|Moon|月球|月}} {{bd|1900年|1月1日|1980年|}}",
          "月球 月 （1900年1月1日—1980年）" },
        { "ko", "{{llang|en|Moon}} {{언어|en|Moon}}", "영어: Moon Moon" },
        { "he", "{{אנג|Moon}}", "באנגלית: Moon" },
        { "cs", "{{vjazyce2|en|Moon}} {{Cizojazyčně|en|Moon}}", "anglicky Moon Moon" },
        { "en", "{{s|XIX|e}}{{le|a|b}}{{e|5}}", "×10⁵" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        page = (struct template_page){ .lang = cases[i].lang, .title = "Moon", .timestamp = "" };
        CHECK(cases[i].text, cases[i].shown);
    }
}

/* Templates whose text was lost in an earlier version, and text that must not be shown. */
Test(template, local_text)
{
    static const struct {
        const char *lang, *text, *shown;
    } cases[] = {
        { "en", "{{qi|said}} {{qq|so}} {{em|very|class=x}} {{trans|a}} {{translation|b|lk=no}}",
          "said so very transl. a transl. b" },
        { "en", "{{literal translation|East|West}} {{lit|a|lk=yes}} {{lit}}",
          "lit. 'East' or 'West' lit. 'a' lit." },
        { "en", "{{decade|1987}}, {{Sclass|Kongō|battlecruiser}}, {{sclass|Kaiser|battleship|4}}",
          "1980s, Kongō-class battlecruiser, Kaiser class" },
        { "en", "{{sclass-|A|b|0}} {{sclass2|A|b|1}} {{sclass|A|b|2}} {{sclass|A|b|5}}",
          "A-class A-class b A-class b A" },
        { "en", "{{age|1969|07|20|2009|7|19}} {{age|1969|7|20}} {{age|1969}} {{age|1969|1}}",
          "39 50 50–51 50–51" },
        { "en", "{{update after|2013|7|16|text=by 2013|reason=old}} {{update after|2013}}x",
          "by 2013 x" },
        { "en", "{{harvtxt|Boolos|Jeffrey|1974|p=5|ref=none}} {{harv|A|1990}}",
          "Boolos & Jeffrey (1974, p. 5) (A 1990)" },
        { "en", "{{bibleverse|1|Cor|13:4|KJV}} {{bibleref|Mark|3:25|9}} {{US patent|1781541}}",
          "1 Cor 13:4 Mark 3:25 U.S. patent 1,781,541" },
        { "en", "{{USA}} {{flag|FRA}} {{flag|Utopia}} {{usa}}z", "United States France Utopia z" },
        { "en", "{{slink|Moon|Name}} {{slink||Name}} {{not a typo|a|b}} {{key press|Ctrl|C}}",
          "Moon § Name § Name ab Ctrl+C" },
        { "simple", "{{decade|1987}} {{dts|2012|5|1}}", "1980s May 1, 2012" },
        { "de", "{{Zitat|Text=Wer?|Autor=Kant|Quelle=Kritik|ref=x}}", "„Wer?“\n– Kant: Kritik" },
        { "de", "{{Zitat|Wer?|Sprache=de}}", "„Wer?“" },
        { "de", "{{enS|moon|de=Mond}}, {{laS}} ''luna'', {{ruS|луна}} {{RUS}}{{DEU|#}}.",
          "englisch moon ‚Mond‘, lateinisch luna, russisch луна Russland." },
        { "de", "{{Kapitälchen|Text}} {{Datum|1|2|2006}} {{Datum|tag=3|monat=März|jahr=2006}}",
          "Text 1. Februar 2006 3. März 2006" },
        { "de", "{{FormatDate|2012-02-01}} {{§|5|bgb|juris}} BGB {{\"|Ja|Ich}}",
          "1. Februar 2012 § 5 BGB „Ja“ (Ich)" },
        { "de",
          "{{ruS|луна|luna}}, {{arS|قمر|d=qamar|b=Mond}}, {{zh|c=月|p=yuè}}, {{zh|t=馬|v=马}}",
          "russisch луна luna, arabisch قمر, DMG qamar ‚Mond‘, chinesisch 月, Pinyin yuè, "
          "chinesisch 馬 / 马" },
        { "pt", "{{dtext|1|5|2000}} {{Século|XIX}} {{DC|100}} {{DC}} {{AC|44}} 5 {{Km2}}",
          "1 de maio de 2000 século XIX 100 d.C. d.C. 44 a.C. 5 km²" },
        { "pt", "{{unit|10|km}} {{Km2|5}} {{lang-en|Moon}}", "10 km 5 km² em inglês: Moon" },
        { "fr", "{{XVIe siècle}}, {{Ier siècle}} {{IVe siècle av. J.-C.}} {{XIXe}}",
          "XVIe siècle, Ier siècle IVe siècle av. J.-C. XIXe" },
        { "fr", "{{octobre|1737}} {{Octobre}} {{4 octobre|1737}} {{âge|1969|7|20}}",
          "octobre 1737 octobre 4 octobre 1737 50 ans" },
        { "fr", "{{citation étrangère|langue=en|Moon}} {{Citation étrangère|en|Moon|trad=Lune}}",
          "« Moon » « Moon » (« Lune »)" },
        { "fr", "{{terme défini|mot}} {{citation|a}} {{date|2000-01-31}}",
          "mot « a » 31 janvier 2000" },
        { "fr", "{{unité|1.5|e=6|m|s|-1}} {{unité|10|à=20|km}} {{unité|10|±=2|m|2}}",
          "1,5×10⁶ m s⁻¹ 10 à 20 km 10 ± 2 m²" },
        { "fr", "{{s|XIX}} {{s-|I}} {{-s|III}} {{s2|XII|e|XIII|e}} {{s2-|I|II}}",
          "XIXe siècle Ier siècle IIIe siècle av. J.-C. XIIe et XIIIe siècles Ier et IIe siècles" },
        { "fr",
          "{{7e|arrondissement}} {{22e|jour}} {{1re}} {{IIe|République}} en {{-218}}, {{-52-}}",
          "7e arrondissement 22e jour 1re IIe République en 218 av. J.-C., 52 av. J.-C." },
        { "fr",
          "a {{incise|ici|stop}}. b {{incise|là}} c {{p.}} 5 {{lang|en|texte=moon}} {{fchim|H|2|O}}",
          "a – ici. b – là – c p. 5 moon H2O" },
        { "fr", "a {{drapeau|Côte d'Ivoire}} {{France}} {{États-Unis}}", "a France États-Unis" },
        { "fr", "au {{IIIe millénaire}} {{tunité|10|20|30|cm}} {{dunité|1,5|2|m}}, {{Cie}}",
          "au IIIe millénaire 10 × 20 × 30 cm 1,5 × 2 m, Cie" },
        { "es", "{{lang-en|Moon}} {{ac|44}} {{fecha|2000|2|1}}",
          "en inglés: Moon 44 a. C. 1 de febrero de 2000" },
        { "es", "{{ord|1.|a}} vez, {{n.º|5}} a {{bandera|España}} b", "1.a vez, n.º 5 a b" },
        { "ru", "{{lang-en|Moon|луна}} {{lang-en2|Moon}} {{OldStyleDate|6|июня|1799|26|мая}}",
          "англ. Moon — «луна» Moon 26 мая [6 июня] 1799" },
        { "ru", "{{OldStyleDate|25|июля|1826 год|13}}а {{date|1|1|2000}} {{ref-en}}",
          "13 [25] июля 1826 года 1 января 2000 (англ.)" },
        { "pl", "{{jang|Moon}} {{jang}} ''Sun'' {{fakt|tak|data=2010-05}} {{data|2010-05-01}}",
          "ang. Moon ang. Sun tak 1 maja 2010" },
        { "nl", "{{citaat|Ja|Ik}} {{en}} {{aut|Naam}}", "Ja\n— Ik\n(en) Naam" },
        { "uk", "{{lang-sk|kraj}} {{lang-be|край}} {{lang-cu|край}} {{ref-hr}}",
          "словац. kraj біл. край церк.-слов. край (хорв.)" },
        { "nb", "{{km2|5}} {{sitat|Ja|Jeg}} {{språkikon|en}} c", "5 km²\nJa\n— Jeg\n(engelsk) c" },
        { "nn", "{{km2|5}} {{lang-en|Moon}}", "5 km² engelsk: Moon" },
        { "ru", "{{lang-be|край}} {{lang-ka|a}} {{lang-no|b}}", "белор. край груз. a норв. b" },
        { "ru", "a {{флаг|Россия}} {{Россия}} {{США}}", "a Россия США" },
        { "pl", "a {{flaga|Korea Południowa}} b {{państwo|Czechy}}", "a b Czechy" },
        { "cs", "a {{vlajka|Jižní Korea}} b {{vlajka a název|Česko}}", "a b Česko" },
        { "pt", "{{PEPB|a|b}}", "a (português europeu) ou b (português brasileiro)" },
        { "pt", "{{Link|en|2=http://a.org|3=Moon}}", "Moon" },
        { "fa", "{{به انگلیسی|Moon}}", "به انگلیسی: Moon" },
        { "zh", "{{lang-en|Moon}} {{lang-ru|луна|luna}} {{as of|2020|5|3}} {{HKG}}",
          "英語：Moon 俄語：луна，luna 截至2020年5月3日 香港" },
        { "zh", "{{link-vi|月|Trăng}} {{Internal link helper/ko|月|달}} {{link-interwiki|a}}",
          "月 月 a" },
        { "zh",
          "在{{translink|en|Moon|月球}}和{{ilh|月|Moon|lang-code=en}}、{{liw|月|en|Moon}}、"
          "{{link-interwiki|zh=月|lang=en|lang_title=Moon}}上",
          "在月球和月、月、月上" },
        { "en", "{{ill|de|Mond}} {{interlanguage link|fr|Lune|lt=the Moon}}", "Mond the Moon" },
        { "el", "{{lang-cs|Praha}} {{lang-hy|a}}", "Τσεχικά: Praha Αρμενικά: a" },
        { "bg", "({{lang|en|Moon}}, {{lang-ru|луна}})", "(на английски: Moon, на руски: луна)" },
        { "ro", "{{lang-en|Moon}}", "în engleză Moon" },
        { "sl", "{{lang-de|Mond}}", "nemško Mond" },
        { "el", "{{lang-ru|луна|luna|moon}} {{IPA-de|ha}} {{zh|c=月|p=yuè|l=moon}}",
          "Ρωσικά: луна, luna, 'moon' Γερμανικά: [ha] 月; yuè; moon" },
        { "it", "{{M|1|M|Hz}}, {{M|61.000||km/h}}, {{M|2|e=8|-|-}}, {{M|5|u=km}}, {{M||k|m}}",
          "1 MHz, 61.000 km/h, 2×10⁸, 5 km, km" },
        { "uk", "{{ДН|14|3|1854|2}}, {{ДС|10|3|1861|26|2}}, {{OldStyleDate|12|жовтня||30|вересня}}",
          "2 [14] березня 1854, 26 лютого [10 березня] 1861, 30 вересня [12 жовтня]" },
        { "it", "{{lingue|de|en}} Sito {{ALB}} {{Russo|луна|luna}}",
          "(DE, EN) Sito Albania russo: луна, luna" },
        { "ja", "{{ウィキ座標度分秒|41|21|07|N|139|47|57|E|type:landmark}} {{USA}} a {{en icon}}",
          "北緯41度21分07秒 東経139度47分57秒 アメリカ合衆国 a (英語)" },
        { "hi", "{{lang-en|Delhi}}, {{IPA-hi|a}}", "अंग्रेज़ी: Delhi, हिन्दी: [a]" },
        { "bn", "{{lang-en|Dhaka}}, {{lang-ar|دكا}}", "ইংরেজি: Dhaka, আরবি: دكا" },
        { "ta", "{{lang-en|Chennai}}, {{lang-si|a}}", "ஆங்கிலம்: Chennai, சிங்களம்: a" },
        { "th", "{{lang-en|Bangkok}}, {{lang-pi|a}}", "อังกฤษ: Bangkok, บาลี: a" },
        { "eu", "{{lang-es|Bilbao}} {{fr}}", "gaztelaniaz: Bilbao (frantsesez)" },
        { "eo", "{{lang-pl|Warszawa}} {{de}}", "pole: Warszawa (germane)" },
        { "id", "{{lang-jv|a}}, {{IPA-id|b}}", "bahasa Jawa: a, Indonesia: [b]" },
        { "tr", "{{lang-ota|استانبول}}", "Osmanlıca: استانبول" },
        { "cs", "a {{Poznámka|Toto je poznámka.}} b {{fakt/dne}}", "a b" },
        { "ko", "a {{내용주|이것은 주석이다.}} b {{국기그림|대한민국}}", "a b" },
        { "he", "א {{ביאור|הסבר כאן}} {{אנ|Two words}} ב", "א ב" },
        { "fa", "ا {{یادچپ|Two words}} {{یادکرد کتاب|عنوان=x}} ب", "ا ب" },
        { "hu", "a {{refhely|Kis Pál|12. o.}} {{megjegyzés|Ez az.}} b", "a b" },
        { "ar", "ا {{ملا|ملاحظة هنا}} {{استشهاد بكتاب|1=نص}} ب", "ا ب" },
        { "ar", "{{إنج|Moon}} {{lang-fr|Lune}} {{وإو|تر=Moon|عر=قمر|لغ=en}} {{تحويل|5|km|m}}",
          "(بالإنجليزية: Moon) (بالفرنسية: Lune) قمر 5 km (5,000 m)" },
        { "ar", "{{lang-xh|Inyanga}} {{langx|kk|Ай}} {{lang-zzz|a}} {{langx|zzz|b}}",
          "(بالخوسا: Inyanga) (بالكازاخستانية: Ай) a b" },
        { "fa", "{{به فارسی|ماه}}\n{{ب|یک|دو}}\n{{ب|سه|چهار}}", "به فارسی: ماه\nیک دو\nسه چهار" },
        { "id", "{{lahirmati|[[Jakarta]]|1|5|1950|B|2|1|2000}}; {{lahirmati||1|Mei|1950}}",
          "lahir di Jakarta, 1 Mei 1950 – meninggal di B, 2 Januari 2000; lahir 1 Mei 1950" },
        { "fi", "{{k-sv|Helsingfors}}, {{k-fa|x}}, a {{k-en}}",
          "ruots. Helsingfors, persiaksi x, a (englanniksi)" },
        { "sr", "{{јез-енг|Moon}}, {{јез-лат|Luna}}, {{јез|de|Mond}}, {{датум рођења|1|5|1950}}",
          "енгл. Moon, лат. Luna, нем. Mond, 1. маја 1950" },
        { "hi", "a {{उद्धरण|b|c}} {{जन्म तिथि|1950|5|1}}", "a\nb\n— c\n1 मई 1950" },
        { "bn", "{{BDT|5000}} {{রূপান্তর|5|km|m}}", "৳৫,০০০ ৫ কিলোমিটার (৫,০০০ মিটার)" },
        { "th", "{{วันเกิด-อายุ|1950|5|1}} {{คำพูด|a|b}}", "1 พฤษภาคม 1950\na\n— b" },
        { "es", "; 1 : {{plm|parte}} de un {{l|es|animal}}, H{{-sub|2}}O.",
          "1: parte de un animal, H2O." },
        { "zh", "{{HKD|5000}} {{NT$|100}}", "HK$5,000 NT$100" },
        { "zh", "月（{{jpn|j='''月'''|hg=つき|rm=Tsuki}}）在{{ruby-ja|空|そら}}。",
          "月（日語：月／つき Tsuki）在空（そら）。" },
        { "ko", "그는 {{ruby-ko|大韓|대한}}의", "그는 大韓(대한)의" },
        { "ro", "{{dată naștere|1950|5|1}} {{citat|Da|Eu}}", "1 mai 1950\nDa\n— Eu" },
        { "cs", "({{Cj|la|Luna}})", "(Luna)" },
        { "ko", "{{나이|1969|7|20}} {{출생일과 만나이|1950|5|1}}", "50 1950년 5월 1일" },
        { "he", "'''{{משמאל לימין|Moon}}'''", "Moon" },
        { "he", "א{{ש}}ב", "א\nב" }, /* a template that is <br> */
        { "fa", "ا{{سخ}}ب", "ا\nب" },
        { "en", "a{{br}}b", "a\nb" },
        { "ca", "a {{br}} {{br|b}} c", "a (bretó) b c" }, /* there, br is the code of Breton */
        { "eu", "a {{br}} b", "a (bretoieraz) b" },
        { "it", "a {{br}} b", "a (BR) b" },
        { "nap-x-tara", "{{formatnum:1234567.5}}", "1 234 567,5" }, /* in the dump of roa-tara */
        { "jv-x-bms", "{{formatnum:1234567.5}}", "1.234.567,5" },
        { "eu", "{{aipua|Bai|Nik}}", "Bai\n— Nik" },
        { "en", "{{yes}} {{no|none}} {{won}} {{nom}} {{N/A}} {{TBA}}",
          "Yes none Won Nominated — TBA" },
        { "vi", "{{yes}} {{no}} {{won}}", "Có Không Đoạt giải" },
        { "th", "{{no}} {{nom}}", "ไม่ใช่ เสนอชื่อเข้าชิง" },
        { "ru", "{{да}} {{нет|нету}} {{Победа}}", "Да нету Победа" },
        { "en", "{{fb|ESP}}, {{fb-rt|ENG}}, {{flagIOC|GER|2008 Summer}}, {{cr|IND}}",
          "Spain, England, Germany, India" },
        { "id", "{{fb|ESP}}, {{flagIOCathlete|[[Usain Bolt]]|JAM|2008}}",
          "Spanyol, Usain Bolt (JAM)" },
        { "ru", "{{не переведено|есть=:en:Foo|надо=Фу|язык=англ.}} {{нп|A|а}}", "Фу а" },
        { "es", "{{langx|en|Moon}}", "en inglés: Moon" },
        { "ru", "{{langx|en|Moon}}, {{langx|de|Mond|луна}}", "англ. Moon, нем. Mond — «луна»" },
        { "ro", "{{langx|en|Moon}}", "în engleză Moon" },
        { "vi", "{{circa|1900}}, {{c.|1900|1910}}", "k. 1900, k. 1900 – k. 1910" },
        { "zh", "{{circa|1900}}", "约1900年" },
        { "pt", "{{casamento|Ana|1970|1980|fim=div}}, {{casamento|Eva|1990}}, {{R$|5000}}",
          "Ana (c. 1970; div. 1980), Eva (c. 1990), R$ 5 000" },
        { "es", "{{matrimonio|Ana|1970|1980}}", "Ana (matr. 1970–1980)" },
        { "pl", "{{°C|20}}, 5 {{m²}}, {{dts|1950-05-01}}", "20 °C, 5 m², 1 maja 1950" },
        { "vi", "{{km2|5}} {{m2|5}} {{M2}}", "5 km² 5 m²" },
        { "hu", "{{igen}} {{nem}} {{no}}", "Igen Nem (norvégül)" },
        { "he", "א {{דגל|צרפת}} {{דגלון|צרפת}} ב", "א צרפת ב" },
        { "fa", "ا{{به روز|متن این مقاله}}", "ا" },
        { "vi", "{{as of|2011}}, {{as of|2011|5|lc=y}}",
          "Tính đến năm 2011, tính đến tháng 5 năm 2011" },
        { "id", "{{as of|2011|5|1}}, {{as of|2011|alt=pada 2011}}", "Per 1 Mei 2011, pada 2011" },
        { "ko", "{{as of|2011|5}}", "2011년 5월 기준" },
        { "zh", "{{convert|7|km2}}", "7平方公里 (2.7平方英里)" },
        { "th", "{{convert|10|km|mi}}", "10 กิโลเมตร (6.2 ไมล์)" },
        { "sr", "a {{цитат|аутор=Андрић|текст=Текст је овде.}} b", "a\nТекст је овде.\nb" },
        { "ar", "{{اقتباس|نص=النص هنا.}}", "النص هنا." },
        { "th", "a {{quote box|style=font:9px|title=A b}} {{quote|style=margin:0}} b", "a b" },
        { "es", "{{cita|texto=Sí|autor=Yo}}", "«Sí»\nYo" },
        { "he", "{{ציטוט|תוכן=א ב|מרכאות=כן|מקור=ג}}", "א ב\n— ג" },
        { "ar", "{{بداية قصيدة}}\n{{بيت|يد|مد}}\n{{بيت|غد|حد}}\n{{نهاية قصيدة}}", "يد مد\nغد حد" },
        { "de", "a {{Coordinate|NS=50/56/33/N|EW=6/57/32/E|text=/}}{{Coordinate|NS=1|EW=2}} b",
          "a 50°56′33″N 6°57′32″E b" },
        { "de", "a {{Coordinate|NS=50.5|EW=-6.5|text=/|article=/}} b", "a 50.5°N 6.5°W b" },
        { "fr", "{{coord|43/43/24/N|10/23/47/E}} {{coord|1|2|3|X|5|6|7|Y}}",
          "43°43′24″N 10°23′47″E" },
        { "ru", "{{НАЗВАНИЕ_СТРАНИЦЫ}}, {{Название страницы}}", "Moon" },
        { "he", "{{שם הדף}} {{שם הדף המלא}}", "Moon Moon" },
        { "fr", "{{NOMPAGE}} {{PAGENAME}}", "Moon Moon" },
        { "fa", "{{آرایش_عدد:1234}} {{formatnum:1234}}", "۱٬۲۳۴ ۱٬۲۳۴" },
        { "el", "{{ΜΟΡΦΟΠΟΙΗΣΗΑΡΙΘΜΟΥ:1234.5}} {{ΚΕΦΑΛΑΙΑ:ab}}", "1.234,5 AB" },
        { "hy", "{{lang-en|Moon}}, {{langx|xh|b}}", "անգլ.՝ Moon, b" },
        { "ka", "{{lang-en|Moon}}", "ინგლ. Moon" },
        { "bn", "{{flag|BGD}} {{flagcountry|Utopia}} {{flag|BGD|name=A}}", "বাংলাদেশ Utopia A" },
        { "fr", "{{em|4}}Vers{{em|2}}{{em|lent}}", "Vers lent" },
        { "zh", "{{lb|zh|動物}} 貓 {{lb|Mound}}", "貓 Mound" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        page = (struct template_page){ .lang = cases[i].lang,
                                       .title = "Moon",
                                       .timestamp = "2020-01-31T" };
        CHECK(cases[i].text, cases[i].shown);
    }
}

/* A line that has only the mark of a language must be dropped: the citation after the mark was
 * dropped before. */
Test(template, asides)
{
    page = (struct template_page){ .lang = "it", .title = "Luna", .timestamp = "" };
    CHECK("* {{en}} {{cita web|a}}\n* {{cita web|b}}{{en}}\n* {{en}} [http://a.b Sito]\n* (EN)",
          "(EN) Sito\n(EN)");
    CHECK("== A ==\n{{en}}\n== B ==\nb {{de}}", "B\nb (DE)");
}

Test(template, pronunciation)
{
    CHECK("{{IPAc-en|ˌ|æ|l|ə|ˈ|b|æ|m|ə}} {{IPAc-en|audio=a.ogg|'|eɪ}}", "/ˌæləˈbæmə/ /ˈeɪ/");
    CHECK("{{IPAc-en|US|ˈ|l|I|ŋ|k|_|ən}}", "US: /ˈlɪŋk ən/");
    CHECK("{{respell|AL|ə|BAM|ə}}, {{respell|a|_|b|c}}", "AL-ə-BAM-ə, a b-c");
    CHECK("{{IPA|/a/}} {{IPA-fr|alɛ̃}} {{IPA-el|a.pól|pron}} {{IPA-de|tʃ|}} {{IPA-fr|a|lang}}",
          "/a/ French pronunciation: [alɛ̃] pronounced [a.pól] [tʃ] French: [a]");
    CHECK("{{IPA|de|bɛʁ|lang}} {{angbr|aa}}", "German: [bɛʁ] ⟨aa⟩");
}

Test(template, dates)
{
    CHECK("{{as of|2011|lc=y}}, {{As of|2015|6|30}}. {{as of|2015|6}} {{as of|2011|since=y}}",
          "as of 2011, As of 30 June 2015. As of June 2015 Since 2011");
    CHECK("{{as of|2015|6|30|df=US|lc=yes}} {{as of|2014|alt=in 2014}}",
          "as of June 30, 2015 in 2014");
    CHECK("{{circa|1900}} {{circa}} 5 {{c.|1|2}} {{floruit|60}}",
          "c. 1900 c. 5 c. 1 – c. 2 fl. 60");
    CHECK("{{birth date|1885|4|3}} {{Birth date|df=yes|1885|4|3}} {{start date|1929|5}}",
          "April 3, 1885 3 April 1885 May 1929");
    CHECK("{{death date and age|1981|12|28|1885|4|3}}", "December 28, 1981 (aged 96)");
    CHECK("{{death date and age|df=yes|1981|3|28|1885|4|3}}", "28 March 1981 (aged 95)");
    CHECK("{{death date and age|1981|3||1885|4}}, {{death year and age|1990|1950|5}}",
          "March 1981 (aged 95), May 1990 (aged 39–40)");
    CHECK("{{death date and given age|98|1|27|67}}", "January 27, 98 (aged 67)");
    CHECK(
        "{{marriage|Frank|1929|1979|end=w.}} {{marriage|A|1950}} {{marriage|A|1950|1960|end=div}}",
        "Frank (m. 1929; died 1979) A (m. 1950) A (m. 1950; div. 1960)");
    CHECK("{{OldStyleDate|2 February|1905|20 January}}", "2 February 1905 [O.S. 20 January]");
}

/* Outside of English, dates are written as in the language of the wiki, and ages are left out. */
Test(template, dates_of_other_wikis)
{
    static const char *const cases[][3] = {
        { "it", "{{bda|1981|12|28}}, {{start date|1981|12}}, {{start date|1981}}",
          "28 dicembre 1981, dicembre 1981, 1981" },
        { "el", "{{death date and age|df=y|1981|12|28|1885|4|3}}, {{death year and age|1990|1950}}",
          "28 Δεκεμβρίου 1981, 1990" },
        { "es", "{{birth date and age|1981|12|28}}", "28 de diciembre de 1981" },
        { "de", "{{Start date|1981|05|08}}", "8. Mai 1981" },
        { "ja", "{{start date|1981|12|28}}, {{start date|1981|12}}, {{start date|1981}}",
          "1981年12月28日, 1981年12月, 1981" },
        { "ko", "{{birth date|1981|12|28}}", "1981년 12월 28일" },
        { "hu", "{{birth date|1981|12|28}}", "1981. december 28." },
        { "vi", "{{birth date|1981|12|28}}", "28 tháng 12 năm 1981" },
        { "vi", "{{ngày sinh và tuổi|1981|12|28}}", "28 tháng 12 năm 1981" },
        { "ja", "{{生年月日と年齢|1981|12|28}}, {{生年月日と年齢||12|28}}",
          "1981年12月28日, 12月28日" },
        { "ru", "{{дата рождения|8|5|1981}}, {{start date|1981|5}}", "8 мая 1981, май 1981" },
        { "fi", "{{birth date|1981|12|28}}, {{birth date|1981|05|08}}, {{start date|1981|5}}",
          "28. joulukuuta 1981, 8. toukokuuta 1981, toukokuu 1981" },
        { "ja", "{{birth date|1981|05|08}}, {{生年月日と年齢|1981|05|08}}",
          "1981年5月8日, 1981年5月8日" },
        { "ko", "{{birth date|1981|05|08}}", "1981년 5월 8일" },
        { "zh", "{{birth date|1981|05|08}}, {{as of|2020|05|03}}",
          "1981年5月8日, 截至2020年5月3日" },
        { "hu", "{{birth date|1981|05|08}}", "1981. május 8." },
        { "vi", "{{birth date|1981|05|08}}, {{start date|1981|05}}, {{start date|1981}}",
          "8 tháng 5 năm 1981, tháng 5 năm 1981, 1981" },
        { "ca", "{{birth date|1981|4|1}}, {{data naixement|28|12|1981}}, {{start date|1981|5}}",
          "1 d'abril de 1981, 28 de desembre de 1981, maig de 1981" },
        { "es", "{{dts|1981|12|28}}, {{dts|28 de diciembre}}",
          "28 de diciembre de 1981, 28 de diciembre" },
        { "pl", "{{dts|1981|12|28}}", "28 grudnia 1981" },
        { "bn", "{{birth date|1981|12|28}}", "২৮ ডিসেম্বর ১৯৮১" },
        { "bn", "{{birth date|১৯৮১|১২|২৮}}", "২৮ ডিসেম্বর ১৯৮১" },
        { "hi", "{{जन्म तिथि|१९८१|१२|२८}} {{convert|१०|km|mi}}", "२८ दिसम्बर १९८१ 10 km (6.2 mi)" },
        { "bn", "{{জন্ম তারিখ|১৯৯০|০১|০৫}} {{convert|১০-২০|km}}",
          "৫ জানুয়ারি ১৯৯০ ১০–২০ কিলোমিটার (৬.২–১২.৪ মাইল)" },
        { "fa", "{{birth date|1981|5|8}}", "۸ مهٔ ۱۹۸۱" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        page = (struct template_page){ .lang = cases[i][0], .title = "Moon", .timestamp = "" };
        CHECK(cases[i][1], cases[i][2]);
    }
}

Test(template, numbers)
{
    CHECK("{{frac|1|2}} {{frac|3|1|2}} {{frac|4}} {{sfrac|2|3}}", "1⁄2 3+1⁄2 1⁄4 2/3");
    CHECK("{{val|6.241|e=18}} {{val|30000|u=C}} {{val|1.00794|(7)}} {{val|1.5|0.2|e=-3|u=m}}",
          "6.241×10¹⁸ 30,000 C 1.00794(7) 1.5±0.2×10⁻³ m");
    CHECK("{{val|1.2|+0.1|-0.2|u=m}} {{val|1.2|0.1|−0.2}} {{val|5|+1}}",
          "1.2+0.1−0.2 m 1.2+0.1−0.2 5±1");
    CHECK("5.97{{e|24}} kg {{ordinal|1}} {{ordinal|12}} {{ordinal|23}}",
          "5.97×10²⁴ kg 1st 12th 23rd");
    CHECK("{{US$|1234567}} {{£|5 million}} {{GBP|10}} {{€|3.5}} {{currency|20|USD}}",
          "US$1,234,567 £5 million £10 €3.5 $20");
    CHECK("{{formatnum:1234567.8}} {{chem|CH|3|COO|−}} {{chem2|H2O}}", "1,234,567.8 CH3COO− H2O");
    CHECK("{{ISBN|978-3-16-148410-0}} {{OCLC|2048818}}", "ISBN 978-3-16-148410-0 OCLC 2048818");
    CHECK("x{{sup|2}} {{mvar|y}} {{math|''z'' {{=}} 1}} A{{Music|flat}}", "x2 y z = 1 A♭");
}

Test(template, formulas)
{
    CHECK("a {{tmath|\\mathbf{R}^n}} b", "a b");
    page.formulas = 1;
    CHECK("a {{tmath|1=\\mathbf{R}^n}} b", "a \\mathbf{R}^n b");
    CHECK("a {{tmath|f''(x)}} b", "a f''(x) b");
    CHECK("a {{tmath|1=f''(x)\n{{=}} y}} b", "a f''(x) = y b");
    CHECK("a {{tmath|f''(x) {{=}} é{{!}}}} b", "a f''(x) = é| b");
}

Test(template, inline_text)
{
    CHECK("{{nowrap|a b}} {{abbr|UN|United Nations}} {{sic|recieve}} {{sic|hide=y|teh}} "
          "{{vanchor|2|el2}}",
          "a b UN recieve [sic] teh 2");
    CHECK("a{{mdash}}b{{snd}}c{{ndash}}d{{nbsp}}e{{'s}} {{hlist|x|y}} p{{·}}q",
          "a—b – c–d e's x · y p · q");
    CHECK("{{color|red|a}} {{small|b}} {{resize|120%|c}} {{PAGENAME}} {{flag|France}} "
          "{{unichar|2022}}",
          "a b c Moon France U+2022 •");
    CHECK("{{USS|Hornet|CV-12|6}}, {{USS|Hornet|CV-12}}, {{HMS|Ajax|22|2}}, {{ship|SS|Oria}}",
          "Hornet, USS Hornet (CV-12), HMS Ajax, SS Oria");
    CHECK("{{coord|29|53||N|48|||E}}", "29°53′N 48°E");
    CHECK("{{coord|48|51|N|2|21|O}} {{coord|48|51|X|2|21|E}} a", "48°51′N 2°21′O a");
    CHECK("{{coord|1|N|2|E|display=i}}, {{coord|1|N|3|E|display=ti}}{{coord|1|N|4|E|display=t}}",
          "1°N 2°E, 1°N 3°E");
    CHECK("({{coord|46|12|N|10|5|E}}; {{coord|32.7|-86.7|display=inline,title}})",
          "(46°12′N 10°5′E; 32.7°N 86.7°W)");
}

Test(template, blocks)
{
    CHECK("He said: {{quote|Be ''quiet''.|Cato|source=Letters}} End.",
          "He said:\nBe quiet.\n— Cato, Letters\nEnd.");
    CHECK("{{blockquote|text=One\n\nTwo|author=X}}", "One\nTwo\n— X");
    CHECK("{{cquote|Q|||A|S}} {{cquote|Q|20px|20px|A|S}} {{rquote|left|Q|A|S}} {{rquote|Q}}",
          "Q\n— A, S\nQ\n— A, S\nQ\n— A, S\nQ");
    CHECK("{{quote box|width=30%|quote=Q|source=S}}", "Q\n— S");
    CHECK("{{ubl|a|b}}", "a\nb");
    CHECK("{{minus}}5 °C, 2{{times}}3, non{{hyphen}}x, Ann{{dagger}}, Bob{{double-dagger}}",
          "−5 °C, 2×3, non-x, Ann†, Bob‡");
    CHECK("می{{zwnj}}رود", "می\xE2\x80\x8C"
                           "رود");
    CHECK("in {{music|time|3|4}}, {{music|quarter}} = 60, {{music|scale|5}}", "in 3/4, ♩ = 60, 5̂");
    CHECK("A{{music|flat}} B{{music|#}} C{{music|♮}} {{music|cut-time}} D{{music|##}}",
          "A♭ B♯ C♮ 𝄵 D𝄪");
    CHECK("{{columns-list|2|\n* [[a]]\n* b\n}}", "a\nb");
    CHECK("x {{plainlist|\n* a\n* b\n}} y {{small|* z}}", "x\na\nb\ny * z");
    CHECK("a\n{{columns-list|colwidth=9em|\n* b\n* c}}\n{{2列|\n== g ==\n; d\n: e\n}}\nf",
          "a\nb\nc\ng\nd\ne\nf");
    CHECK("{{infobox x|a=\n* b\n* c|d}} {{x|* e}} {{#if:x|\n* f\n* g}}", "");
    CHECK("{{columns|width=9em|col1=\n* a\n* b|col2=\n* c\n* d}}{{x|2|\n; e\n: f|\n* g\n* h}}",
          "a\nb\nc\nd\ne\nf\ng\nh");
    CHECK("{{x|a|b|c=\n* d\n* e}}", "");
#define VERSE "A line of a poem that is long enough to be seen as one, with the next, "
    CHECK("{{x|title=A|text=" VERSE "\n" VERSE "\n" VERSE "b}}", VERSE VERSE VERSE "b");
    CHECK("{{x|a|b|" VERSE "\n" VERSE "\n" VERSE "}} {{x|" VERSE VERSE VERSE "}}", "");
}

Test(template, hatnotes)
{
    const char *text = "{{main|Sun|Star|l2=Stars}}\nText. {{see also|Sky}}";
    CHECK(text, "Text.");
    page.hatnotes = 1;
    CHECK(text, "Main article: Sun and Stars\nText.\nSee also: Sky");
    CHECK("{{main|Sun|Moon||}}", "Main article: Sun and Moon");
    page.lang = "it";
    CHECK("{{vedi anche|Sole|Luna|Terra}}", "Lo stesso argomento in dettaglio: Sole, Luna e Terra");
    page.lang = "el";
    CHECK("{{Κύριο|Ήλιος|Γη}}\n{{Main|Ήλιος}}", "Κύριο λήμμα: Ήλιος και Γη\nΚύριο λήμμα: Ήλιος");
    page.lang = "fr";
    CHECK("{{Article détaillé|Soleil}}", "Article détaillé : Soleil");
    page.lang = "ja";
    CHECK("{{Main|太陽}}\n{{See also|月|星}}", "詳細は「太陽」を参照\n「月」および「星」も参照");
}

Test(template, links_to_wikipedia)
{
    CHECK("{{w|Moon}} and {{w|Moon landing|the landing}}", "Moon and the landing");
}

Test(template, dictionaries)
{
    CHECK("From {{inh|en|ang|mōna|t=moon}}, from {{der|en|xyz|*mē}}; akin to {{cog|de|Mond}}, "
          "{{m|la|luna||moon}}.",
          "From Old English mōna (“moon”), from *mē; akin to German Mond, luna (“moon”).");
    CHECK("# {{lb|en|astronomy|_|UK}} A moon.\n#: {{ux|fr|La lune.|The moon.}}\n"
          "#* {{quote-book|en|year=1800|author=X|passage=The moon rose.}}\n#: {{syn|en|a|b}}\n"
          "# {{plural of|en|moon}}\n* French: {{t+|fr|lune|f}}\n{{col3|en|moonlight|moonbeam}}",
          "A moon.\nLa lune. ― The moon.\nThe moon rose.\nSynonyms: a, b\nplural of moon\n"
          "French: lune\nmoonlight, moonbeam");
    CHECK("Of {{inh|en|enm|mone}}, {{inh|en|gem-pro|*mēnô}}.",
          "Of Middle English mone, Proto-Germanic *mēnô.");
    CHECK("* {{audio|en|en-us-moon.ogg|a=US}}\n* {{audio|fr|Fr-lune.ogg|the sound}}\n"
          "* {{audio|Moon.ogg|the moon}}\n* {{audio|enm|Mone.ogg|a sound}}\n* {{audio|cmn|a.ogg}}",
          "the sound\nthe moon\na sound");
    CHECK("From {{af|en|moon|-let}}.\n# {{alt form|en|mone}}\n#: {{co|en|full moon}}\n"
          "{{C|en|Moon|Sky}}\n\n{{c|centred}} {{q|rare}} x",
          "From moon + -let.\nalternative form of mone\nfull moon\ncentred (rare) x");
}

Test(template, letters)
{
    CHECK("Jane Doe {{post-nominals|country=GBR|OBE|FRS}}, {{postnominals|sep=,|A|B}} was "
          "{{lc:ABC}} {{uc:d É}}.",
          "Jane Doe OBE FRS, A, B was abc D É.");
}

Test(template, names_and_numbers)
{
    CHECK("cost {{INRConvert|1000|c}}; {{mpl|2010 TK|7}}; {{OldStyleDateDY|1 Jan|1700|2 Dec}}; "
          "{{stl|MBTA|Harvard}}; {{OEIS|A000045}}; {{SubatomicParticle|link=yes|Electron}}",
          "cost ₹1,000 crore; 2010 TK7; 1 Jan [O.S. 2 Dec] 1700; Harvard; (sequence A000045 in the "
          "OEIS); e−");
    CHECK("the {{cfb link|year=2010|team=Texas Longhorns|title=Texas}} and {{EquationNote|1}}",
          "the Texas and 1");
}

Test(template, books)
{
    CHECK(
        "{{c|{{larger|CHAPTER I.}}}}\n\n{{drop initial|T}}he man, {{asc|A.D.}} 5, saw {{SIC|teh|the}} "
        "{{hws|moun|mountain}}",
        "CHAPTER I.\nThe man, A.D. 5, saw teh moun-");
    CHECK("{{sic|teh}}", "teh [sic]");
    CHECK("Bo{{ls}}om {{lsp|2px|friend}}s, {{font-size|90%|small print}}, {{anchor+|a1|Act}} I.\n\n"
          "{{left margin|2em|Verses.}}",
          "Bosom friends, small print, Act I.\nVerses.");
    CHECK(
        "{{block center|{{ppoem|\nOne line\n}}}}\n\n{{fine block|A block.}}\n\n"
        "{{dent|2em|-2em|Mr. {{bar|2}} hangs.}}\n\n{{hanging indent|2em|An entry.}}\n\n{{hi|One.}}",
        "One line\nA block.\nMr. ⸺ hangs.\nAn entry.\nOne.");
}

Test(template, books_of_other_wikis)
{
    page = (struct template_page){ .lang = "fr", .title = "Moon", .timestamp = "" };
    CHECK("{{T3|SCÈNE I}}\n{{personnage|ARNOLPHE}}\nVous.\n{{PersonnageD|AGNÈS|c|à part}}\nNon.",
          "SCÈNE I\nARNOLPHE\nVous.\nAGNÈS, à part\nNon.");
    page.lang = "de";
    CHECK("{{LineCenterSize|140|20|Erlkönig}}\n{{SperrSchrift|Wer}} reitet {{SIC|so|sô}}?",
          "Erlkönig\nWer reitet so?");
    page.lang = "ru";
    CHECK("{{poemx|Узник|Сижу за решёткой.|1822}}{{poem1||Строка.}}",
          "Узник\nСижу за решёткой.\n1822\nСтрока.");
    CHECK("{{Буквица|О}}днажды {{перенос|сло|во}}, {{перенос2|сло|во}}и", "Однажды слово, и");
    page.lang = "it";
    CHECK("{{Capolettera|N}}el {{Pt|mo-|monumenti}} {{Pt|numenti|}} "
          "{{AutoreCitato|Dante Alighieri|Dante}} {{ec|x|y}} a {{pt}}",
          "Nel monumenti Dante y a (PT)");
    page.lang = "zh";
    CHECK(
        "{{YL|元年|前722年}}，{{專|黃帝}}者{{*|元年者何？}}道{{另|破|敗}}，{{ProperNoun|廬陵|歐陽脩}}也{{!|𤣥|⿱亠幺}}"
        "{{SKchar|3771|邦}}{{SKchar2|26}}。",
        "元年，黃帝者元年者何？道破，廬陵歐陽脩也𤣥邦□。");
    CHECK("a{{*}}b {{!}}", "a•b |");
}

Test(template, travel_guides)
{
    CHECK("* {{see | name=Louvre | alt= | url=http://x.fr | address=Rue de Rivoli\n"
          "| directions=Metro | phone=+33 1 | hours=9-18 | price=€15 | content=A museum. }}\n"
          "* {{do|name=Walk|content=Take a walk.}}\n* {{sleep|content=No name}}",
          "Louvre, Rue de Rivoli (Metro). 9-18. A museum. €15\nWalk. Take a walk.\nNo name");
    CHECK("* {{marker|type=city|name=[[Lyon]]}} is a city.\n{{cautionbox|Beware of dogs.}}",
          "Lyon is a city.\nBeware of dogs.");
    CHECK("* {{see|nome=Museo|indirizzo=Via Y|descrizione=Bello.}}\n"
          "* {{see|nombre=Museo|dirección=Calle Y|horario=9-18|precio=5 €|descripción=Bello.}}",
          "Museo, Via Y. Bello.\nMuseo, Calle Y. 9-18. Bello. 5 €");
    CHECK("{{see|Sun}}", "");
}

/* ---- convert ------------------------------------------------------------------------------ */

Test(template, convert)
{
    CHECK("{{convert|5|mi|km}}; {{convert|1|km|mi}}", "5 miles (8.0 km); 1 kilometre (0.62 mi)");
    CHECK("{{convert|2413|ft|0|abbr=on}}", "2,413 ft (735 m)");
    CHECK("{{convert|100|km|nmi|sp=us|abbr=off}}", "100 kilometers (54 nautical miles)");
    CHECK("{{cvt|10|in|cm}} {{convert|60|nmi|km|adj=on}}",
          "10 in (25 cm) 60-nautical-mile (110 km)");
    CHECK("{{convert|-24|C|sigfig=2}} {{convert|0|C|0}} {{convert|100|°F}}",
          "−24 °C (−11 °F) 0 °C (32 °F) 100 °F (38 °C)");
    CHECK("{{convert|22|e6acre|km2}}", "22 million acres (89,000 km²)");
    CHECK("{{convert|142000|km2}}", "142,000 square kilometres (55,000 sq mi)");
    CHECK("{{convert|1.8|m}} {{convert|100|m|ft}}", "1.8 metres (5 ft 11 in) 100 metres (330 ft)");
    CHECK("{{convert|324|m|ft}} {{convert|324.5|m|ft}}",
          "324 metres (1,063 ft) 324.5 metres (1,065 ft)");
    CHECK("{{convert|240|ml}} {{convert|12|USoz|mL}} {{cvt|150|cc}}",
          "240 millilitres (8.4 imp fl oz; 8.1 US fl oz) 12 US fluid ounces (350 mL) "
          "150 cc (9.2 cu in)");
    CHECK("{{convert|2|Mt|ST}}", "2 megatonnes (2,200,000 short tons)");
    CHECK("{{convert|85|kg}} {{convert|80|kg|lb}}", "85 kilograms (187 lb) 80 kilograms (180 lb)");
    CHECK("{{convert|6|ft|4|in|cm}}", "6 feet 4 inches (193 cm)");
    CHECK("{{convert|-6|ft|4|in|cm}}", "−6 feet 4 inches (−193 cm)");
    CHECK("{{convert|12|st|7|lb|kg}}", "12 stone 7 pounds (79 kg)");
    CHECK("{{convert|1|x|2|m|ftin}}", "1 × 2 metres (3 ft 3 in × 6 ft 7 in)");
    CHECK("{{convert|2700|m|fathom ft}}", "2,700 metres (1,500 fathoms; 8,900 ft)");
    CHECK("{{convert|54.5|nmi|km|disp=flip|sp=us}}", "100.9 kilometers (54.5 nmi)");
    CHECK("{{convert|1/2|mi|km}} {{convert|2+1/2|in}}", "1⁄2 mile (0.80 km) 2+1⁄2 inches (64 mm)");
    CHECK("{{convert|100|psi}} {{convert|60|mph|km/h}}",
          "100 pounds per square inch (690 kPa) 60 miles per hour (97 km/h)");
    CHECK("{{convert|9|st|lb kg}} {{convert|12|USgal}}",
          "9 stone (130 lb; 57 kg) 12 US gallons (45 L; 10.0 imp gal)");
}

Test(template, convert_ranges)
{
    CHECK("{{convert|1|-|4|km2|sqmi}}", "1–4 square kilometres (0.39–1.54 sq mi)");
    CHECK("{{convert|110|and|125|mph|km/h|abbr=on}}", "110 and 125 mph (177 and 201 km/h)");
    CHECK("{{convert|40|to|50|cm|in}} {{convert|10-20|km}}",
          "40 to 50 centimetres (16 to 20 in) 10–20 kilometres (6.2–12.4 mi)");
    CHECK("{{convert|2|x|4|m|ft|abbr=on}}", "2 m × 4 m (6.6 ft × 13.1 ft)");
}

Test(template, convert_displays)
{
    CHECK("{{convert|-33|°C|°F|1|disp=or}}", "−33 °C or −27.4 °F");
    CHECK("{{convert|10|mi|km|disp=out}} {{convert|10|mi|km|0|disp=number}}", "16 kilometres 16");
    CHECK("{{convert|10|mi|km|disp=sqbr}} {{convert|10|mi|km|disp=comma}}",
          "10 miles [16 km] 10 miles, 16 km");
    CHECK("{{convert|3|parsnips}} {{convert|abc|km}} {{convert}} {{convert|5-x}}", "3 parsnips");
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* Returns whether the brackets and braces of a pattern are closed in pairs. */
static int is_closed(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '[' || *p == ']')
            depth += *p == '[' ? 1 : -1;
        else if (*p == '$' && !strchr("0123456789*{t", p[1]))
            return 0;
        else if (*p == '$' && p[1] == '{' && !(p = strchr(p, '}')))
            return 0;
        if (depth < 0)
            return 0;
    }
    return depth == 0;
}

static int count_of(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Checks a row of the table: it must be found by its name, be well-formed, and show no argument
 * twice. */
static void check_row(const char *lang, const char *name, const struct show_entry *row)
{
    struct buf text = BUF_INIT;
    cr_expect(row->render != show_pattern || is_closed(row->text), "%s:%s = %s", lang, name,
              row->text);
    buf_addf(&text, "a {{%s|qone|qtwo|qthree|qfour|qfive}} z", name);
    page = (struct template_page){ .lang = lang, .title = "Moon", .timestamp = "" };
    struct span none = { "", 0 };
    struct wikitext_call call = { span_of(name), &none, 1, 0 };
    cr_expect(template_choose(&page, call.name) > TEMPLATE_GUESSED, "%s:%s", lang, name);
    template_render(&page, &call, &out);
    clean(text.data);
    cr_expect(count_of(out.data, "qone") <= 1 && count_of(out.data, "qtwo") <= 1, "%s:%s: %s", lang,
              name, out.data);
    cr_expect(!strstr(out.data, "${"), "%s:%s: %s", lang, name, out.data);
    buf_release(&text);
}

Test(template, rows)
{
    for (size_t i = 0; i < show_entries_count; i++) {
        char lang[16] = "";
        const char *colon = strchr(show_entries[i].name, ':');
        memcpy(lang, show_entries[i].name, (size_t)(colon - show_entries[i].name));
        check_row(*lang ? lang : "xx", colon + 1, &show_entries[i]);
        if (i)
            cr_expect_lt(strcmp(show_entries[i - 1].name, show_entries[i].name), 0, "%s", colon);
    }
    for (size_t i = 0; i < show_starred_count; i++)
        check_row(show_starred[i].lang, show_starred[i].row.name, &show_starred[i].row);
}

/* ---- hostile text ---------------------------------------------------------------------------- */

Test(template, time_is_linear)
{
    static const char *const pieces[] = { "{{lang|a|", "{{quote|", "{{hlist|a|", "{{convert|1|" };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT;
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i]);
        for (size_t n = text.len / strlen(pieces[i]); n > 0; n--)
            buf_adds(&text, "}}");
        clock_t begin = clock();
        clean(text.data);
        cr_expect_lt((double)(clock() - begin) / CLOCKS_PER_SEC, 2, "%s", pieces[i]);
        cr_expect_lt(out.len, 2 * text.len);
        buf_release(&text);
    }
}
