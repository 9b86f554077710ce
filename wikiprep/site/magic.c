#include "wikiprep/site/magic.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "unicode/letter_case.h"

enum { WORD_MAX_BYTES = 96 };

/* "ENGLISH=word|word;ENGLISH=word;" */
/* clang-format off */
static const struct {
    const char *lang, *words;
} languages[] = {
    { "ar",
      "PAGENAME=اسم_الصفحة;"
      "FULLPAGENAME=اسم_الصفحة_الكامل|اسم_صفحة_كامل|اسم_كامل;"
      "BASEPAGENAME=اسم_الصفحة_الأساسي;SUBPAGENAME=اسم_الصفحة_الفرعي;"
      "NAMESPACE=نطاق;CURRENTYEAR=عام_حالي;CURRENTMONTH=شهر_حالي|شهر_حالي2;"
      "CURRENTMONTHNAME=اسم_الشهر_الحالي;CURRENTDAY=يوم_حالي;"
      "SITENAME=اسم_الموقع;NUMBEROFARTICLES=عدد_المقالات;ns=نط;lc=صغير;"
      "uc=كبير;lcfirst=عنوان_كبير;ucfirst=عنوان_صغير;formatnum=صيغة_رقم;"
      "padleft=باد_يسار;padright=باد_يمين;plural=جمع;grammar=قواعد_اللغة;"
      "#tag=#وسم;#language=#لغة;#if=#لو;#ifeq=#لومعادلة;#ifexpr=#لوتعبير;"
      "#iferror=#لوخطأ;#ifexist=#لوموجود;#switch=#تبديل;#default=#افتراضي;"
      "#expr=#تعبير;#time=#وقت;#titleparts=#أجزاء_العنوان;" },
    { "bg",
      "PAGENAME=СТРАНИЦА;FULLPAGENAME=ПЪЛНОИМЕ_СТРАНИЦА;"
      "SUBPAGENAME=ИМЕ_ПОДСТРАНИЦА;NAMESPACE=ИМЕННОПРОСТРАНСТВО;"
      "CURRENTYEAR=ТЕКУЩАГОДИНА;CURRENTMONTH=ТЕКУЩМЕСЕЦ;"
      "CURRENTMONTHNAME=ТЕКУЩМЕСЕЦИМЕ;CURRENTDAY=ТЕКУЩДЕН;"
      "SITENAME=ИМЕНАСАЙТА;NUMBEROFARTICLES=БРОЙСТАТИИ;ns=ИП;lc=МБ;uc=ГБ;"
      "lcfirst=МБПЪРВА;ucfirst=ГБПЪРВА;plural=МН_ЧИСЛО;grammar=ГРАМАТИКА;"
      "#language=#ЕЗИК;" },
    { "ca",
      "PAGENAME=NOMPÀGINA|NOMPAGINA|NOMDELAPLANA;CURRENTYEAR=ANYACTUAL;CURRENTMONTH=MESACTUAL;"
      "CURRENTMONTHNAME=NOMMESACTUAL;CURRENTDAY=DIAACTUAL;"
      "NUMBEROFARTICLES=NOMBREARTICLES|NOMBRED'ARTICLES;formatnum=FORMATNOMBRE;"
      "padleft=SEPARACIÓESQUERRA|SEPARACIOESQUERRA;padright=SEPARACIÓDRETA|SEPARACIODRETA;"
      "#tag=#etiqueta|#marcador;#language=#IDIOMA|#LLENGUA;" },
    { "cs",
      "PAGENAME=NÁZEVSTRANY;FULLPAGENAME=PLNÝNÁZEVSTRANY;BASEPAGENAME=NÁZEVNADSTRANY;"
      "SUBPAGENAME=NÁZEVPODSTRANY;NAMESPACE=JMENNÝPROSTOR;CURRENTYEAR=AKTUÁLNÍROK;"
      "CURRENTMONTH=AKTUÁLNÍMĚSÍC|AKTUÁLNÍMĚSÍC2;CURRENTMONTHNAME=AKTUÁLNÍMĚSÍCJMÉNO;"
      "CURRENTDAY=AKTUÁLNÍDEN;SITENAME=NÁZEVWEBU;NUMBEROFARTICLES=POČETČLÁNKŮ;lc=MALÁ;uc=VELKÁ;"
      "lcfirst=PRVNÍMALÉ;ucfirst=PRVNÍVELKÉ;formatnum=FORMÁTUJČÍSLO;padleft=ZAROVNATVLEVO;"
      "padright=ZAROVNATVPRAVO;plural=PLURÁL;grammar=SKLOŇUJ;#tag=#značka;#language=#JAZYK;#if=#když;"
      "#ifexist=#kdyžexist;#expr=#výraz;#time=#čas;" },
    { "de",
      "PAGENAME=SEITENNAME;FULLPAGENAME=VOLLER_SEITENNAME;BASEPAGENAME=OBERSEITE;SUBPAGENAME=UNTERSEITE;"
      "NAMESPACE=NAMENSRAUM;CURRENTYEAR=JETZIGES_JAHR;CURRENTMONTH=JETZIGER_MONAT|JETZIGER_MONAT_2;"
      "CURRENTMONTHNAME=JETZIGER_MONATSNAME;CURRENTDAY=JETZIGER_KALENDERTAG|JETZIGER_TAG;"
      "SITENAME=PROJEKTNAME;NUMBEROFARTICLES=ARTIKELANZAHL;ns=NR;lc=KLEIN;uc=GROSS;lcfirst=INITIAL_KLEIN;"
      "ucfirst=INITIAL_GROSS;formatnum=ZAHLENFORMAT;padleft=FÜLLENLINKS;padright=FÜLLENRECHTS;"
      "grammar=GRAMMATIK;#tag=#erweiterung;#language=#SPRACHE;#switch=#wechsle;#default=#standard;" },
    { "el",
      "PAGENAME=ΟΝΟΜΑΣΕΛΙΔΑΣ;FULLPAGENAME=ΠΛΗΡΕΣΟΝΟΜΑΣΕΛΙΔΑΣ;"
      "BASEPAGENAME=ΒΑΣΗΟΝΟΜΑΤΟΣΣΕΛΙΔΑΣ;SUBPAGENAME=ΟΝΟΜΑΥΠΟΣΕΛΙΔΑΣ;"
      "NAMESPACE=ΠΕΡΙΟΧΗ;CURRENTYEAR=ΤΡΕΧΟΝΕΤΟΣ;"
      "CURRENTMONTH=ΤΡΕΧΩΝΜΗΝΑΣ|ΤΡΕΧΩΝΜΗΝΑΣ2;"
      "CURRENTMONTHNAME=ΤΡΕΧΩΝΜΗΝΑΣΟΝΟΜΑ;CURRENTDAY=ΤΡΕΧΟΥΣΑΜΕΡΑ;"
      "SITENAME=ΙΣΤΟΧΩΡΟΣ;NUMBEROFARTICLES=ΑΡΙΘΜΟΣΑΡΘΡΩΝ;"
      "ns=ΧΟ|ΧΩΡΟΣΟΝΟΜΑΤΩΝ|ΟΧ|ΟΝΟΜΑΤΟΧΩΡΟΣ;lc=ΠΕΖΑ;uc=ΚΕΦΑΛΑΙΑ;"
      "lcfirst=ΠΡΩΤΟΠΕΖΟ;ucfirst=ΠΡΩΤΟΚΕΦΑΛΑΙΟ;"
      "formatnum=ΜΟΡΦΟΠΟΙΗΣΗΑΡΙΘΜΟΥ;padleft=ΑΡΙΣΤΕΡΟΠΑΡΑΓΕΜΙΣΜΑ;"
      "padright=ΔΕΞΙΠΑΡΑΓΕΜΙΣΜΑ;plural=ΠΛΗΘΥΝΤΙΚΟΣ;"
      "grammar=ΓΡΑΜΜΑΤΙΚΗ;#tag=#ετικέτα;#language=#ΓΛΩΣΣΑ;" },
    { "es",
      "PAGENAME=NOMBREDEPAGINA|NOMBREDEPÁGINA;"
      "FULLPAGENAME=NOMBRECOMPLETODEPÁGINA|NOMBRECOMPLETODEPAGINA;"
      "BASEPAGENAME=NOMBREDEPAGINABASE|NOMBREDEPÁGINABASE;"
      "SUBPAGENAME=NOMBREDESUBPAGINA|NOMBREDESUBPÁGINA;NAMESPACE=ESPACIODENOMBRE;"
      "CURRENTYEAR=AÑOACTUAL|AÑO_ACTUAL;CURRENTMONTH=MESACTUAL|MESACTUAL2;"
      "CURRENTMONTHNAME=MESACTUALCOMPLETO|NOMBREMESACTUAL;"
      "CURRENTDAY=DÍAACTUAL|DIAACTUAL|DÍA_ACTUAL|DIA_ACTUAL;SITENAME=NOMBREDELSITIO;"
      "NUMBEROFARTICLES=NÚMERODEARTÍCULOS|NUMERODEARTICULOS;ns=EN;lc=MINUS|MINÚS;uc=MAYUS|MAYÚS;"
      "lcfirst=PRIMEROMINUS|PRIMEROMINÚS;ucfirst=PRIMEROMAYUS|PRIMEROMAYÚS;"
      "formatnum=FORMATONÚMERO|FORMATONUMERO;padleft=RELLENARIZQUIERDA|RELLENARIZQ;"
      "padright=RELLENARDERECHA|RELLENARDER;grammar=GRAMATICA|GRAMÁTICA;#tag=#etiqueta;"
      "#language=#IDIOMA;#if=#si;#ifeq=#siigual;#ifexpr=#siexpr;#iferror=#sierror;#ifexist=#siexiste;"
      "#switch=#según;#default=#predeterminado;#time=#tiempo;" },
    { "fa",
      "PAGENAME=نام‌صفحه|نام_صفحه;"
      "FULLPAGENAME=نام‌کامل‌صفحه|نام_کامل_صفحه;"
      "BASEPAGENAME=نام‌صفحه‌مبنا|نام_صفحه_مبنا;"
      "SUBPAGENAME=نام‌زیرصفحه|نام_زیرصفحه;"
      "NAMESPACE=فضای‌نام|فضای_نام;"
      "CURRENTYEAR=سال|سال‌کنونی|سال_کنونی;"
      "CURRENTMONTH=ماه|ماه‌کنونی|ماه_کنونی|ماه‌کنونی۲|"
      "ماه_کنونی۲;"
      "CURRENTMONTHNAME=نام‌ماه|نام_ماه|نام‌ماه‌کنونی|"
      "نام_ماه_کنونی;CURRENTDAY=روز|روزکنونی|روز_کنونی;"
      "SITENAME=نام‌وبگاه|نام_وبگاه;NUMBEROFARTICLES=تعدادمقاله‌ها;"
      "ns=فن;lc=ک;uc=ب;lcfirst=ابتداکوچک|ابتدا_کوچک;"
      "ucfirst=ابتدابزرگ|ابتدا_بزرگ;formatnum=آرایش‌عدد|آرایش_عدد;"
      "padleft=لبه‌چپ|لبه_چپ;padright=لبه‌راست|لبه_راست;plural=جمع;"
      "grammar=دستورزبان|دستور_زبان;#tag=#برچسب;#language=#زبان;#if=#اگر;"
      "#ifeq=#اگرمساوی;#ifexpr=#اگرحساب;#iferror=#اگرخطا;#ifexist=#اگرموجود;"
      "#switch=#گزینه;#default=#پیش‌فرض;#expr=#حساب;#time=#زمان;"
      "#titleparts=#پاره‌عنوان;" },
    { "fi",
      "PAGENAME=SIVUNIMI;FULLPAGENAME=KOKOSIVUNIMI;BASEPAGENAME=KANTASIVUNIMI;SUBPAGENAME=ALASIVUNIMI;"
      "NAMESPACE=NIMIAVARUUS;CURRENTYEAR=KULUVAVUOSI;CURRENTMONTH=KULUVAKUU;"
      "CURRENTMONTHNAME=KULUVAKUUNIMI;CURRENTDAY=KULUVAPÄIVÄ;SITENAME=SIVUSTONIMI;"
      "NUMBEROFARTICLES=ARTIKKELIMÄÄRÄ;ns=NA;formatnum=MUOTOILELUKU;plural=MONIKKO;grammar=TAIVUTUS;"
      "#language=#KIELI;" },
    { "fr",
      "PAGENAME=NOMPAGE;FULLPAGENAME=NOMPAGECOMPLET;BASEPAGENAME=NOMBASEDEPAGE;SUBPAGENAME=NOMSOUSPAGE;"
      "NAMESPACE=ESPACENOMMAGE;CURRENTYEAR=ANNEEACTUELLE;CURRENTMONTH=MOISACTUEL|MOIS2ACTUEL;"
      "CURRENTMONTHNAME=NOMMOISACTUEL;CURRENTDAY=JOURACTUEL|JOUR1ACTUEL;SITENAME=NOMSITE;"
      "NUMBEROFARTICLES=NOMBREARTICLES;ns=ESPACEN;lc=MINUS;uc=MAJUS|CAPIT;lcfirst=INITMINUS;"
      "ucfirst=INITMAJUS|INITCAPIT;formatnum=FORMATNOMBRE;padleft=BOURRAGEGAUCHE|BOURREGAUCHE;"
      "padright=BOURRAGEDROITE|BOURREDROITE;plural=PLURIEL;grammar=GRAMMAIRE;#tag=#balise;"
      "#language=#LANGUE;#if=#si;#ifeq=#si=;#ifexpr=#siexpr;#iferror=#sierreur;#ifexist=#siexiste;"
      "#switch=#selon;#default=#défaut;#time=#heure;#titleparts=#partiestitre;" },
    { "he",
      "PAGENAME=שם הדף;FULLPAGENAME=שם הדף המלא;BASEPAGENAME=שם דף הבסיס;"
      "SUBPAGENAME=שם דף המשנה;NAMESPACE=מרחב השם;CURRENTYEAR=שנה נוכחית;"
      "CURRENTMONTH=חודש נוכחי|חודש נוכחי 2;CURRENTMONTHNAME=שם חודש נוכחי;"
      "CURRENTDAY=יום נוכחי;SITENAME=שם האתר;NUMBEROFARTICLES=מספר ערכים;"
      "ns=מרחב שם;lc=אותיות קטנות;uc=אותיות גדולות;"
      "lcfirst=אות ראשונה קטנה;ucfirst=אות ראשונה גדולה;"
      "formatnum=עיצוב מספר;padleft=ריפוד משמאל;padright=ריפוד מימין;"
      "plural=רבים;grammar=דקדוק;#tag=#תג|#תגית;#language=#שפה;#if=#תנאי;"
      "#ifeq=#שווה;#ifexpr=#חשב תנאי;#iferror=#תנאי שגיאה;#ifexist=#קיים;"
      "#switch=#בחר;#default=#ברירת מחדל;#expr=#חשב;#time=#זמן;"
      "#titleparts=#חלק בכותרת;" },
    { "hi",
      "PAGENAME=पृष्ठ_नाम;FULLPAGENAME=पूर्ण_पृष्ठ_नाम;"
      "BASEPAGENAME=तल_पृष्ठ_नाम;SUBPAGENAME=उपपृष्ठ_नाम;"
      "NAMESPACE=नामस्थान;CURRENTYEAR=वर्तमान_वर्ष;"
      "CURRENTMONTH=वर्तमान_माह|वर्तमान_माह2|"
      "वर्तमान_माह२;CURRENTMONTHNAME=वर्तमान_माह_नाम;"
      "CURRENTDAY=वर्तमान_दिन;SITENAME=साइट_नाम;"
      "NUMBEROFARTICLES=लेख_संख्या;lc=छोटे_अक्षर;"
      "uc=बड़े_अक्षर;lcfirst=छोटे_अक्षर_से_शुरू;"
      "ucfirst=बड़े_अक्षर_से_शुरू;formatnum=संख्या_रूप;"
      "padleft=बाएँ_जोड़ें|बायें_जोड़ें;"
      "padright=दाएँ_जोड़ें|दायें_जोड़ें;plural=वचन;"
      "grammar=व्याकरण;#tag=#टैग;#language=#भाषा;#if=#यदि;"
      "#ifeq=#यदिसम|#यदि_समान|#यदि_बराबर;"
      "#ifexpr=#यदि_सूत्र;#iferror=#यदि_त्रुटि;"
      "#ifexist=#यदि_मौजूद;#switch=#बदलें;#default=#मूल;"
      "#expr=#सूत्र;#time=#समय;#titleparts=#शीर्षक_भाग;" },
    { "hu",
      "PAGENAME=OLDALNEVE;FULLPAGENAME=LAPTELJESNEVE;BASEPAGENAME=ALAPLAPNEVE;SUBPAGENAME=ALLAPNEVE;"
      "NAMESPACE=NÉVTERE;CURRENTYEAR=ÉV;CURRENTMONTH=HÓNAP;CURRENTMONTHNAME=HÓNAPNEVE;"
      "CURRENTDAY=MAINAP;SITENAME=WIKINEVE;NUMBEROFARTICLES=SZÓCIKKEKSZÁMA;ns=NÉVTÉR;"
      "lc=KISBETŰ|KISBETŰK|KB|KISBETŰS;uc=NAGYBETŰ|NAGYBETŰK|NB|NAGYBETŰS;"
      "lcfirst=KISKEZDŐ|KISKEZDŐBETŰ;ucfirst=NAGYKEZDŐ|NAGYKEZDŐBETŰ;"
      "formatnum=FORMÁZOTTSZÁM|SZÁMFORMÁZÁS|SZÁMFORM;plural=TÖBBESSZÁM;grammar=NYELVTAN;"
      "#language=#NYELV;#if=#ha;#ifeq=#haegyenlő;#ifexpr=#hakif;#iferror=#hahibás;#ifexist=#halétezik;"
      "#default=#alapértelmezett;#expr=#kif;#time=#idő;" },
    { "id",
      "PAGENAME=NAMAHALAMAN|NAMMAN;FULLPAGENAME=NAMAHALAMANLENGKAP|NAMALENGKAPHALAMAN|NAMMANKAP;"
      "BASEPAGENAME=NAMAHALAMANDASAR|NAMADASARHALAMAN|NAMMANSAR;"
      "SUBPAGENAME=NAMASUBHALAMAN|NAMAUPAHALAMAN|NAMUMAN;NAMESPACE=RUANGNAMA|RUNAM;"
      "CURRENTYEAR=TAHUNKINI|TAKIN;CURRENTMONTH=BULANKINI|BULANKINI2|BUKIN|BUKIN2;"
      "CURRENTMONTHNAME=NAMABULANKINI|NAMBUKIN;CURRENTDAY=HARIKINI|HARKIN;SITENAME=NAMASITUS|NAMSIT;"
      "NUMBEROFARTICLES=JUMLAHARTIKEL|JUMKEL;ns=RN;lc=KC|KECIL|HURUFKECIL;uc=BS|BESAR|HURUFBESAR;"
      "lcfirst=AKC|AWALKECIL;ucfirst=ABS|AWALBESAR;formatnum=FORMATANGKA|FORANG;padleft=ISIKIRI|IKI;"
      "padright=ISIKANAN|IKA;plural=JAMAK;grammar=TATABAHASA|TASA;#tag=#kata_kunci|#takun;"
      "#language=#BAHASA|#BHS;#if=#jika;#ifeq=#jikasama;#ifexpr=#jikahitung;#iferror=#jikasalah;"
      "#ifexist=#jikaada;#switch=#pilih;#default=#baku;#expr=#hitung;#time=#waktu;"
      "#titleparts=#bagianjudul;" },
    { "it",
      "PAGENAME=TITOLOPAGINA;SUBPAGENAME=NOMESOTTOPAGINA;CURRENTYEAR=ANNOATTUALE|ANNOCORRENTE;"
      "CURRENTMONTH=MESEATTUALE|MESECORRENTE;CURRENTMONTHNAME=NOMEMESEATTUALE|NOMEMESECORRENTE;"
      "CURRENTDAY=GIORNOATTUALE|GIORNOCORRENTE;SITENAME=NOMESITO;"
      "NUMBEROFARTICLES=NUMEROVOCI|NUMEROARTICOLI;plural=PLURALE;#tag=#etichetta;#language=#LINGUA;"
      "#if=#se;#ifeq=#seeq;#ifexpr=#seespr;#iferror=#seerrore;#ifexist=#seesiste;#expr=#espr;"
      "#time=#tempo;#titleparts=#patititolo;" },
    { "ja",
      "PAGENAME=ページ名;"
      "FULLPAGENAME=完全なページ名|フルページ名|完全な記事名|完全記事名;"
      "BASEPAGENAME=親ページ名;SUBPAGENAME=サブページ名|下位ページ名;"
      "NAMESPACE=名前空間;CURRENTYEAR=現在の年|協定年;CURRENTMONTH=現在の月|協定月;"
      "CURRENTMONTHNAME=現在の月名|協定月名;CURRENTDAY=現在の日|協定日;"
      "SITENAME=サイト名|サイトネーム;NUMBEROFARTICLES=記事数;ns=名空;lc=小文字;"
      "uc=大文字;lcfirst=先頭小文字;ucfirst=先頭大文字;formatnum=数整形;"
      "padleft=補充左;padright=補充右;plural=複数;grammar=文法;#tag=#タグ;"
      "#language=#言語|＃言語;#if=#もし;#ifeq=#もし等しい;#ifexpr=#もし式;"
      "#iferror=#もしエラー;#ifexist=#もし存在;#switch=#切り替え;#default=#既定;"
      "#expr=#式;#time=#時間;#titleparts=#タイトル部分;" },
    { "ko",
      "PAGENAME=문서이름;FULLPAGENAME=전체문서이름;BASEPAGENAME=상위문서이름;"
      "SUBPAGENAME=하위문서이름;NAMESPACE=이름공간;CURRENTYEAR=현재년;"
      "CURRENTMONTH=현재월;CURRENTMONTHNAME=현재월이름;CURRENTDAY=현재일;"
      "SITENAME=사이트이름;NUMBEROFARTICLES=문서수;ns=이름;lc=소문자;uc=대문자;"
      "lcfirst=첫소문자;ucfirst=첫대문자;formatnum=수형식;padleft=대체왼쪽;"
      "padright=대체오른쪽;plural=복수|복수형;grammar=문법;#tag=#태그;#language=#언어;"
      "#if=#만약;#ifeq=#만약일치;#ifexpr=#만약계산;#iferror=#만약오류;"
      "#ifexist=#만약존재;#switch=#스위치;#default=#기본값;#expr=#수식;#time=#시간;"
      "#titleparts=#제목부분;" },
    { "nl",
      "PAGENAME=PAGINANAAM;FULLPAGENAME=VOLLEDIGEPAGINANAAM;BASEPAGENAME=BASISPAGINANAAM;"
      "SUBPAGENAME=DEELPAGINANAAM;NAMESPACE=NAAMRUIMTE;CURRENTYEAR=HUIDIGJAAR;"
      "CURRENTMONTH=HUIDIGEMAAND|HUIDIGEMAAND2;CURRENTMONTHNAME=HUIDIGEMAANDNAAM;CURRENTDAY=HUIDIGEDAG;"
      "SITENAME=SITENAAM;NUMBEROFARTICLES=AANTALARTIKELEN;ns=NR;lc=KL;uc=HL;lcfirst=KLEERSTE;"
      "ucfirst=GLEERSTE|HLEERSTE;formatnum=FORMATTEERNUM|NUMFORMATTEREN;padleft=LINKSOPVULLEN;"
      "padright=RECHTSOPVULLEN;plural=MEERVOUD;grammar=GRAMMATICA;#tag=#label;#language=#TAAL;#if=#als;"
      "#ifeq=#alsgelijk;#ifexpr=#alsexpressie;#iferror=#alsfout;#ifexist=#alsbestaat;#switch=#schakelen;"
      "#default=#standaard;#expr=#expressie;#time=#tijd;#titleparts=#paginanaamdelen;" },
    { "no",
      "PAGENAME=SIDENAVN;FULLPAGENAME=FULLTSIDENAVN;BASEPAGENAME=GRUNNSIDENAVN;SUBPAGENAME=UNDERSIDENAVN;"
      "NAMESPACE=NAVNEROM;CURRENTYEAR=NÅVÆRENDEÅR;CURRENTMONTH=NÅVÆRENDEMÅNED|NÅVÆRENDEMÅNED2;"
      "CURRENTMONTHNAME=NÅVÆRENDEMÅNEDSNAVN;CURRENTDAY=NÅVÆRENDEDAG;NUMBEROFARTICLES=ANTALLARTIKLER;"
      "ns=NR;plural=FLERTALL;grammar=GRAMMATIKK;" },
    { "pl",
      "PAGENAME=NAZWASTRONY;FULLPAGENAME=PELNANAZWASTRONY;BASEPAGENAME=BAZOWANAZWASTRONY;"
      "SUBPAGENAME=NAZWAPODSTRONY;NAMESPACE=NAZWAPRZESTRZENI;CURRENTYEAR=AKTUALNYROK;"
      "CURRENTDAY=AKTUALNYDZIEŃ;SITENAME=PROJEKT;NUMBEROFARTICLES=ARTYKUŁÓW;ns=PN;lc=MAŁE;"
      "uc=WIELKIE|DUŻE;lcfirst=ZMAŁEJ|ODMAŁEJ;ucfirst=ZWIELKIEJ|ZDUŻEJ|ODWIELKIEJ|ODDUŻEJ;"
      "padleft=DOLEWEJ;padright=DOPRAWEJ;plural=MNOGA;grammar=ODMIANA;#language=#JĘZYK;" },
    { "pt",
      "PAGENAME=NOMEDAPAGINA|NOMEDAPÁGINA;FULLPAGENAME=NOMECOMPLETODAPAGINA|NOMECOMPLETODAPÁGINA;"
      "BASEPAGENAME=NOMEDAPAGINABASE|NOMEDAPÁGINABASE;SUBPAGENAME=NOMEDASUBPAGINA|NOMEDASUBPÁGINA;"
      "NAMESPACE=DOMINIO|DOMÍNIO|ESPACONOMINAL|ESPAÇONOMINAL;CURRENTYEAR=ANOATUAL;"
      "CURRENTMONTH=MESATUAL|MESATUAL2;CURRENTMONTHNAME=NOMEDOMESATUAL;CURRENTDAY=DIAATUAL;"
      "SITENAME=NOMEDOSITE|NOMEDOSÍTIO|NOMEDOSITIO;NUMBEROFARTICLES=NUMERODEARTIGOS|NÚMERODEARTIGOS;"
      "lc=MINUSCULA|MINÚSCULA|MINUSCULAS|MINÚSCULAS;uc=MAIUSCULA|MAIÚSCULA|MAIUSCULAS|MAIÚSCULAS;"
      "lcfirst=PRIMEIRAMINUSCULA|PRIMEIRAMINÚSCULA;ucfirst=PRIMEIRAMAIUSCULA|PRIMEIRAMAIÚSCULA;"
      "#language=#IDIOMA;#if=#se;#ifeq=#seigual;#ifexpr=#seexpr;#iferror=#seerro;#ifexist=#seexiste;"
      "#default=#padrão|#padrao;#titleparts=#partesdotítulo|#partesdotitulo;" },
    { "ro",
      "PAGENAME=NUMEPAGINA;FULLPAGENAME=NUMEPAGINACOMPLET;BASEPAGENAME=NUMEDEBAZAPAGINA;"
      "SUBPAGENAME=NUMESUBPAGINA;NAMESPACE=SPATIUDENUME;CURRENTYEAR=ANULCURENT;"
      "CURRENTMONTH=NUMARLUNACURENTA;CURRENTMONTHNAME=NUMELUNACURENTA;CURRENTDAY=NUMARZIUACURENTA;"
      "SITENAME=NUMESITE;NUMBEROFARTICLES=NUMARDEARTICOLE;ns=SN;lc=MINUSCULA;uc=MAJUSCULA;"
      "lcfirst=MINUSCULAPRIMA;ucfirst=MAJUSCULAPRIMA;formatnum=FORMATNR;grammar=GRAMATICA;#tag=#eticheta;"
      "#language=#LIMBA;" },
    { "ru",
      "PAGENAME=НАЗВАНИЕ_СТРАНИЦЫ;"
      "FULLPAGENAME=ПОЛНОЕ_НАЗВАНИЕ_СТРАНИЦЫ;"
      "BASEPAGENAME=ОСНОВА_НАЗВАНИЯ_СТРАНИЦЫ;"
      "SUBPAGENAME=НАЗВАНИЕ_ПОДСТРАНИЦЫ;NAMESPACE=ПРОСТРАНСТВО_ИМЁН;"
      "CURRENTYEAR=ТЕКУЩИЙ_ГОД;"
      "CURRENTMONTH=ТЕКУЩИЙ_МЕСЯЦ|ТЕКУЩИЙ_МЕСЯЦ_2;"
      "CURRENTMONTHNAME=НАЗВАНИЕ_ТЕКУЩЕГО_МЕСЯЦА;"
      "CURRENTDAY=ТЕКУЩИЙ_ДЕНЬ;SITENAME=НАЗВАНИЕ_САЙТА;"
      "NUMBEROFARTICLES=КОЛИЧЕСТВО_СТАТЕЙ;ns=ПИ;lc=МАЛЕНЬКИМИ_БУКВАМИ;"
      "uc=БОЛЬШИМИ_БУКВАМИ;lcfirst=ПЕРВАЯ_БУКВА_МАЛЕНЬКАЯ;"
      "ucfirst=ПЕРВАЯ_БУКВА_БОЛЬШАЯ;formatnum=ФОРМАТИРОВАТЬ_ЧИСЛО;"
      "padleft=ЗАПОЛНИТЬ_СЛЕВА;padright=ЗАПОЛНИТЬ_СПРАВА;"
      "plural=МНОЖЕСТВЕННОЕ_ЧИСЛО;grammar=ПАДЕЖ;#tag=#метка|#тег|#тэг;"
      "#language=#ЯЗЫК;#if=#если;#iferror=#еслиошибка;"
      "#switch=#переключатель;#default=#умолчание;#time=#время;" },
    { "sr",
      "PAGENAME=ИМЕСТРАНИЦЕ|ИМЕ_СТРАНИЦЕ|СТРАНИЦА|IMESTRANICE|"
      "IME_STRANICE|STRANICA;"
      "FULLPAGENAME=ПУНОИМЕСТРАНИЦЕ|ПУНОИМЕСТРАНЕ|"
      "ПУНО_ИМЕ_СТРАНИЦЕ|ПУНО_ИМЕ_СТРАНЕ|PUNOIMESTRANICE|PUNOIMESTRANE|"
      "PUNO_IME_STRANICE|PUNO_IME_STRANE;"
      "BASEPAGENAME=ИМЕОСНОВЕ|ИМЕ_ОСНОВЕ|IMEOSNOVE|IME_OSNOVE;"
      "SUBPAGENAME=ИМЕПОДСТРАНИЦЕ|ИМЕПОДСТРАНЕ|ИМЕ_ПОДСТРАНИЦЕ|"
      "ИМЕ_ПОДСТРАНЕ|IMEPODSTRANICE|IMEPODSTRANE|IME_PODSTRANICE|IME_PODSTRANE;"
      "NAMESPACE=ИМЕНСКИПРОСТОР|ИМЕНСКИ_ПРОСТОР|IMENSKIPROSTOR|"
      "IMENSKI_PROSTOR;"
      "CURRENTYEAR=ТРЕНУТНАГОДИНА|ТЕКУЋАГОДИНА|ТЕКУЋА_ГОДИНА|"
      "TRENUTNAGODINA|TEKUĆAGODINA|TEKUĆA_GODINA;"
      "CURRENTMONTH=ТРЕНУТНИМЕСЕЦ|ТРЕНУТНИ_МЕСЕЦ|ТЕКУЋИМЕСЕЦ|"
      "ТЕКУЋИ_МЕСЕЦ|TRENUTNIMESEC|TRENUTNI_MESEC|TEKUĆIMESEC|TEKUĆI_MESEC;"
      "CURRENTMONTHNAME=ТРЕНУТНИМЕСЕЦИМЕ|ИМЕТЕКУЋЕГМЕСЕЦА|"
      "ИМЕ_ТЕКУЋЕГ_МЕСЕЦА|TRENUTNIMESECIME|IMETEKUĆEGMESECA|IME_TEKUĆEG_MESECA;"
      "CURRENTDAY=ТРЕНУТНИДАН|ТЕКУЋИДАН|ТЕКУЋИ_ДАН|TRENUTNIDAN|TEKUĆIDAN|"
      "TEKUĆI_DAN;SITENAME=ИМЕСАЈТА|IMESAJTA;"
      "NUMBEROFARTICLES=БРОЈЧЛАНАКА|БРОЈ_ЧЛАНАКА|BROJČLANAKA|BROJ_ČLANAKA;"
      "ns=ИП|IP;lc=ЛЦ;uc=УЦ;lcfirst=ЛЦПРВИ|LCPRVI;ucfirst=УЦПРВИ|UCPRVI;"
      "padleft=ПОРАВНАЈЛЕВО|ПОРАВНАЈ_ЛЕВО|PORAVNAJULEVO|PORAVNAJ_ULEVO;"
      "padright=ПОРАВНАЈДЕСНО|ПОРАВНАЈ_ДЕСНО|PORAVNAJUDESNO|PORAVNAJ_UDESNO;"
      "plural=МНОЖИНА|MNOŽINA;grammar=ГРАМАТИКА|GRAMATIKA;#tag=#ознака|#oznaka;"
      "#language=#JEZIK;#default=#подразумевано;#time=#време;" },
    { "sv",
      "PAGENAME=SIDNAMN;FULLPAGENAME=HELASIDNAMNET;BASEPAGENAME=GRUNDSIDNAMN;SUBPAGENAME=UNDERSIDNAMN;"
      "NAMESPACE=NAMNRYMD;CURRENTYEAR=NUVARANDEÅR|NUÅR;CURRENTMONTH=NUVARANDEMÅNAD|NUMÅNAD;"
      "CURRENTMONTHNAME=NUVARANDEMÅNADSNAMN|NUMÅNADSNAMN;CURRENTDAY=NUVARANDEDAG|NUDAG;"
      "SITENAME=SAJTNAMN|SITENAMN;NUMBEROFARTICLES=ANTALARTIKLAR;ns=NR;lc=LB;uc=SB;lcfirst=LBFÖRST;"
      "ucfirst=SBFÖRST;formatnum=FORMATERANUM|FORMATERATAL;grammar=GRAMMATIK;#tag=#tagg;"
      "#language=#SPRÅK;#if=#om;#ifeq=#omlika;#ifexpr=#omutr;#iferror=#omfel;#ifexist=#omfinns;"
      "#switch=#växel;#default=#standard;#expr=#utr;#time=#tid;" },
    { "tr",
      "PAGENAME=SAYFAADI;FULLPAGENAME=TAMSAYFAADI;BASEPAGENAME=ÜSTSAYFAADI;SUBPAGENAME=ALTSAYFAADI;"
      "NAMESPACE=ADALANI|İSİMALANI;CURRENTYEAR=MEVCUTYIL|GÜNCELYIL;"
      "CURRENTMONTH=MEVCUTAY|MEVCUTAY2|GÜNCELAY|GÜNCELAY2;CURRENTMONTHNAME=MEVCUTAYADI|GÜNCELAYADI;"
      "CURRENTDAY=MEVCUTGÜN|GÜNCELGÜN;SITENAME=SİTEADI;NUMBEROFARTICLES=MADDESAYISI;ns=AA|AB;lc=KH;"
      "uc=BH;lcfirst=KHİLK;ucfirst=BHİLK;formatnum=BİÇİMNUM;padleft=DOLSOL;padright=DOLSAĞ;"
      "plural=ÇOĞUL;grammar=DİLBİLGİSİ|GRAMER;#tag=#etiket;#language=#DİL|#LİSAN;"
      "#if=#eğer|#eger;#switch=#değiştir|#degistir;#default=#vas;#expr=#işlem|#islem|#ifade;" },
    { "uk",
      "PAGENAME=НАЗВА_СТОРІНКИ;FULLPAGENAME=ПОВНА_НАЗВА_СТОРІНКИ;"
      "BASEPAGENAME=ОСНОВА_НАЗВИ_ПІДСТОРІНКИ;"
      "SUBPAGENAME=НАЗВА_ПІДСТОРІНКИ;NAMESPACE=ПРОСТІР_НАЗВ;"
      "CURRENTYEAR=ПОТОЧНИЙ_РІК;"
      "CURRENTMONTH=ПОТОЧНИЙ_МІСЯЦЬ|ПОТОЧНИЙ_МІСЯЦЬ_2;"
      "CURRENTMONTHNAME=НАЗВА_ПОТОЧНОГО_МІСЯЦЯ;CURRENTDAY=ПОТОЧНИЙ_ДЕНЬ;"
      "SITENAME=НАЗВА_САЙТУ;NUMBEROFARTICLES=КІЛЬКІСТЬ_СТАТЕЙ;ns=ПН;"
      "lc=НР|НИЖНІЙ_РЕГІСТР|МАЛИМИ_БУКВАМИ|МАЛИМИ_ЛІТЕРАМИ;"
      "uc=ВР|ВЕРХНІЙ_РЕГІСТР|ВЕЛИКИМИ_БУКВАМИ|"
      "ВЕЛИКИМИ_ЛІТЕРАМИ;"
      "lcfirst=НР_ПЕРША|ПЕРША_БУКВА_МАЛА|ПЕРША_ЛІТЕРА_МАЛА|"
      "МАЛА_ПЕРША_ЛІТЕРА;"
      "ucfirst=ВР_ПЕРША|ПЕРША_БУКВА_ВЕЛИКА|ПЕРША_ЛІТЕРА_ВЕЛИКА|"
      "ВЕЛИКА_ПЕРША_ЛІТЕРА;formatnum=ФОРМАТУВАТИ_ЧИСЛО;"
      "padleft=ЗАПОВНИТИ_ЛІВОРУЧ;padright=ЗАПОВНИТИ_ПРАВОРУЧ;"
      "plural=МНОЖИНА;grammar=ВІДМІНОК;#tag=#мітка|#теґ;#language=#МОВА;"
      "#if=#якщо;#ifeq=#якщорівні|#рівні;#ifexpr=#якщовираз;"
      "#iferror=#якщопомилка;#ifexist=#якщоіснує;#switch=#вибірка;"
      "#default=#інакше|#за_замовчуванням;#expr=#вираз;" },
    { "vi",
      "PAGENAME=TÊN_TRANG|TÊNTRANG;FULLPAGENAME=TÊN_TRANG_ĐỦ|TÊNTRANGĐỦ;"
      "BASEPAGENAME=TÊN_TRANG_GỐC|TÊNTRANGGỐC;SUBPAGENAME=TÊN_TRANG_PHỤ|TÊNTRANGPHỤ;"
      "NAMESPACE=KHÔNG_GIAN_TÊN|KHÔNGGIANTÊN;CURRENTYEAR=NĂM_NÀY|NĂMNÀY;"
      "CURRENTMONTH=THÁNG_NÀY|THÁNGNÀY|THÁNG_NÀY_2|THÁNGNÀY2;"
      "CURRENTMONTHNAME=TÊN_THÁNG_NÀY|TÊNTHÁNGNÀY;CURRENTDAY=NGÀY_NÀY|NGÀYNÀY;"
      "SITENAME=TÊN_MẠNG|TÊNMẠNG;NUMBEROFARTICLES=SỐ_BÀI|SỐBÀI;ns=KGT;lc=CHỮ_HOA|CHỮHOA;"
      "uc=CHỮ_THƯỜNG|CHỮTHƯỜNG;lcfirst=CHỮ_ĐẦU_HOA|CHỮĐẦUHOA;"
      "ucfirst=CHỮ_ĐẦU_THƯỜNG|CHỮĐẦUTHƯỜNG;formatnum=PHÂN_CHIA_SỐ|PHÂNCHIASỐ;"
      "plural=SỐ_NHIỀU|SỐNHIỀU;grammar=NGỮ_PHÁP|NGỮPHÁP;#tag=#thẻ;"
      "#language=#NGÔN_NGỮ|#NGÔNNGỮ;#if=#nếu;#ifeq=#nếu_bằng|#nếubằng;"
      "#ifexpr=#nếu_công_thức|#nếucôngthức;#iferror=#nếu_lỗi|#nếulỗi;"
      "#ifexist=#nếu_tồn_tại|#nếutồntại;#default=#mặc_định|#mặcđịnh;"
      "#expr=#công_thức|#côngthức;#time=#giờ;" },
    { "zh",
      "PAGENAME=页名|页面名|页面名称|頁面名稱;FULLPAGENAME=页面全称|完整页面名称;"
      "BASEPAGENAME=基础页面名称;SUBPAGENAME=子页面名称;NAMESPACE=名字空间|命名空間;"
      "CURRENTYEAR=今年;CURRENTMONTH=本月|本月2;CURRENTMONTHNAME=本月名|本月名称;"
      "CURRENTDAY=今天;SITENAME=站点名称|網站名稱;NUMBEROFARTICLES=条目数|文章數;"
      "ns=名称空间;lc=小写;uc=大写;lcfirst=小写首字;ucfirst=大写首字;"
      "formatnum=格式化数字;padleft=左填充;padright=右填充;plural=复数;grammar=语法;"
      "#tag=#标记;#language=#语言|#語言;#if=#非空式|#若|#如果;"
      "#ifeq=#相同式|#匹配式|#若相等|#如果相等;#ifexpr=#若表达式|#若表達式;"
      "#iferror=#错误式|#如果错误|#如果錯誤;#ifexist=#存在式|#若有|#如有;"
      "#switch=#多选式|#多条件式|#双射式|#开关|#转换|#轉換;#default=#默认|#默認;"
      "#expr=#计算式|#表达式|#表達式;#time=#时间|#時間;#titleparts=#标题组成部分;" },
};
/* clang-format on */

