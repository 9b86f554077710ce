#include "eval/wiki.h"

#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "eval/detokenize.h"
#include "unicode/whitespace.h"

uint64_t wiki_words(const char *s, size_t n)
{
    struct span text = whitespace_strip(s, n);
    uint64_t words = 1;
    for (size_t i = 0; i < text.n; i++)
        words += text.s[i] == ' ';
    return words;
}

int wiki_read(struct wiki_text *text, const char *path, enum wiki_detokenizer detokenizer,
              struct encoder *e)
{
    struct buf data = BUF_INIT;
    *text = (struct wiki_text){ 0 };
    int result = file_read_any(path, &data);
    if (!result) {
        text->bytes = data.len;
        text->words = wiki_words(data.data, data.len);
        if (detokenizer == WIKI_WIKI)
            detokenize_wiki(&data);
        else if (detokenizer == WIKI_PTB)
            detokenize_ptb(&data);
        if (encoder_encode(e, data.data, data.len, TOKENIZER_ORDINARY, &text->ids) < 0)
            result = err_in("%s", path);
    }
    if (!result && (text->ids.count < 2 || text->words < 2))
        result = err_set(
            "nothing to score in '%s': %llu words and %zu tokens, at least 2 of each are needed",
            path, (unsigned long long)(data.len ? text->words : 0), text->ids.count);
    buf_release(&data);
    if (result)
        wiki_release(text);
    return result;
}

void wiki_release(struct wiki_text *text)
{
    ids_release(&text->ids);
}

double wiki_token_ratio(const struct wiki_text *text)
{
    return (double)(text->ids.count - 1) / (double)(text->words - 1);
}

/* The window whose first scored target is `done`; targets are numbered from 1, as the tokens. */
static struct window window_at(const struct wiki_text *text, int64_t done, int64_t length,
                               int64_t stride)
{
    int64_t n = (int64_t)text->ids.count;
    int64_t begin = done == 1 ? 0 : done + stride - 1 - length;
    int64_t count = n - begin < length + 1 ? n - begin : length + 1;
    return (struct window){ .ids = text->ids.data + begin,
                            .count = count,
                            .scored = begin + count - done };
}

int wiki_score(struct wiki_score *score, struct scorer *s, const struct wiki_text *text,
               int64_t length, int64_t stride, void (*progress)(uint64_t done))
{
    enum { GROUP = 64 };
    int64_t n = (int64_t)text->ids.count, group = s->net.rows / length; /* windows side by side */
    if (group > GROUP)
        group = GROUP;
    *score = (struct wiki_score){ .targets = (uint64_t)n - 1 };
    for (int64_t done = 1; done < n;) {
        struct window w[GROUP];
        size_t count = 0;
        for (; count < (size_t)group && done < n; done += w[count++].scored)
            w[count] = window_at(text, done, length, stride);
        if (score_windows(s, w, count) < 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            score->nll += w[i].loss;
            score->right += (uint64_t)w[i].right;
        }
        progress((uint64_t)done - 1);
    }
    return 0;
}
