/* Where sentences end. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/file.h"
#include "wikiprep/sentences/sentence.h"

static struct buf out = BUF_INIT;
static struct sentence_model *model;
static const char *model_lang = "";

static void speak(const char *lang)
{
    if (model && !strcmp(lang, model_lang))
        return;
    sentence_model_free(model);
    model = sentence_model_new(lang);
    model_lang = lang;
}

/* Splits the text of a line into sentences. In the line, '|' stands for the space between two
 * sentences and "/|" for a boundary without a space. Returns 1 if the boundaries are exactly there,
 * otherwise 0. */
static int is_split(const char *lang, const char *line)
{
    struct buf text = BUF_INIT, want = BUF_INIT;
    for (const char *s = line; *s; s++) {
        int touch = s[0] == '/' && s[1] == '|';
        s += touch;
        buf_addc(&want, *s == '|' ? '\n' : *s);
        if (!touch)
            buf_addc(&text, *s == '|' ? ' ' : *s);
    }
    buf_addc(&want, '\n');
    speak(lang);
    buf_clear(&out);
    sentence_split(model, &out, text.data, text.len);
    int same = !strcmp(out.data, want.data);
    buf_release(&text);
    buf_release(&want);
    return same;
}

static void check_in(const char *lang, const char *line)
{
    cr_expect(is_split(lang, line), "%s: '%s' is split so:\n%s", lang, line, out.data);
}

static void check(const char *line)
{
    check_in("en", line);
}

Test(sentence, plain)
{
    check("One sentence.|Another one!|A third?|No end");
    check("It ends.|\"Quoted,\" she said.|(In brackets.)|Next.");
    check("He said \"Stop!\"|Then he left.");
    check("\"Stop!\" he said, and left.");
    check("Really?!|Yes.");
    check("The text ends.[12]|The next.[citation needed][3]|Another.");
}

/* Lines that begin with '-' are known to be split wrongly. No other line may be, and each of these
 * must be. */
