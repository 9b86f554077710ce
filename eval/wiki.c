#include "eval/wiki.h"

#include <math.h>

#include "common/base/least.h"
#include "common/base/lines.h"
#include "common/base/log.h"
#include "common/files/archived.h"
#include "common/files/file.h"
#include "common/formats/kinds.h"
#include "eval/detokenize.h"
#include "eval/subject.h"
#include "unicode/whitespace.h"

/* ---- counting ------------------------------------------------------------------------------- */

uint64_t wiki_words(const char *s, size_t n)
{
    struct span text = whitespace_strip(s, n);
    uint64_t words = 1;
    for (size_t i = 0; i < text.n; i++)
        words += text.s[i] == ' ';
    return words;
}

uint64_t wiki_pieces(const char *s, size_t n)
{
    uint64_t pieces = 1;
    int inside = 0; /* 1: the last character was white space */
    for (size_t i = 0, width; i < n; i += width ? width : 1) {
        width = whitespace_at(s + i, n - i);
        pieces += width && !inside;
        inside = width != 0;
    }
    return pieces;
}

double wiki_token_ratio(const struct wiki_text *text)
{
    return (double)(text->tokens - 1) / (double)(text->words - 1);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Joins the lines, with their line ends, by two more, as the guide joins the rows of Hugging Face's
 * data set, in which blank lines are empty. */
static void join_lines(struct buf *text)
{
    struct buf joined = BUF_INIT;
    struct lines l = LINES_OF(text->data, text->len);
    while (lines_next(&l)) {
        if (l.number > 1)
            buf_adds(&joined, "\n\n");
        if (whitespace_strip(l.line, l.len).n)
            buf_add(&joined, l.line, (size_t)(l.at - l.line)); /* with its line end */
    }
    buf_release(text);
    *text = joined;
}

static void prepare(struct buf *page, enum wiki_detokenizer detokenizer)
{
    if (detokenizer == WIKI_WIKI)
        detokenize_wiki(page);
    else if (detokenizer == WIKI_PTB)
        detokenize_ptb(page);
    else if (detokenizer == WIKI_LINES)
        join_lines(page);
}

struct reading {
    enum wiki_rule rule;
    enum wiki_detokenizer detokenizer;
    const struct tokenizer *tokenizer;
    struct encoder *encoder;
    int64_t start; /* for the rule `words`: the token before a page */
    struct buf page;
};

static int encode_page(struct wiki_text *text, struct reading *r)
{
    if (r->rule == WIKI_MEGATRON)
        return encoder_encode(r->encoder, r->page.data, r->page.len, TOKENIZER_ORDINARY,
                              &text->ids);
    if (r->rule == WIKI_WORDS)
        ids_add(&text->ids, (uint32_t)r->start);
    return subject_encode(r->tokenizer, r->encoder, r->page.data, r->page.len, &text->ids);
}

static int add_page(struct wiki_text *text, struct reading *r, const char *s, size_t n)
{
    struct wiki_page page = { .begin = text->ids.count, .bytes = n };
    buf_set(&r->page, s, n);
    prepare(&r->page, r->detokenizer);
    if (encode_page(text, r) < 0)
        return -1;
    page.end = text->ids.count;
    text->bytes += n;
    text->words += r->rule == WIKI_WORDS ? wiki_pieces(s, n) : wiki_words(s, n);
    text->tokens += page.end - page.begin - (r->rule == WIKI_WORDS);
    mem_next(text->pages, text->count, text->cap) = page;
    return 0;
}

/* Returns 1 if the line s[0..n) is a page's title, " = Title = ", but not " = = Section = = "; else
 * 0. */
static int is_title(const char *s, size_t n)
{
    struct span line = whitespace_strip(s, n);
    return line.n >= 3 && !memcmp(line.s, "= ", 2) && !memcmp(line.s + line.n - 2, " =", 2) &&
           memcmp(line.s, "= =", 3) && memcmp(line.s + line.n - 3, "= =", 3);
}

/* Adds the pages of s[0..n), as lm-evaluation-harness's data set has them: without the line end
 * before the next page. */
static int add_pages(struct wiki_text *text, struct reading *r, const char *s, size_t n)
{
    struct lines l = LINES_OF(s, n);
    size_t begin = 0;
    while (lines_next(&l)) {
        const size_t at = (size_t)(l.line - s);
        if (!at || !is_title(l.line, l.len))
            continue;
        if (whitespace_strip(s + begin, at - 1 - begin).n &&
            add_page(text, r, s + begin, at - 1 - begin) < 0)
            return -1;
        begin = at;
    }
    return add_page(text, r, s + begin, n - begin);
}

static int encode(struct wiki_text *text, struct reading *r, const struct buf *data)
{
    if (r->rule == WIKI_WORDS && (r->start = subject_start(r->tokenizer)) < 0)
        return -1;
    if (r->rule == WIKI_WORDS && r->detokenizer == WIKI_WIKI)
        return add_pages(text, r, data->data, data->len);
    return add_page(text, r, data->data, data->len);
}

static int check_size(const struct wiki_text *text, const char *path, enum wiki_rule rule)
{
    uint64_t least = rule == WIKI_WORDS ? 1 : 2;
    if (text->bytes && text->tokens >= least)
        return 0;
    return err_set("nothing to score in '%s': %llu bytes and %llu tokens, at least %llu of each "
                   "are needed",
                   path, (unsigned long long)text->bytes, (unsigned long long)text->tokens,
                   (unsigned long long)least);
}

/* Reads a text. From a .zip file, as WikiText is published, it reads the test text wiki.test.*. */
static int read_text(const char *path, struct buf *data)
{
    SCOPED(buf) name = BUF_INIT;
    if (!file_ends_with(path, ".zip"))
        return file_read_any(path, data) < 0 ? -1 : kinds_check_whole(path, data);
    if (archived_extract(path, "wiki.test.", &name, data) < 0)
        return -1;
    log_info("%s: reading its file %s", path, name.data);
    SCOPED(buf) inner = buf_format("%s: %s", path, name.data);
    return kinds_check_whole(inner.data, data);
}

int wiki_read(struct wiki_text *text, const char *path, enum wiki_rule rule,
              enum wiki_detokenizer detokenizer, const struct tokenizer *t, struct encoder *e)
{
    SCOPED(buf) data = BUF_INIT;
    struct reading r = { rule, detokenizer, t, e, -1, BUF_INIT };
    if (detokenizer == WIKI_AUTO)
        r.detokenizer = rule == WIKI_STRIDED ? WIKI_LINES : WIKI_WIKI;
    *text = (struct wiki_text){ 0 };
    int result = read_text(path, &data);
    if (!result && kinds_is_jsonl(data.data, data.len))
        log_warn("%s: its JSON is scored as text, with keys and quotes", path);
    if (!result && encode(text, &r, &data) < 0)
        result = err_in("%s", path);
    if (!result)
        result = check_size(text, path, rule);
    buf_release(&r.page);
    if (result)
        wiki_release(text);
    return result;
}

void wiki_release(struct wiki_text *text)
{
    ids_release(&text->ids);
    free(text->pages);
    *text = (struct wiki_text){ 0 };
}

/* ---- windows -------------------------------------------------------------------------------- */

/* The position of scoring: the tokens of pages[page] before `done` have been scored or are not
 * targets. */
struct place {
    size_t page;
    int64_t done;
};

/* Returns the next window at p by the rule. The window's item is its page. Its mark is its weight:
 * the window adds its loss * weight / scored to the result. `length` is the most tokens in a row of
 * the model, `stride` the tokens between windows. Sets *fresh to the number of tokens by which
 * p->done moves on. */
static struct window window_at(const struct wiki_text *text, const struct place *p,
                               enum wiki_rule rule, int64_t length, int64_t stride, int64_t *fresh)
{
    const struct wiki_page *page = &text->pages[p->page];
    int64_t n = (int64_t)(page->end - page->begin), begin, end;
    if (rule == WIKI_WORDS) {
        end = smaller(p->done + length, n);
        begin = end > length ? end - length - 1 : 0;
    } else if (rule == WIKI_STRIDED) {
        begin = p->done ? p->done + stride - length : 0;
        end = smaller(begin + length, n);
    } else {
        begin = p->done == 1 ? 0 : p->done + stride - 1 - length;
        end = smaller(begin + length + 1, n);
    }
    *fresh = end - p->done;
    return (struct window){ .ids = text->ids.data + page->begin + begin,
                            .count = end - begin,
                            .scored = smaller(*fresh, end - begin - 1),
                            .item = p->page,
                            .mark = *fresh - (rule == WIKI_STRIDED) };
}

/* Sets *out to the next window with a weight above 0, and moves *p to its end. Returns 1, or 0 if
 * there is none. */
static int next_window(struct window *out, struct place *p, const struct wiki_text *text,
                       enum wiki_rule rule, int64_t length, int64_t stride)
{
    int64_t first = rule == WIKI_STRIDED ? 0 : 1; /* the first target of a page */
    for (; p->page < text->count; p->page++, p->done = first) {
        const struct wiki_page *page = &text->pages[p->page];
        int64_t n = (int64_t)(page->end - page->begin), fresh;
        while (p->done < n) {
            *out = window_at(text, p, rule, length, stride, &fresh);
            p->done += fresh;
            if (out->mark > 0)
                return 1;
        }
    }
    return 0;
}

static int score_group(struct wiki_score *score, struct scorer *s, struct wiki_text *text,
                       struct window *w, size_t n)
{
    if (score_windows(s, w, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const double weight = (double)w[i].mark, nll = w[i].loss * weight / (double)w[i].scored;
        text->pages[w[i].item].nll += nll;
        score->nll += nll;
        score->weight += weight;
        score->scored += (uint64_t)w[i].scored;
        score->right += (uint64_t)w[i].right;
        score->losses += w[i].loss;
        score->squares += w[i].squares;
    }
    return 0;
}

int wiki_score(struct wiki_score *score, struct scorer *s, struct wiki_text *text,
               enum wiki_rule rule, int64_t length, int64_t stride, void (*progress)(uint64_t done))
{
    enum { GROUP = 64 };
    int64_t group = larger(1, smaller(s->net.batch / length, GROUP)); /* windows in a batch */
    struct place p = { 0, rule == WIKI_STRIDED ? 0 : 1 };
    struct window w[GROUP];
    *score = (struct wiki_score){ 0 };
    for (size_t i = 0; i < text->count; i++)
        text->pages[i].nll = 0;
    for (;;) {
        size_t n = 0;
        while (n < (size_t)group && next_window(&w[n], &p, text, rule, length, stride))
            n++;
        if (!n)
            break;
        if (score_group(score, s, text, w, n) < 0)
            return -1;
        progress(score->scored);
    }
    return score->weight > 0 ? 0
                             : err_set("nothing to score: no window has a target with a token "
                                       "before it");
}

double wiki_bits_error(const struct wiki_text *text)
{
    double nll = 0, bytes = 0, sum = 0, n = (double)text->count;
    for (size_t i = 0; i < text->count; i++) {
        nll += text->pages[i].nll;
        bytes += (double)text->pages[i].bytes;
    }
    for (size_t i = 0; i < text->count; i++) {
        double off = text->pages[i].nll - nll / bytes * (double)text->pages[i].bytes;
        sum += off * off;
    }
    return text->count < 2 ? 0 : sqrt(sum * n / (n - 1)) / bytes / log(2);
}
