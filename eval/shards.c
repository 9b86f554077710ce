#include "eval/shards.h"

int shards_score(struct shards_score *score, struct scorer *s, struct dataset *d, int64_t length,
                 uint64_t sequences, void (*progress)(uint64_t done))
{
    uint64_t vocabulary = (uint64_t)s->net.model.config.vocabulary;
    uint64_t group = (uint64_t)(s->net.rows / length); /* sequences in a batch */
    SCOPED_MEM uint32_t *ids = mem_zalloc(group * (uint64_t)(length + 1), sizeof *ids);
    SCOPED_MEM int32_t *labels = mem_zalloc(group * (uint64_t)length + 1, sizeof *labels);
    SCOPED_MEM struct window *w = mem_zalloc(group, sizeof *w);
    int result = 0;
    *score = (struct shards_score){ 0 };
    while (!result && score->sequences < sequences) {
        uint64_t n = sequences - score->sequences < group ? sequences - score->sequences : group;
        for (uint64_t i = 0; i < n && !result; i++) {
            uint32_t *at = ids + i * (uint64_t)(length + 1);
            int32_t *own = labels + i * (uint64_t)length;
            w[i] = (struct window){
                .ids = at, .count = length + 1, .scored = length, .labels = own
            };
            result = dataset_read(d, score->sequences + i, at, own) < 0
                         ? -1
                         : dataset_check(d, score->sequences + i, at, vocabulary);
        }
        if (!result && score_windows(s, w, n) < 0)
            result = err_in("sequence %llu or one soon after it",
                            (unsigned long long)score->sequences);
        for (uint64_t i = 0; i < n && !result; i++) {
            score->nll += w[i].loss;
            score->squares += w[i].squares;
            score->right += (uint64_t)w[i].right;
            score->targets += (uint64_t)w[i].targets;
        }
        score->sequences += n;
        progress(score->sequences * (uint64_t)length);
    }
    if (!result && !score->targets)
        return err_set("no token of the %llu sequence(s) is a label: nothing to score",
                       (unsigned long long)score->sequences);
    return result;
}
