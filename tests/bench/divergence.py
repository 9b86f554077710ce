"""divergence.py A B: prints the mean Kullback-Leibler divergence, in nats, of the next token's probabilities in file B
from those in file A. Each file is the output of `generate --length 1 --logprobs N --json`, where N is the size of the
vocabulary."""
import json
import math
import sys


def distributions(path):
    with open(path) as file:
        for line in file:
            top = json.loads(line)["logprobs"][0]["top"]
            yield {token["id"]: token["logprob"] for token in top}


sums = []
for p, q in zip(distributions(sys.argv[1]), distributions(sys.argv[2]), strict=True):
    sums.append(math.fsum(math.exp(p[i]) * (p[i] - q[i]) for i in p))
print(math.fsum(sums) / len(sums))