struct word {
    char *folded; /* NULL: free */
    const char *word;
    size_t n;
    char *english;
};

struct magic {
    struct word *words; /* open addressing; cap is a power of two, or 0 */
    size_t cap;
};

/* Into out, with its NUL: 1, or 0 when it is too long. */
static int fold(char out[WORD_MAX_BYTES], const char *s, size_t n)
{
    size_t len = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        if (len + 5 > WORD_MAX_BYTES)
            return 0;
        len += utf8_encode(out + len, letter_case_lower(c));
    }
    out[len] = '\0';
    return len > 0;
}

static struct word *find(const struct magic *m, const char *folded)
{
    size_t i = hash_bytes(folded, strlen(folded)) & (m->cap - 1);
    while (m->words[i].folded && strcmp(m->words[i].folded, folded))
        i = (i + 1) & (m->cap - 1);
    return &m->words[i];
}

static void add(struct magic *m, const char *s, size_t n, const char *english, size_t english_len)
{
    char folded[WORD_MAX_BYTES];
    if (!fold(folded, s, n))
        return;
    struct word *w = find(m, folded);
    if (!w->folded)
        *w = (struct word){ mem_strdup(folded), s, n, mem_strndup(english, english_len) };
}

static void add_all(struct magic *m, const char *s)
{
    m->cap = 256;
    m->words = mem_zalloc(m->cap, sizeof *m->words);
    while (*s) {
        size_t english = strcspn(s, "=");
        for (const char *word = s + english; *word != ';'; word += 1 + strcspn(word + 1, "|;"))
            add(m, word + 1, strcspn(word + 1, "|;"), s, english);
        s += strcspn(s, ";") + 1;
    }
}

struct magic *magic_new(const char *lang)
{
    struct magic *m = mem_zalloc(1, sizeof *m);
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (!strcmp(languages[i].lang, lang))
            add_all(m, languages[i].words);
    return m;
}

void magic_free(struct magic *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->cap; i++) {
        free(m->words[i].folded);
        free(m->words[i].english);
    }
    free(m->words);
    free(m);
}

const char *magic_find(const struct magic *m, const char *s, size_t n)
{
    char folded[WORD_MAX_BYTES];
    if (!m->cap || !fold(folded, s, n))
        return NULL;
    const struct word *w = find(m, folded);
    if (!w->folded)
        return NULL;
    int is_exact = w->n == n && !memcmp(w->word, s, n);
    return is_exact || *w->english < 'A' || *w->english > 'Z' ? w->english : NULL;
}
