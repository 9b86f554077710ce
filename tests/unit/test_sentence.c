/* Where sentences end. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "wikiprep/sentence.h"

static struct buf out = BUF_INIT;

/* `expected` has '|' where a sentence ends and the next begins. */
static void check(const char *expected)
{
    struct buf text = BUF_INIT, want = BUF_INIT;
    for (const char *s = expected; *s; s++) {
        buf_addc(&want, *s == '|' ? '\n' : *s);
        if (*s != '|')
            buf_addc(&text, *s);
        else if ((unsigned char)s[-1] < 0x80 && (unsigned char)s[1] < 0x80)
            buf_addc(&text, ' ');
        else if ((unsigned char)s[1] < 0xE3) /* Chinese and Japanese have no space */
            buf_addc(&text, ' ');
    }
    buf_addc(&want, '\n');
    buf_clear(&out);
    sentence_split(&out, text.data, text.len);
    cr_expect_str_eq(out.data, want.data);
    buf_release(&text);
    buf_release(&want);
}

Test(sentence, plain)
{
    check("One sentence.|Another one!|A third?|No end");
    check("Hello World.|My name is Jonas.");
    check("What is your name?|My name is Jonas.");
    check("It ends.|\"Quoted,\" she said.|(In brackets.)|Next.");
    check("He said \"Stop!\"|Then he left.");
    check("\"Stop!\" he said, and left.");
    check("Really?!|Yes.");
}

Test(sentence, abbreviations)
{
    check("Dr. Smith met Mrs. Jones at St. Paul's.|They talked.");
    check("It was founded by J. R. R. Tolkien and C. S. Lewis.|He wrote it.");
    check("He moved to the U.S. Army in May.|He left the U.S.|The war went on.");
    check("See no. 5 of vol. 3, pp. 12.|He said no.|Then he left.");
    check("Fruit, e.g. Apples, i.e. Boskoop, cf. Pears.");
    check("Apples, pears, etc. are fruit.|Apples, pears, etc.|The rest is meat.");
    check("Microsoft Corp. of Redmond.|It is large.");
    check("Der Dichter, vgl. Goethe, lebte in Weimar.|Er war alt.");
    check("In 480 BC.|The Greeks won.|The history of art.|Museums show it.");
    check("It weighs 5 kg.|The price is high.");
}

Test(sentence, numbers_and_addresses)
{
    check("It is 3.14 m long.|Version 2.0.1 is out.");
    check("See www.example.org for more.|It has all.");
    check("The year was 1914.|War came.|In 2000 it ended.");
    check("1. First item of all.|And more.");
    check("Section 5.7.|A glossary.");
    check("It costs $5.|$6 is too much.");
}

Test(sentence, lower_case_goes_on)
{
    check("The firm Yahoo! was sold.|The band Wham! is old.");
    check("It was ca. 5 km. away and far.");
    check("He waited ... and waited.|He waited ...|Then he left.");
    check("Wait... what?|No.");
}

Test(sentence, other_scripts)
{
    check("これは文です。|次の文です。|「はい。」|と言った。");
    check("他来了！|她走了。|完了");
    check("Он жил в г. Москве.|Потом уехал.|Ёлка.");
    check("Élan vital.|Über alles.|Ça va.");
    const char *hindi = "यह वाक्य है। यह दूसरा है।";
    buf_clear(&out);
    sentence_split(&out, hindi, strlen(hindi));
    cr_expect_str_eq(out.data, "यह वाक्य है।\nयह दूसरा है।\n");
}

Test(sentence, paragraphs)
{
    const char *text = "One. Two.\nThree.\nFour. Five.";
    sentence_split_text(&out, text, strlen(text));
    cr_expect_str_eq(out.data, "One.\nTwo.\n\nThree.\n\nFour.\nFive.");
    sentence_split_text(&out, "", 0);
    cr_expect_str_eq(out.data, "");
}

Test(sentence, hostile_text_takes_linear_time)
{
    static const char *const pieces[] = { ".",  ". ", "A.", "a. A ", "(",   "\"",
                                          "! ", "x",  "。", "1. ",   "...A" };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT;
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i]);
        clock_t began = clock();
        buf_clear(&out);
        sentence_split(&out, text.data, text.len);
        cr_expect(clock() - began < 2 * CLOCKS_PER_SEC, "1 MiB of \"%s\" took long", pieces[i]);
        buf_release(&text);
    }
}
