#include "eval/squad_report.h"

/* Appends a mean called PREFIXNAME, and its standard error. */
static void report_both(struct report *r, const char *prefix, const char *name, double mean,
                        double error)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    report_exact(r, key, mean);
    snprintf(key, sizeof key, "%s%s_stderr", prefix, name);
    report_real(r, key, error);
}

static void report_figures(struct report *r, const char *prefix, const struct squad_figures *f)
{
    char key[32];
    report_both(r, prefix, "exact", f->exact, f->exact_error);
    report_both(r, prefix, "f1", f->f1, f->f1_error);
    snprintf(key, sizeof key, "%stotal", prefix);
    report_count(r, key, f->total);
}

void squad_report_data(struct report *r, const char *path, const struct squad *s)
{
    report_text(r, "file", path);
    report_count(r, "paragraphs", s->paragraph_count);
    report_count(r, "questions", s->question_count);
    report_count(r, "unanswerable", s->unanswerable);
    report_count(r, "repeated_ids", s->repeated_ids);
    report_count(r, "empty_paragraphs", s->empty_paragraphs);
    report_count(r, "answers_in_place", s->fits[SQUAD_IN_PLACE]);
    report_count(r, "answers_by_utf16", s->fits[SQUAD_UTF16]);
    report_count(r, "answers_by_bytes", s->fits[SQUAD_BYTES]);
    report_count(r, "answers_moved", s->fits[SQUAD_MOVED]);
    report_count(r, "answers_nowhere", s->fits[SQUAD_NOWHERE]);
}

void squad_report_score(struct report *r, const struct squad_score *score, int v2, int thresholds)
{
    report_count(r, "missing", score->missing);
    report_count(r, "unknown", score->unknown);
    if (!v2) {
        report_both(r, "", "exact_match", score->all.exact, score->all.exact_error);
        report_both(r, "", "f1", score->all.f1, score->all.f1_error);
        return;
    }
    report_figures(r, "", &score->all);
    if (score->has_answer.total)
        report_figures(r, "HasAns_", &score->has_answer);
    if (score->no_answer.total)
        report_figures(r, "NoAns_", &score->no_answer);
    if (thresholds) {
        report_exact(r, "best_exact", score->best_exact.score);
        report_exact(r, "best_exact_thresh", score->best_exact.threshold);
        report_exact(r, "best_f1", score->best_f1.score);
        report_exact(r, "best_f1_thresh", score->best_f1.threshold);
    }
}

void squad_report_windows(struct report *r, const struct squad_windows *w)
{
    report_count(r, "windows", w->count);
    report_count(r, "cut_questions", w->cut_questions);
}

void squad_report_best(struct report *r, struct span question, const struct squad_best *best,
                       int odds)
{
    report_text_n(r, "question", question.s, question.n);
    report_text_n(r, "answer", best->text.s, best->text.n);
    report_count(r, "begin", best->begin);
    report_count(r, "end", best->end);
    report_real(r, "score", best->score);
    report_real(r, "probability", best->probability);
    if (odds)
        report_real(r, "null_odds", best->null_odds);
}
