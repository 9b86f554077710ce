#include "wikiprep/sentences_command.h"

#include "common/file.h"
#include "common/tool.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/sentences/sentence_train.h"

static const char *language = "en", *model_path, *train_path;

const struct opt sentences_command_options[] = {
    { 0, "language", OPT_TEXT, &language, "CODE", "language code of the text", 0, 0 },
    { 0, "sentence-model", OPT_TEXT, &model_path, "FILE",
      "more abbreviations and sentence openers for this language", 0, 0 },
    { 0, "train-sentences", OPT_TEXT, &train_path, "FILE",
      "write no text; learn a --sentence-model from the input into "
      "FILE",
      0, 0 },
    { 0 },
};

/* Each line of the file to the trainer, or its sentences and a blank line to `out`. */
static int read_paragraphs(const char *path, const struct sentence_model *m,
                           struct sentence_trainer *t, struct output *out)
{
    struct input in;
    struct buf split = BUF_INIT;
    char *line;
    size_t n;
    int got = input_open(&in, path);
    if (got < 0)
        return -1;
    while ((got = input_line(&in, &line, &n)) > 0) {
        tool_count("paragraphs", n > 0);
        if (t) {
            sentence_trainer_add(t, line, n);
            continue;
        }
        buf_clear(&split);
        sentence_split(m, &split, line, n);
        if (split.len)
            buf_addc(&split, '\n');
        if (output_write(out, split.data, split.len) < 0) {
            got = -1;
            break;
        }
    }
    input_close(&in);
    buf_release(&split);
    return got;
}

int sentences_command(int argc, char **argv)
{
    struct output out = { 0 };
    if (train_path && tool_may_replace(train_path, NULL, NULL) < 0)
        return -1;
    struct sentence_model *m = sentence_model_new(language);
    struct sentence_trainer *t = train_path ? sentence_trainer_new() : NULL;
    int result = model_path ? sentence_model_read(m, model_path) : 0;
    if (!result && !t)
        result = output_open(&out, "-");
    for (int i = 0; i < argc + !argc && !result; i++)
        result = read_paragraphs(argc ? argv[i] : "-", m, t, &out);
    if (t)
        result = result ? result : sentence_trainer_write(t, train_path);
    else if (!result)
        result = output_close(&out);
    else
        output_abandon(&out);
    sentence_model_free(m);
    sentence_trainer_free(t);
    return result;
}
