/*
 * rules.h - the rules of published filters: Gopher (Rae et al. 2021, appendix A), C4 (Raffel et al.
 * 2020), mC4 (Xue et al. 2021), FineWeb (Penedo et al. 2024).
 *
 * A rule is a row of a table: a name, a limit, and a function whose value must be at least or at
 * most the limit. Rules belong to sets. A document passes the sets in the order given, and the
 * rules of a set in the order of the table; the first rule that fails decides. The set c4 also
 * leaves out lines, so the sets after it see another text.
 */
#pragma once

#include "textclean/c4.h"
#include "textclean/features.h"

enum { RULES_MOST = 64, RULES_SETS = 5 };

/* The rules of a run. */
struct rules {
    double limits[RULES_MOST]; /* by number of the rule; NAN: the rule is off */
    int sets[RULES_SETS];      /* number of the first rule of each chosen set, in order */
    int set_count;
    const char *names[RULES_MOST];
    size_t count; /* rules in the table */
};

/* Sets the rules of `sets`, names with commas between them. The YAML file `path` changes their
 * limits (NAME: LIMIT, NAME: off) unless it is NULL, then changes[] (NAME=LIMIT, NAME=off). Returns
 * 0, or -1 with an error. */
int rules_set(struct rules *r, const char *sets, const char *path, const char *const *changes,
              size_t change_count);

/* Working memory for one thread. */
struct rules_tools {
    struct features features;
    struct c4_result c4;
    struct buf personal; /* for the caller: a text without addresses */
};
void rules_tools_init(void *ctx, void *tools); /* for struct flow; ctx is not used */
void rules_tools_release(void *tools);

/* Judges text[0..n). WORDS_PAD bytes after it must be readable. Returns the number of the rule that
 * failed, or -1 if none did. If a rule changed the text, t->features.text is the new one, of
 * t->features.n bytes. Adds to *lines the lines left out. */
int rules_judge(const struct rules *r, struct rules_tools *t, const char *text, size_t n,
                uint64_t *lines);

/* Sets values[0..r->count) to the values of text[0..n) for the rules whose limits can be learned,
 * and to NAN for others. The text is as in rules_judge. */
void rules_measure(const struct rules *r, struct rules_tools *t, const char *text, size_t n,
                   double *values);

/* Appends a line NAME: LIMIT (rules_set) for each rule that has values. These are from
 * rules_measure, for `count` texts. At most the share `tail` of the texts is beyond a limit.
 * Returns the number of limits. */
size_t rules_learn(const double *values, size_t count, double tail, struct buf *out);

/* Appends the table: name, limit and meaning of each rule. */
void rules_print(const struct rules *r, struct buf *out);