Test(sentence, rules_of_english)
{
    struct buf table = BUF_INIT;
    cr_assert(file_read("tests/data/sentences/rules-en.txt", &table) == 0, "%s", err_get());
    int rules = 0, held = 0;
    for (char *line = strtok(table.data, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#')
            continue;
        int known_wrong = *line == '-', right = is_split("en", line + known_wrong);
        rules++;
        held += right;
        cr_expect(right != known_wrong, "'%s' is split so:\n%s", line, out.data);
    }
    cr_expect(rules == 49 && held == 46, "%d of %d", held, rules);
    buf_release(&table);
}

Test(sentence, abbreviations)
{
    check("Dr. Smith met Mrs. Jones at St. Paul's.|They talked.");
    check("It was founded by J. R. R. Tolkien and C. S. Lewis.|He wrote it.");
    check("He moved to the U.S. Army in May.|He left the U.S.|The war went on.");
    check("Her Mus.B. Cambridge degree is from 1931.|See wiki.org.|Cambridge is far.");
    check("See no. 5 of vol. 3, pp. 12.|He said no.|Then he left.");
    check("Fruit, e.g. Apples, i.e. Boskoop, cf. Pears.");
    check("Apples, pears, etc. are fruit.|Apples, pears, etc.|The rest is meat.");
    check("Microsoft Corp. of Redmond.|It is large.");
    check("In 480 BC.|The Greeks won.|The history of art.|Museums show it.");
    check("It weighs 5 kg.|The price is high.");
    check("The case Marbury v. Madison of 1803.|It was the first.");
    check("The cases A, B and C.|Case D is rare, said W. A. and B. Hill.");
    check("I met J. Smith.|Today I saw A. Smith.|A new B. Brecht play.");
    check("They chose A and B.|Case C won.");
    check("II. The main part.|III. Another part.|Henry VIII.|The king.");
    check("Tim J. Smith left.|Jan A. P. Kaczmarek and Phil A. Smith met my ex J. Bell.");
    check("Most of vitamin D.|Not all of it.|He asked H. G. Wells.");
    check("The force is 6.4 MS.|Ms. Bell measured it.");
    check("It was Newton's.|Bell's came later.");
}

Test(sentence, numbers_and_addresses)
{
    check("It is 3.14 m long.|Version 2.0.1 is out.");
    check("See www.example.org for more.|It has all.");
    check("The year was 1914.|War came.|In 2000 it ended.");
    check("1. First item of all.|And more.");
    check("Section 5.7.|A glossary.");
    check("It costs $5.|$6 is too much.");
    check("It was in the top ten.|77% of them sold.");
    check("He sold them to Apple.|iPods came later.");
    check_in("nl", "De film won drie Oscars.|'s Avonds ging hij naar huis.|’t Was laat.");
    check_in("nl", "Hij vroeg of de 5 km. 's avonds kon.");
}

Test(sentence, lower_case_goes_on)
{
    check("The firm Yahoo! was sold.|The band Wham! is old.");
    check("It was ca. 5 km. away and far.");
    check("He waited ... and waited.|He waited ...|Then he left.");
    check("Wait... what?|No.");
    check("The album \"I Am... Anna\" sold.");
    check("The founder of Inc. – a magazine.");
}

Test(sentence, begins_in_lower_case)
{
    check("the pizza is not great.|if you want good pizza, go on.|it was mediocre.|we left.");
    check("What does it mean?|they never said.|It was great!!!|worth the ride.");
    check("The Dept. of Trade, the firm approx. in 1900, and Proc. of Chem. appeared.");
    check("The film Help! is old.|The film Who is Afraid? was shot (M.Sc. (tech.) and more).");
    check("\"It is late.\" he said.|(The rain had stopped.) and so on.");
    check_in(
        "it",
        "La chiesa è chiusa al culto.|il prospetto è a tre ordini (XVI secolo).|in essa si celebrava.");
    check_in("de", "Der ehem. Minister und der österr. und bayer. König kamen.|Sie gingen.");
    check_in("it", "La trad. di Rossi, ediz. de Il Sole, 3 voll. in folio.");
    check_in("ru", "Это было давно.|его никто не видел, ред. не установлен.");
}

Test(sentence, begins_with_a_dash)
{
    check_in("uk", "Це так.|– Що це?|— Ніщо! — сказав він.|— Ні.");
    check_in("pl", "Nie wiem.|- Tak?|- Nie - powiedział.|– Dobrze.");
    check_in("tr", "Nereden biliyorsun.|-Biliyorum.");
    check("The founder of Inc. – Foo is old.|\"I came, I saw.\" – Caesar");
    check("Directors: Airplane! – Jim Abrahams, Help! – Richard Lester");
    check_in("de", "Die Bahn in der Welt. – Wien: Gerold, 1854");
    check_in("ru", "Сочинения. — М. : Наука, 1985. — 320 с.");
    check_in("uk", "Буде 5 % (наступного року. — Ред.).|Це (багато?).|— Ні.");
}

Test(sentence, ellipses)
{
    check_in("pl", "To było dawno...|Janek wyszedł.|Powiedz... albo nie.");
    check_in("ru", "Он ушёл…|Москва спала.|И всё… тихо.");
    check("The album \"I Am... Anna\" sold.|It read 1... 2... 3… and 4… 5.");
    check("So be it...|Anna left.|He waited ... Anna left.|Never....|They left.");
    check_in("vi", "Họ đi rồi...|Trời mưa.");
    check_in("uk", "Це бабуся Оля...|Жінка встала.|Навчалася у Львові... 21 рік.");
}

Test(sentence, quotes_of_other_languages)
{
    check_in("de", "Er sagte: „Ich gehe.“|Dann ging er.|»Komm!«|Er kam.|‚Nein.‘|Sie blieb.");
    check_in("de", "Es war spät.|»Wir gehen«, sagte er.|„Gut“, sagte sie.");
    check_in("fr", "Il dit : « Oui. »|Puis il part.|« Non ! »|Elle reste.|« Bien », dit-il.");
    check_in("sv", "Det var sent.|”Vi går”, sa han.|”Bra.”|Hon gick.");
    check_in("uk", "Він сказав: «Не хочу. Втомився» тощо.|Тоді пішов.|«Так.|Хто?»|І пішов.");
    check_in("ru", "Он писал: «Прочёл «Войну и мир». Устал» и ушёл.|«Да.|Нет», — сказал он.");
    check_in("nl", "Ze won.|,,Het is goed.''|Toen ging ze.|,, Kom.|Ik twijfel. ''|Ze bleef.");
    check_in(
        "ko",
        "\"좋다. 가자\"라고 했다.|\"좋다.\" 라고 했다.|\"그래.\"|나는 갔다.|그는 (\"새\"라는) 말을 했다.");
    check_in("ko", "그는 “문제없어. 가자.” 하며 웃었다.|둘(\"하나\"와 셋)이다.");
    check("He knew.|``We stay'', he said.|`No', she said.");
    check("\" I am here . \"|He left .|\" You are not . \"|She stayed ."); /* tokenized */
}

Test(sentence, reference_marks_stay)
{
    check(
        "It is right. [12]|Then it ends.|It was right.[3] [note 4]|Now it is not. [b]|Next. [citation needed]");
    check("He nodded.|[The] man left.|She wrote. [...]|Nothing came.");
    check(
        "They have rights. 4|Even though it is so (Figure 1.6). 5|At the end.|The ride was short.|7 Swans came.");
    check(
        "This is known.1|We follow it.2,3|Here is more.12–14|The rest: version 1.1 We, fig.3 The, a.1 The.");
    check(
        "Of Ref. 12 and Eqn. 4.|See J. Phys. Chem. A and Suppl. Fig. 2.|A ref. is in Proc. Natl. Acad. Sci. USA.");
    check("The Etude Op. 10 No. 5 is hard.");
}

Test(sentence, emoticons)
{
    check("It was good. :)|We liked it! ;-)|All of it... :D");
    check("It was good. :( and short.|The rest: no. ;)x");
}

Test(sentence, signs_and_years)
{
    check("It costs approx. £5 in all.|He has more.|€5 is enough.");
    check("She was in Who Am I? (1998) and What a Widow! (1930).|(2001 was better.)");
}

Test(sentence, lists_in_a_line)
{
    check("a) Apples|b) Pears|c) Plums");
    check("1. Apples|2. Pears, as in 1. and 3. below|3. Plums");
    check("1. e4 e5 2. nf3");
}

Test(sentence, a_space_is_missing)
{
    check("The rain stops./|The road is wet.");
    check("The site Amazon.Com and Node.js exist.");
}

Test(sentence, other_languages)
{
    check_in("de", "Er kam am 3. Oktober 1990 an.|Es war kalt.");
    check_in("de", "König Friedrich II. August herrschte z. B. in Dresden.|Sein Sohn nicht.");
    check_in("de", "Der Dichter, vgl. Goethe, lebte in Weimar.|Er war alt.");
    check_in("de", "Er las das o. g. Buch.|Es gab Brot u. v. m.|Dann ging er.");
    check_in("fr", "Il lut J. Le Goff.|Le groupe B.|Le club gagne 5 m.|La Tour resta.");
    check_in("it", "Vide L. Di Caprio e G. Della Porta nel gruppo B.|La squadra vinse.");
    check_in("nl", "Hij sprak met J. De Vries en P. Van Dijk.|Het was plan B.|De man ging.");
    check_in("es", "Habló con A. Del Toro del grupo B.|La gente vino.");
    check_in("fr", "Le groupe B.|Les Bleus gagnent sans Alex.|Marie part.");
    check_in("it", "Gioca in Serie A.|La Juventus vince.|Serie B.|Lo Spezia vince.");
    check_in("es", "Grupo B.|Los Ángeles gana la Serie A.|La Juventus no.");
    check_in("nl", "Groep A.|Het Nederlandse elftal wint.");
    check_in("de", "Er wurde Dr. phil.|Danach siegte er 1990.|1. FC Köln.");
    check_in("pl", "Był lek. med. Janem.|Był lek. med.|Potem wyszedł.");
    check_in("pl", "Szkoła im. I Armii.|Pomógł im.|Potem wyszedł.");
    check_in("it", "Il gen. Dalla Chiesa fu ucciso.|Durò fino a gen.|Poi partì.");
    check_in("nl", "Hij sprak met gen. Van Heutsz.");
    check_in("fr", "Il vit le col. De Gaulle.|Il passa le col.|Il partit.");
    check_in("gl", "Iso é o que ten.|O rei marchou.");
    check_in("et", "See maksis 500 kr.|Ta ostis.");
    check_in("ru", "Он на р. Большая Нева.|О войне см. Первая мировая война.|Он действ. член АН.");
    check_in("uk", "Він дійсн. член НАН.|Він жив.");
    check_in("uk", "Казки, звичаї і т. д.|Леся пам'ятала.");
    check_in("el", "Ήρθαν ο Οστέρ κ. ά.|Σημαντικές μορφές λείπουν.");
    check_in("fr", "Le roi, i. e. Louis, vint : i. e. Louis.|La variable est x.|Dupont vint.");
    check_in("fr", "M. Le Brun est né vers 1650 av. J.-C. à Paris.|Il est mort.");
    check_in("es", "El Sr. López llegó a EE. UU. en mayo.|¿Qué hizo?|¡Nada!");
    check_in("it", "Il prof. Rossi vive a Roma.|È nato nel 1950.");
    check_in("ru", "Он жил в г. Москве.|Потом уехал.|Ёлка.");
    check_in("ru", "А. С. Пушкин родился в 1799 г.|Он умер в 1837 г. в Петербурге.");
    check_in("ru", "Он пошёл с А. Ивановым к Б. Петрову.");
    check_in("ru",
             "Умер в 1990 г. в Москве.|Родился в 1900 г.|Окончил школу в 1917 г.|Похоронен там.");
    check_in("es", "Conoció a J. Pérez, no A. López.|Vino.");
    check_in("cs", "Přišel s J. Novákem.|Odešel.");
    check_in("it", "Vennero Rossi ed A. Bianchi.");
    check_in("ru", "В 1990 г. Россия выросла.|О том А. Блок писал.|Случаи А и Б.|Случай В редок.");
    check_in("el", "Τι είναι;|Είναι ο κ. Παπαδόπουλος.|Ναι.");
    check_in("lv", "Vitamīni ir A un B.|Kalcijs ir minerāls.");
    check_in("el", "Το 500 π.Χ.|Η Ρώμη μεγάλωσε.|Πόλεις, π.χ. Αθήνα, π.χ. η Πάτρα.");
    check_in("pl", "W XVI w. Polska była duża.|W 1990 r. Polska była wolna.");
    check_in("", "Élan vital.|Über alles.|Ça va.");
    check_in("de", "Dr. phil. Hans Meier und Dr. med. Müller von der Fa. Bär kamen.|Tel. 555.");
    check_in("de", "Sie ging in die Hauptstr. 5.|Er wohnt in der Hauptstr.|Sie auch.");
    check_in("fr", "MM. Dupont et Durand, p. ex. Durand.|C'est son ex.|Elle rit.|Tél. 01 02.");
    check_in("es", "Los JJ. OO. de Atenas y las FF. AA.|Ahora, p. ej. Juan va a Bs. As. en tren.");
    check_in("tr", "Yrd. Doç. Dr. Ali, Arş. Gör. Can ve Op. Dr. Veli geldi.|Bu bir gen.|Bu iyi.");
    check_in("ru", "Нар. арт. СССР живёт на наб. Невы.|Стоит 5 млрд.|Он купил.");
    check_in("vi", "Nxb. Trẻ và NXB. Kim.|GS. TSKH. Nam đến.");
    check_in("ru", "Он помог им.|Потом они ушли из школы им. Пушкина.|Это был груз.|Он вёз его.");
    check_in("be", "Ён дапамог ім.|Потым пайшоў на завод ім. Леніна.");
    check_in("uk", "Це новий вид.|Він рідкісний.|У слові п'ять букв.|Це слово.");
    check_in("pl", "Pomógł im.|Potem wyszedł do szkoły im. Jana.|To nowy lek.|Jest dobry.");
    check_in("ca", "No en té cap.|Després va pujar al col.|Era tard, cap. Pere.");
    check_in("fr", "Il passa le col.|Il vit le col. Dupont.");
    check_in("pt", "Ele tem um dom.|Ele veio com a ex.|Ela riu, p. ex. Ana.");
    check_in("ro", "Așa este acest gen.|El a venit cu gen. Popescu.");
    check_in("sl", "Ne poznam ga.|Potem je prišla ga. Novak.");
    check_in("de", "Er tut, was er mag.|Sie auch.|Mag. Huber kam mit Max.|Es sind max. 5 Leute.");
    check_in("tr", "Bunu gör.|Sonra gel.|Bu bir av.|Sonra av. Ali geldi.");
    check_in("da", "Han besøgte sin fru.|Det var sent.|Han er lat.|Det er dårligt.");
    check_in("nb", "Han møtte en fru.|Det var sent.");
    check_in("sv", "Han såg sin fru.|Det var sent.");
    check_in("nl", "Hij sprak met de pater.|Dit is een gen.|Het is klein.|Gen. Patton kwam.");
    check_in("fr", "La ville compte 1 200 hab.|Elle est belle, env. 5 hab. par km.");
    check_in("de", "Es gab Brot, Wein u.a.|Die Stadt war arm.|Er las u.a. Goethe.");
    check_in("ru", "Длина 5 см.|Она мала, см. Иванов.|Он купил за 5 р.|Потом уплыл по р. Волга.");
    check_in("sr", "Рођен је 1990. г.|Он је писац.|Дошао је г. Петровић.");
    check_in("it", "Il gen. Graziani partì.|Durò 5 min.|Poi finì.");
    check_in("hr", "To je gen.|To je istina.|Gen. Jović je došao.");
    check_in("et",
             "Hr. Tamm sündis 24. veebruaril 1918. a. Tallinnas.|Õunad jne.|Ta läks u. 5 km.");
    check_in("lt", "1990 m. Lietuva tapo laisva.|Gimė 1990 m.|Jis gyveno Vilniaus g. 5.");
    check_in("lv",
             "Āboli utt.|Viņš dzīvoja 20. gs. Latvijā, sk. lpp. 5.|Tas bija 20. gs.|Viņa nebija.");
    check_in("id",
             "Ir. Soekarno dan Hj. Siti di Jl. Sudirman No. 5.|Apel, dll.|Dia di PT. Telkom.");
    check_in("ms", "En. Ali bekerja di Maju Sdn. Bhd.|Dia pergi.|Jln. Ampang No. 5.");
    check_in("gl", "O Sr. López viviu nos EE. UU., p. ex. Ana.|El marchou, páx. 5.");
    check_in("eu", "K. a. 500. urtean jaio zen.|Dr. Garate 1990. urtean joan zen.");
    check_in("tr", "Elma, armut vb.|Daha sonra gitti.|Elma vb. meyveler aldı.");
    check_in("ru", "Яблоки и т. д.|Потом он ушёл.|Пушкин и др.|Он ушёл в д. Ивановка и др. сёла.");
    check_in("uk", "Це було в 1990 р.|Після цього він поїхав над р. Дніпро.");
    check_in("cs", "Přišel Jan Novák, CSc.|V roce 1990 odešel.");
    check_in("ro", "Mere, pere ș.a.|În 500 d.Hr. Roma era mare.|În 600 d.Hr.|În Roma.");
    check_in("hu", "Alma, körte stb.|Ezután elment.|Alma stb. is van.");
    check_in("fi", "Omenat ym.|Hän lähti.|Omenat ym. hedelmät.");
    check_in("sv", "Han, hon m.fl.|Det var så.|Han m.fl. personer kom.");
    check_in("eo", "Pomoj, piroj ktp.|La viro iris.|Pomoj ktp. estas bonaj.");
}

Test(sentence, other_scripts)
{
    check_in("ja", "これは文です。/|次の文です。/|「はい。」と言った。/|終わり。");
    check_in("zh", "“不行！”，他喊道。/|他问“为什么？”，没人答。/|“是。”、“不。”他说。");
    check_in("zh", "他来了！/|她走了。/|“好。”他说。/|（他不说。）/|她说：“好。”/|完了");
    /* brackets hold a sentence together */
    check_in(
        "zh",
        "王某（？－1234年）是人。/|他拍了《你是谁？》和《我是谁？》等。/|（好吗？）/|“来。走吧！”他说。");
    check_in(
        "ja",
        "学会（米国の学会。LSA）は古い。/|「誰だ！お前は。」と言った。/|「クイズ!王」を見た。");
    check_in("ja", "「終わらない。/|文です（？/|と思う。/|終");
    check_in("hi", "यह वाक्य है।|यह दूसरा है।|\"कौन?\" उसने कहा।|\"मैं.\"|\"तुम?\"");
    check_in("ar", "ما هذا؟|هذا كتاب.|انتهى.");
    check_in("ur", "یہ کتاب ہے۔|وہ قلم ہے۔");
    check_in("ur", "1۔ پہلا باب ہے۔|ڈاکٹر ا۔ ب۔ خان 500 ق۔م۔ میں آئے۔|پھر گیا۔۔۔|وہ آیا۔");
    check_in("hy", "Սա գիրք է։|Նա եկավ:|Ընկ. Ավագյանը եկավ ժ. 3:30-ին։|Նա գնաց...|Վերջ:");
    check_in("ja", "すごい!/|次です?/|はい。/|『けいおん!』の曲。/|けいおん！の曲。");
    check_in("he", "הוא בא ביום ד.|היא אמרה (באמת?) אחרת.|הוא מ-ג-מ.|\"כן\", אמר, \"זה...\".|כך.");
    check_in("he", "הוא גר בארה\"ב.|היא גרה בחו״ל.|הוא אמר \"א. לוי\" ובא.");
    check_in("he", "הוא בא ל-IBM.\u200F|היא (Eve).\u200F|מי?\u200F|ד\"ר.");
    check_in("fa", "این خانه\u200Cی.|بعد رفت.");
    check_in("si", "එය සත්\u200Dය.|ඔහු ගියේය.");
    check_in("ar", "ولد عام 1990 م.|ثم درس عند د. أحمد عام 1400 هـ.|وكان طبيبا.");
    check_in("fa", "او در ۱۹۹۰ م. زاده شد.|در ۱۳۵۰ ه.ش. به تهران آمد، تا ۲۰۰۰ م.|سپس رفت.");
    check_in("hi", "१. पहली बात है।|२. दूसरी है।");
    check_in("sa", "धर्मक्षेत्रे कुरुक्षेत्रे ।|किमकुर्वत संजय ॥१॥|संजय उवाच ॥ १.२ ॥|दृष्ट्वा ।। 2-3 ।।|एवम्।");
    check_in("hi", "वह आया।|१९४७ में गया।|२ आए।");
    check_in("ar", "١. الأول هنا.|٢. الثاني هناك.");
    check_in("hi", "डॉ. राम और प्रो. श्याम आए।|जी. एस. टी. लागू है।");
    check_in("hi", "वह 5 कि. मी. दूर है।|रु. 500 है।|ई. पू. 500 में स्व. राम आए।|उ. प्र. में है।");
    check_in("ko", "그는 1990. 5. 3. 서울에서 갔다.|다음 날 왔다.");
    check_in("hu", "Született 1990. 10. 23-án.|Budapesten élt 1990.|Ezután elment.");
    check_in("te", "డా. రాజు వచ్చారు.|ఎన్. టి. రామారావు క్రీ. పూ. 500 లో రూ. 500 ఇచ్చారు.");
    check_in("kn", "ಡಾ. ರಾಜ್ ಬಂದರು.|ಎಸ್. ಎಲ್. ಭೈರಪ್ಪ ರೂ. 500 ಕೊಟ್ಟರು.");
    check_in("ml", "ഡോ. രാജു വന്നു.|എം. ടി. വാസുദേവൻ രൂ. 500 തന്നു.");
    check_in("gu", "ડૉ. રાજુ આવ્યા.|પી. ટી. ઉષા રૂ. 500 લાવ્યા.");
    check_in("mr", "तो 5 कि. मी. दूर रु. 500 देऊन ता. पुणे येथे गेला.|मग आला.");
    check_in("ta", "ரூ. 500 கொடுத்தான்.|பக். 5 பார்.");
    check_in("ka", "წმ. ნინო მოვიდა.|აკ. წერეთელი.|ტელ. 5.");
    check_in("bn", "ডা. করিম ও মো. আলী (রহ.) এলেন।|এস. এম. সুলতান ২০০০ খ্রি. আঁকেন।");
    check_in("ta", "எம். ஜி. ஆர். வந்தார்.|மு. கருணாநிதி போனார்.");
    check_in("th", "ดร. สมชาย และ นพ. วิชัย เดิน 5 กม. จาก บจก. ก");
    check_in("be", "Ён жыў у г. Мінску да 1990 г.|У 1991 г. пераехаў, напр. Антокаль.|Яна не.");
    check_in("mr", "पु. ल. देशपांडे आले.|डॉ. आंबेडकर आणि के. बी. हेडगेवार गेले.");
    check_in("az", "Prof. Əliyev b.e.ə. III əsri və s. Misalları yazdı.|O, Bakı ş. Mərkəzindədir.");
    check_in("ka", "ქ. თბილისში, მაგ. დაახ. 100 სახლი იყო.|ის ძვ. წ. 500 წელს აშენდა.");
    check_in("kk", "Қ. Сәтбаев 1899 ж. Павлодарда туған.|Ол проф. Ахметовтың ұстазы.");
    check_in("vi", "Ông ở TP. HCM.|Ơn trời.|Ở đây.");
    check_in("am", "ይህ መጽሐፍ ነው።|እሱ መጣ።");
    check_in("my", "စာအုပ်။|ဖတ်။");
    check_in("ka", "ეს წიგნია.|ის მოვიდა.");
    check_in("sat", "ᱱᱚᱣᱟ ᱯᱩᱛᱷᱤ ᱾|ᱩᱱᱤ ᱦᱮᱡ ᱮᱱᱟ ᱾");
    check_in("bn", "দাম ৩.৫০ টাকা।|২টি বই আছে।");
    check_in("el", "Τέλος.|Ἀρχή.|Ὅμηρος λ.χ. ἔγραψε.");
    check_in("km", "សៀវភៅ។|អាន។ល។|ប៊ិច។");
    check_in("am", "ይህ መጽሐፍ ነው፡፡|እሱ፡ መጣ፡፡/|ሄደ፡፡");
    check_in("bo", "ཡུལ་ཞིག་ཡིན། །/|གཉིས་པ། །|གསུམ་པ།|བཞི་པ། །");
    check_in("mni", "ꯂꯥꯏꯔꯤꯛ ꯑꯃꯅꯤ꯫|ꯂꯥꯈꯤ꯫");
    check_in("nqo", "ߒ ߣߊ߬ߣߊ߬߹|ߌ ߕߊ߯ߣߊ߬.");
}

Test(sentence, paragraphs)
{
    const char *text = "One. Two.\nThree.\nFour. Five.";
    speak("en");
    sentence_split_text(model, &out, text, strlen(text));
    cr_expect_str_eq(out.data, "One.\nTwo.\n\nThree.\n\nFour.\nFive.");
    sentence_split_text(model, &out, "", 0);
    cr_expect_str_eq(out.data, "");
}

Test(sentence, hostile_text_takes_linear_time)
{
    static const char *const pieces[] = { ".",       ". ",       "A.",     "a. A ",    "(",
                                          "\"",      "! ",       "x",      "。",       "1. ",
                                          "...A",    " .",       "[.",     "1. A 2. ", "• ",
                                          "• a. A ", "a.b",      ". \" ",  ". » ",     ". - ",
                                          ". -",     ". 1 The ", ". [1] ", "a. a ",    "«. A ",
                                          ". :) ",   "A a A. ",  "가. ",   ". 가\"",   ". 가” " };
    speak("en");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT;
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i]);
        clock_t began = clock();
        buf_clear(&out);
        sentence_split(model, &out, text.data, text.len);
        cr_expect(clock() - began < 2 * CLOCKS_PER_SEC, "1 MiB of \"%s\" took long", pieces[i]);
        buf_release(&text);
    }
}

