/*
 * The names are those that MediaWiki shows for {{#time:F}} and its kin.
 */
#include "wikiprep/values/calendar.h"

#include <string.h>

struct calendar {
    const char *lang;
    const char *names[CALENDAR_KINDS]; /* NULL: as the months' names */
};

/* clang-format off */
static const struct calendar calendars[] = {
    { "en", {
        "January|February|March|April|May|June|July|August|September|October|November|"
        "December",
        NULL,
        "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec",
        "Sunday|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday",
        "Sun|Mon|Tue|Wed|Thu|Fri|Sat",
    } },
    { "de", {
        "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember",
        NULL,
        "Jan.|Feb.|Mär.|Apr.|Mai|Jun.|Jul.|Aug.|Sep.|Okt.|Nov.|Dez.",
        "Sonntag|Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag",
        "So|Mo|Di|Mi|Do|Fr|Sa",
    } },
    { "fr", {
        "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|"
        "décembre",
        NULL,
        "janv.|fév.|mars|avr.|mai|juin|juill.|août|sept.|oct.|nov.|déc.",
        "dimanche|lundi|mardi|mercredi|jeudi|vendredi|samedi",
        "dim.|lun.|mar.|mer.|jeu.|ven.|sam.",
    } },
    { "es", {
        "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|"
        "diciembre",
        NULL,
        "ene|feb|mar|abr|may|jun|jul|ago|sep|oct|nov|dic",
        "domingo|lunes|martes|miércoles|jueves|viernes|sábado",
        "dom|lun|mar|mié|jue|vie|sáb",
    } },
    { "it", {
        "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|"
        "dicembre",
        NULL,
        "gen|feb|mar|apr|mag|giu|lug|ago|set|ott|nov|dic",
        "domenica|lunedì|martedì|mercoledì|giovedì|venerdì|sabato",
        "dom|lun|mar|mer|gio|ven|sab",
    } },
    { "pt", {
        "janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|"
        "dezembro",
        NULL,
        "jan.|fev.|mar.|abr.|mai.|jun.|jul.|ago.|set.|out.|nov.|dez.",
        "domingo|segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira|sábado",
        "dom|seg|ter|qua|qui|sex|sáb",
    } },
    { "nl", {
        "januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|"
        "december",
        NULL,
        "jan|feb|mrt|apr|mei|jun|jul|aug|sep|okt|nov|dec",
        "zondag|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag",
        "zo|ma|di|wo|do|vr|za",
    } },
    { "pl", {
        "styczeń|luty|marzec|kwiecień|maj|czerwiec|lipiec|sierpień|wrzesień|październik|"
        "listopad|grudzień",
        "stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|"
        "listopada|grudnia",
        "sty|lut|mar|kwi|maj|cze|lip|sie|wrz|paź|lis|gru",
        "niedziela|poniedziałek|wtorek|środa|czwartek|piątek|sobota",
        "Nd|Pn|Wt|Śr|Cz|Pt|So",
    } },
    { "ru", {
        "январь|февраль|март|апрель|май|июнь|июль|"
        "август|сентябрь|октябрь|ноябрь|декабрь",
        "января|февраля|марта|апреля|мая|июня|июля|"
        "августа|сентября|октября|ноября|декабря",
        "янв|фев|мар|апр|май|июн|июл|авг|сен|окт|ноя|дек",
        "воскресенье|понедельник|вторник|среда|"
        "четверг|пятница|суббота",
        "вс|пн|вт|ср|чт|пт|сб",
    } },
    { "uk", {
        "січень|лютий|березень|квітень|травень|"
        "червень|липень|серпень|вересень|жовтень|"
        "листопад|грудень",
        "січня|лютого|березня|квітня|травня|червня|"
        "липня|серпня|вересня|жовтня|листопада|грудня",
        "січ|лют|бер|кві|трав|чер|лип|сер|вер|жов|лис|"
        "груд",
        "неділя|понеділок|вівторок|середа|четвер|"
        "п'ятниця|субота",
        "Нд|Пн|Вт|Ср|Чт|Пт|Сб",
    } },
    { "be", {
        "студзень|люты|сакавік|красавік|май|чэрвень|"
        "ліпень|жнівень|верасень|кастрычнік|лістапад|"
        "снежань",
        "студзеня|лютага|сакавіка|красавіка|мая|"
        "чэрвеня|ліпеня|жніўня|верасня|кастрычніка|"
        "лістапада|снежня",
        "сту|лют|сак|кра|мая|чэр|ліп|жні|Вер|Кас|Ліс|Сне",
        "Нядзеля|Панядзелак|Аўторак|Серада|Чацвер|"
        "Пятніца|Субота",
        "нд|пн|аў|ср|чц|пт|сб",
    } },
    { "bg", {
        "януари|февруари|март|април|май|юни|юли|август|"
        "септември|октомври|ноември|декември",
        NULL,
        "яну|фев|мар|апр|май|юни|юли|авг|сеп|окт|ное|дек",
        "неделя|понеделник|вторник|сряда|четвъртък|"
        "петък|събота",
        "нд|пн|вт|ср|чт|пт|сб",
    } },
    { "sr", {
        "јануар|фебруар|март|април|мај|јун|јул|август|"
        "септембар|октобар|новембар|децембар",
        "јануара|фебруара|марта|априла|маја|јуна|јула|"
        "августа|септембра|октобра|новембра|децембра",
        "јан|феб|мар|апр|мај|јун|јул|авг|сеп|окт|нов|дец",
        "недеља|понедељак|уторак|среда|четвртак|петак|"
        "субота",
        "нед|пон|уто|сре|чет|пет|суб",
    } },
    { "cs", {
        "leden|únor|březen|duben|květen|červen|červenec|srpen|září|říjen|listopad|"
        "prosinec",
        "ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|"
        "prosince",
        "1.|2.|3.|4.|5.|6.|7.|8.|9.|10.|11.|12.",
        "neděle|pondělí|úterý|středa|čtvrtek|pátek|sobota",
        "ne|po|út|st|čt|pá|so",
    } },
    { "sk", {
        "január|február|marec|apríl|máj|jún|júl|august|september|október|november|"
        "december",
        "januára|februára|marca|apríla|mája|júna|júla|augusta|septembra|októbra|"
        "novembra|decembra",
        "jan|feb|mar|apr|máj|jún|júl|aug|sep|okt|nov|dec",
        "nedeľa|pondelok|utorok|streda|štvrtok|piatok|sobota",
        "Neď|Pon|Uto|Str|Štv|Pia|Sob",
    } },
    { "hr", {
        "siječanj|veljača|ožujak|travanj|svibanj|lipanj|srpanj|kolovoz|rujan|listopad|"
        "studeni|prosinac",
        "siječnja|veljače|ožujka|travnja|svibnja|lipnja|srpnja|kolovoza|rujna|listopada|"
        "studenoga|prosinca",
        "sij|velj|ožu|tra|svi|lip|srp|kol|ruj|lis|stu|pro",
        "nedjelja|ponedjeljak|utorak|srijeda|četvrtak|petak|subota",
        "ned|pon|uto|sri|čet|pet|sub",
    } },
    { "sl", {
        "januar|februar|marec|april|maj|junij|julij|avgust|september|oktober|november|"
        "december",
        "januarja|februarja|marca|aprila|maja|junija|julija|avgusta|septembra|oktobra|"
        "novembra|decembra",
        "jan.|feb.|mar.|apr.|maj|jun.|jul.|avg.|sep.|okt.|nov.|dec.",
        "nedelja|ponedeljek|torek|sreda|četrtek|petek|sobota",
        "ned.|pon.|tor.|sre.|čet.|pet.|sob.",
    } },
    { "sv", {
        "januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|"
        "december",
        NULL,
        "jan|feb|mar|apr|maj|jun|jul|aug|sep|okt|nov|dec",
        "söndag|måndag|tisdag|onsdag|torsdag|fredag|lördag",
        "sön|mån|tis|ons|tor|fre|lör",
    } },
    { "da", {
        "januar|februar|marts|april|maj|juni|juli|august|september|oktober|november|december",
        NULL,
        "jan.|feb.|mar.|apr.|maj|jun.|jul.|aug.|sep.|okt.|nov.|dec.",
        "søndag|mandag|tirsdag|onsdag|torsdag|fredag|lørdag",
        "søn|man|tir|ons|tor|fre|lør",
    } },
    { "nb", {
        "januar|februar|mars|april|mai|juni|juli|august|september|oktober|november|desember",
        NULL,
        "jan.|feb.|mar.|apr.|mai|jun.|jul.|aug.|sep.|okt.|nov.|des.",
        "søndag|mandag|tirsdag|onsdag|torsdag|fredag|lørdag",
        "søn|man|tir|ons|tor|fre|lør",
    } },
    { "nn", {
        "januar|februar|mars|april|mai|juni|juli|august|september|oktober|november|desember",
        NULL,
        "jan.|feb.|mar.|apr.|mai|jun.|jul.|aug.|sep.|okt.|nov.|des.",
        "søndag|måndag|tysdag|onsdag|torsdag|fredag|laurdag",
        "søn|mån|tys|ons|tor|fre|lau",
    } },
    { "fi", {
        "tammikuu|helmikuu|maaliskuu|huhtikuu|toukokuu|kesäkuu|heinäkuu|elokuu|syyskuu|"
        "lokakuu|marraskuu|joulukuu",
        "tammikuun|helmikuun|maaliskuun|huhtikuun|toukokuun|kesäkuun|heinäkuun|elokuun|"
        "syyskuun|lokakuun|marraskuun|joulukuun",
        "tammikuu|helmikuu|maaliskuu|huhtikuu|toukokuu|kesäkuu|heinäkuu|elokuu|syyskuu|"
        "lokakuu|marraskuu|joulukuu",
        "sunnuntai|maanantai|tiistai|keskiviikko|torstai|perjantai|lauantai",
        "su|ma|ti|ke|to|pe|la",
    } },
    { "et", {
        "jaanuar|veebruar|märts|aprill|mai|juuni|juuli|august|september|oktoober|november|"
        "detsember",
        "jaanuari|veebruari|märtsi|aprilli|mai|juuni|juuli|augusti|septembri|oktoobri|"
        "novembri|detsembri",
        "jaan|veebr|märts|apr|mai|juuni|juuli|aug|sept|okt|nov|dets",
        "pühapäev|esmaspäev|teisipäev|kolmapäev|neljapäev|reede|laupäev",
        "P|E|T|K|N|R|L",
    } },
    { "lv", {
        "janvāris|februāris|marts|aprīlis|maijs|jūnijs|jūlijs|augusts|septembris|"
        "oktobris|novembris|decembris",
        "janvāra|februāra|marta|aprīļa|maija|jūnija|jūlija|augusta|septembra|oktobra|"
        "novembra|decembra",
        "janvāris|februāris|marts|aprīlis|maijs|jūnijs|jūlijs|augusts|septembris|"
        "oktobris|novembris|decembris",
        "svētdiena|pirmdiena|otrdiena|trešdiena|ceturtdiena|piektdiena|sestdiena",
        "Sv|Pr|Ot|Tr|Ce|Pk|Se",
    } },
    { "lt", {
        "sausio|vasario|kovo|balandžio|gegužės|birželio|liepos|rugpjūčio|rugsėjo|"
        "spalio|lapkričio|gruodžio",
        "Sausio|Vasario|Kovas|Balandis|Gegužė|Birželis|Liepa|Rugpjūtis|Rugsėjis|Spalis|"
        "Lapkritis|Gruodis",
        "Sau|Vas|Kov|Bal|Geg|Birž|Lie|Rgp|Rgs|Spa|Lap|Grd",
        "sekmadienis|pirmadienis|antradienis|trečiadienis|ketvirtadienis|penktadienis|"
        "šeštadienis",
        "Sek|Pir|Ant|Tre|Ket|Pen|Šeš",
    } },
    { "hu", {
        "január|február|március|április|május|június|július|augusztus|szeptember|"
        "október|november|december",
        NULL,
        "jan|febr|márc|ápr|máj|jún|júl|aug|szept|okt|nov|dec",
        "vasárnap|hétfő|kedd|szerda|csütörtök|péntek|szombat",
        "vas|hét|kedd|sze|csüt|pén|szo",
    } },
    { "ro", {
        "ianuarie|februarie|martie|aprilie|mai|iunie|iulie|august|septembrie|octombrie|"
        "noiembrie|decembrie",
        NULL,
        "ian|feb|mar|apr|mai|iun|iul|aug|sep|oct|nov|dec",
        "duminică|luni|marți|miercuri|joi|vineri|sâmbătă",
        "dum|lun|mar|mie|joi|vin|sâm",
    } },
    { "el", {
        "Ιανουάριος|Φεβρουάριος|Μάρτιος|Απρίλιος|"
        "Μάιος|Ιούνιος|Ιούλιος|Αύγουστος|Σεπτέμβριος|"
        "Οκτώβριος|Νοέμβριος|Δεκέμβριος",
        "Ιανουαρίου|Φεβρουαρίου|Μαρτίου|Απριλίου|"
        "Μαΐου|Ιουνίου|Ιουλίου|Αυγούστου|Σεπτεμβρίου|"
        "Οκτωβρίου|Νοεμβρίου|Δεκεμβρίου",
        "Ιαν|Φεβ|Μαρ|Απρ|Μαϊ|Ιουν|Ιουλ|Αυγ|Σεπ|Οκτ|Νοε|"
        "Δεκ",
        "Κυριακή|Δευτέρα|Τρίτη|Τετάρτη|Πέμπτη|"
        "Παρασκευή|Σάββατο",
        "Κυρ|Δευ|Τρι|Τετ|Πεμ|Παρ|Σαβ",
    } },
    { "tr", {
        "Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık",
        NULL,
        "Oca|Şub|Mar|Nis|May|Haz|Tem|Ağu|Eyl|Eki|Kas|Ara",
        "Pazar|Pazartesi|Salı|Çarşamba|Perşembe|Cuma|Cumartesi",
        "Paz|Pzt|Sal|Çrş|Prş|Cum|Cts",
    } },
    { "ar", {
        "يناير|فبراير|مارس|أبريل|مايو|يونيو|يوليو|"
        "أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر",
        NULL,
        "يناير|فبراير|مارس|أبريل|مايو|يونيو|يوليو|"
        "أغسطس|سبتمبر|أكتوبر|نوفمبر|ديسمبر",
        "الأحد|الإثنين|الثلاثاء|الأربعاء|الخميس|"
        "الجمعة|السبت",
        "أحد|اثنين|ثلاثاء|أربعاء|خميس|جمعة|سبت",
    } },
    { "fa", {
        "ژانویه|فوریه|مارس|آوریل|مه|ژوئن|ژوئیه|اوت|"
        "سپتامبر|اکتبر|نوامبر|دسامبر",
        "ژانویهٔ|فوریهٔ|مارس|آوریل|مهٔ|ژوئن|ژوئیهٔ|اوت|"
        "سپتامبر|اکتبر|نوامبر|دسامبر",
        "ژانویه|فوریه|مارس|آوریل|مه|ژوئن|ژوئیه|اوت|"
        "سپتامبر|اکتبر|نوامبر|دسامبر",
        "یکشنبه|دوشنبه|سه‌شنبه|چهارشنبه|پنجشنبه|جمعه|"
        "شنبه",
        "یکشنبه|دوشنبه|سه‌شنبه|چهارشنبه|پنجشنبه|جمعه|"
        "شنبه",
    } },
    { "he", {
        "ינואר|פברואר|מרץ|אפריל|מאי|יוני|יולי|אוגוסט|"
        "ספטמבר|אוקטובר|נובמבר|דצמבר",
        "בינואר|בפברואר|במרץ|באפריל|במאי|ביוני|ביולי|"
        "באוגוסט|בספטמבר|באוקטובר|בנובמבר|בדצמבר",
        "ינו'|פבר'|מרץ|אפר'|מאי|יוני|יולי|אוג'|ספט'|אוק'|"
        "נוב'|דצמ'",
        "ראשון|שני|שלישי|רביעי|חמישי|שישי|שבת",
        "א'|ב'|ג'|ד'|ה'|ו'|ש'",
    } },
    { "hi", {
        "जनवरी|फ़रवरी|मार्च|अप्रैल|मई|"
        "जून|जुलाई|अगस्त|सितम्बर|"
        "अक्टूबर|नवम्बर|दिसम्बर",
        NULL,
        "जन॰|फर॰|मार्च|अप्रै॰|मई|जून|"
        "जुला॰|अग॰|सित॰|अक्तू॰|नव॰|दिस॰",
        "रविवार|सोमवार|मंगलवार|बुधवार|"
        "गुरुवार|शुक्रवार|शनिवार",
        "रवि|सोम|मंगल|बुध|गुरू|शुक्र|शनि",
    } },
    { "bn", {
        "জানুয়ারি|ফেব্রুয়ারি|মার্চ|"
        "এপ্রিল|মে|জুন|জুলাই|আগস্ট|"
        "সেপ্টেম্বর|অক্টোবর|নভেম্বর|"
        "ডিসেম্বর",
        NULL,
        "জানু|ফেব্রু|মার্চ|এপ্রিল|মে|জুন|"
        "জুলাই|আগস্ট|সেপ্টে|অক্টো|নভে|"
        "ডিসে",
        "রবিবার|সোমবার|মঙ্গলবার|বুধবার|"
        "বৃহস্পতিবার|শুক্রবার|শনিবার",
        "রবি|সোম|মঙ্গল|বুধ|বৃহস্পতি|"
        "শুক্র|শনি",
    } },
    { "vi", {
        "tháng 1|tháng 2|tháng 3|tháng 4|tháng 5|tháng 6|tháng 7|tháng 8|tháng 9|"
        "tháng 10|tháng 11|tháng 12",
        "tháng Một|tháng Hai|tháng Ba|tháng Tư|tháng Năm|tháng Sáu|tháng Bảy|"
        "tháng Tám|tháng Chín|tháng Mười|tháng Mười một|tháng Mười hai",
        "tháng 1|tháng 2|tháng 3|tháng 4|tháng 5|tháng 6|tháng 7|tháng 8|tháng 9|"
        "tháng 10|tháng 11|tháng 12",
        "Chủ nhật|Thứ hai|Thứ ba|Thứ tư|Thứ năm|Thứ sáu|Thứ bảy",
        "Chủ nhật|Thứ 2|Thứ 3|Thứ 4|Thứ 5|Thứ 6|Thứ 7",
    } },
    { "id", {
        "Januari|Februari|Maret|April|Mei|Juni|Juli|Agustus|September|Oktober|November|"
        "Desember",
        NULL,
        "Jan|Feb|Mar|Apr|Mei|Jun|Jul|Ags|Sep|Okt|Nov|Des",
        "Minggu|Senin|Selasa|Rabu|Kamis|Jumat|Sabtu",
        "Min|Sen|Sel|Rab|Kam|Jum|Sab",
    } },
    { "ja", {
        "1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月",
        NULL,
        "1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月",
        "日曜日|月曜日|火曜日|水曜日|木曜日|金曜日|土曜日",
        "日|月|火|水|木|金|土",
    } },
    { "zh", {
        "1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月",
        NULL,
        "1月|2月|3月|4月|5月|6月|7月|8月|9月|10月|11月|12月",
        "星期日|星期一|星期二|星期三|星期四|星期五|星期六",
        "日|一|二|三|四|五|六",
    } },
    { "ko", {
        "1월|2월|3월|4월|5월|6월|7월|8월|9월|10월|11월|12월",
        NULL,
        "1|2|3|4|5|6|7|8|9|10|11|12",
        "일요일|월요일|화요일|수요일|목요일|금요일|토요일",
        "일|월|화|수|목|금|토",
    } },
    { "ca", {
        "gener|febrer|març|abril|maig|juny|juliol|agost|setembre|octubre|novembre|desembre",
        "de gener|de febrer|de març|d'abril|de maig|de juny|de juliol|d'agost|de setembre|"
        "d'octubre|de novembre|de desembre",
        "gen|feb|març|abr|maig|juny|jul|ago|set|oct|nov|des",
        "diumenge|dilluns|dimarts|dimecres|dijous|divendres|dissabte",
        "dg|dl|dt|dc|dj|dv|ds",
    } },
    { "eu", {
        "urtarrila|otsaila|martxoa|apirila|maiatza|ekaina|uztaila|abuztua|iraila|urria|azaroa|"
        "abendua",
        "urtarrilak|otsailak|martxoak|apirilak|maiatzak|ekainak|uztailak|abuztuak|irailak|"
        "urriak|azaroak|abenduak",
        "urt|ots|mar|Api|mai|eka|uzt|abu|ira|urr|aza|abe",
        "Igandea|Astelehena|Asteartea|Asteazkena|Osteguna|Ostirala|Larunbata",
        "Iga|Asl|Ast|Asz|Osg|Osr|Lar",
    } },
    { "gl", {
        "xaneiro|febreiro|marzo|abril|maio|xuño|xullo|agosto|setembro|outubro|novembro|"
        "decembro",
        NULL,
        "xan|feb|mar|abr|maio|xuñ|xul|ago|set|out|nov|dec",
        "domingo|luns|martes|mércores|xoves|venres|sábado",
        "dom|lun|mar|mér|xov|ven|sáb",
    } },
    { "eo", {
        "januaro|februaro|marto|aprilo|majo|junio|julio|aŭgusto|septembro|oktobro|novembro|"
        "decembro",
        NULL,
        "jan|feb|mar|apr|maj|jun|jul|aŭg|sep|okt|nov|dec",
        "dimanĉo|lundo|mardo|merkredo|ĵaŭdo|vendredo|sabato",
        "dim|lun|mar|mer|ĵaŭ|ven|sab",
    } },
    { "la", {
        "Ianuarius|Februarius|Martius|Aprilis|Maius|Iunius|Iulius|Augustus|September|October|"
        "November|December",
        "Ianuarii|Februarii|Martii|Aprilis|Maii|Iunii|Iulii|Augusti|Septembris|Octobris|"
        "Novembris|Decembris",
        "Ian|Feb|Mar|Apr|Mai|Iun|Iul|Aug|Sep|Oct|Nov|Dec",
        "dies Solis|dies Lunae|dies Martis|dies Mercurii|dies Iovis|dies Veneris|dies Saturni",
        "Sol|Lun|Mar|Mer|Iov|Ven|Sat",
    } },
    { "ltg", {
        "jaunagods mieness|svacainis mieness|pavasara mieness|sulu mieness|lopu mieness|"
        "vosorys mieness|sīna mieness|labeibys mieness|rudiņa mieness|leita mieness|"
        "solnys mieness|zīmys mieness",
        "jaunagods mieneša|svacainis mieneša|pavasara mieneša|sulu mieneša|lopu mieneša|"
        "vosorys mieneša|sīna mieneša|labeibys mieneša|rudiņa mieneša|leita mieneša|"
        "solnys mieneša|zīmys mieneša",
        "jaun.|svac.|pav.|sulu|lopu|vos.|sīna|lab.|rud.|leita|sol.|zīm.",
        "svātdīne|pyrmūdīne|ūtardīne|trešdīne|catūrtdīne|pīktdīne|sastdīne",
        "Sv|Pr|Ūt|Tr|Ct|Pt|St",
    } },
};
/* clang-format on */

static const struct calendar *find(const char *lang)
{
    for (size_t i = 0; i < sizeof calendars / sizeof *calendars; i++)
        if (!strcmp(calendars[i].lang, lang))
            return &calendars[i];
    return &calendars[0];
}

struct span calendar_name(const char *lang, enum calendar_kind kind, int index)
{
    const struct calendar *c = find(lang);
    const char *s = c->names[kind] ? c->names[kind] : c->names[CALENDAR_MONTH];
    for (; index > 0; index--)
        s = strchr(s, '|') + 1;
    return (struct span){ s, strcspn(s, "|") };
}

int calendar_has(const char *lang)
{
    return !strcmp(find(lang)->lang, lang);
}
