#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <textmill-tokenizer.h>

/* program VOCABULARY TEXT...: prints the ids and ranges of each text, and the decoded text. */
int main(int argc, char **argv)
{
    struct textmill_error why;
    struct textmill_tokenizer *t = textmill_open(argv[1], NULL, &why);
    for (int i = 2; i < argc && t; i++) {
        struct textmill_tokens tokens;
        struct textmill_texts back;
        uint64_t end = strlen(argv[i]);
        if (textmill_encode(t, argv[i], &end, 1, TEXTMILL_OFFSETS_BYTES, 0, &tokens, &why) < 0)
            break;
        for (uint64_t k = 0; k < tokens.ends[0]; k++)
            printf("%s%" PRIu32 ":%" PRIu32 "-%" PRIu32, k ? " " : "", tokens.ids[k],
                   tokens.offsets[k][0], tokens.offsets[k][1]);
        if (textmill_decode(t, tokens.ids, tokens.ends, 1, 0, 0, &back, &why) < 0)
            break;
        printf("\n%.*s\n", (int)back.ends[0], back.bytes);
        textmill_texts_free(&back);
        textmill_tokens_free(&tokens);
    }
    if (!t)
        puts(why.text);
    textmill_close(t);
    return 0;
}