/* ---- models --------------------------------------------------------------------------------- */

Test(sentence_model, built_in_tables_are_right)
{
    for (size_t i = 0; i < sentence_data_count; i++) {
        const struct sentence_data *d = &sentence_data[i];
        struct sentence_model *m = sentence_model_new("");
        cr_expect(sentence_model_parse(m, d->text, strlen(d->text), d->lang) == 0, "%s", err_get());
        sentence_model_free(m);
    }
    struct sentence_model *en = sentence_model_new("en-simple");
    cr_expect(sentence_model_word(en, "the", 3) == SENTENCE_OPENER);
    cr_expect(sentence_model_word(en, "thx", 3) == 0);
    sentence_model_free(en);
}

Test(sentence_model, refuses_what_is_no_table)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        { "", "'x' is not a sentence model: it is empty" },
        { "abbreviation dr\n",
          "'x' is not a sentence model: its first line is not 'textmill sentences 1'" },
        { "textmill sentences 2\n",
          "'x' is not a sentence model: its first line is not 'textmill sentences 1'" },
        { "textmill sentences 1\nabbreviation\n", "'x': line 2 has no words" },
        { "textmill sentences 1\n# nothing\n\nabbreviations dr\n",
          "'x': line 4 begins with 'abbreviations', which is not a keyword" },
        { "textmill sentences 1\npair dr\n", "'x': line 2: 'pair' needs two words" },
        { "textmill sentences 1\nordinals yes\n", "'x': line 2: 'ordinals' must stand alone" },
        { "textmill sentences 1\nquestion\n", "'x': line 2: 'question' needs one ASCII character" },
        { "textmill sentences 1\nend :;\n", "'x': line 2: 'end' needs one ASCII character" },
        { "textmill sentences 1\npause ։\n", "'x': line 2: 'pause' needs one ASCII character" },
        { "textmill sentences 1\nopener a aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeee\n",
          "'x': word 2 of line 2 is longer than 48 bytes" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sentence_model *m = sentence_model_new("");
        cr_expect(sentence_model_parse(m, bad[i].text, strlen(bad[i].text), "x") == -1);
        cr_expect_str_eq(err_get(), bad[i].error);
        sentence_model_free(m);
    }
}

Test(sentence_model, marks)
{
    const char *table = "textmill sentences 1\nend :\nend |\npause .\n";
    struct sentence_model *m = sentence_model_new("");
    cr_assert(sentence_model_parse(m, table, strlen(table), "x") == 0);
    const char *text = "One: Two. Three| Four... Five: six";
    buf_clear(&out);
    sentence_split(m, &out, text, strlen(text));
    cr_expect_str_eq(out.data, "One:\nTwo. Three|\nFour...\nFive: six\n");
    sentence_model_free(m);
}

Test(sentence_model, adds_to_the_built_in)
{
    const char *table =
        "textmill sentences 1\nabbreviation xyz\nopener foo\npair xyz the\nquestion ;\n";
    struct sentence_model *m = sentence_model_new("en");
    cr_assert(sentence_model_parse(m, table, strlen(table), "x") == 0);
    const char *text = "An xyz. Foo is. An xyz. The one; It is. An xyz. A bar.";
    buf_clear(&out);
    sentence_split(m, &out, text, strlen(text));
    cr_expect_str_eq(out.data, "An xyz.\nFoo is.\nAn xyz. The one;\nIt is.\nAn xyz.\nA bar.\n");
    sentence_model_free(m);
}
