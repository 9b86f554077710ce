"""textclean.py PEER WHAT FILE COUNT: prints the MB/s of text, in processor time of one core, at which the peer judges the first COUNT documents
of a file of JSON lines. PEER is datatrove with WHAT a set of rules of textclean filter, "all" of them, or "minhash", the signatures of near
duplicates; or rensa or text-dedup with "minhash": 5 words, 112 hashes, as FineWeb has them."""
import json
import re
import sys
import time


def datatrove(what):
    from datatrove.data import Document
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
    from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
    from datatrove.pipeline.filters.c4_filters import C4ParagraphFilter, C4QualityFilter

    sets = {"repetition": GopherRepetitionFilter, "gopher": GopherQualityFilter, "c4": C4QualityFilter, "fineweb": FineWebQualityFilter,
            "mc4": C4ParagraphFilter}
    judges = [sets[x]() for x in (sets if what == "all" else [what] if what in sets else [])]
    signatures = MinhashDedupSignature("signatures", MinhashConfig())

    def judge(text):
        doc = Document(text=text, id="")
        if what == "minhash":
            signatures.get_signature(signatures.get_shingles(text))
        all(x.filter(doc) is True for x in judges)
    return judge


def rensa(_):
    from rensa import RMinHash

    def judge(text):
        words = re.findall(r"\w+", text.lower())
        signature = RMinHash(num_perm=112, seed=1)
        signature.update([" ".join(words[i : i + 5]) for i in range(len(words) - 4)])
        signature.digest()
    return judge


def text_dedup(_):
    import numpy
    from text_dedup.minhash import embed_func, xxh3_32hash

    prime, random = numpy.uint32(2**32 - 5), numpy.random.RandomState(1)
    permutations = [random.randint(least, prime, 112, dtype=numpy.uint32) for least in (1, 0)]

    def judge(text):
        embed_func(text, 0, num_perm=112, ngram_size=5, min_length=5, hashranges=[(8 * i, 8 * i + 8) for i in range(14)],
                   permutations=permutations, hash_func=xxh3_32hash, dtype=numpy.uint32, max_hash=numpy.uint32(2**32 - 1),
                   modulo_prime=prime)
    return judge


peer, what, path, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
lines = open(path, encoding="utf-8").readlines()[:count]
judge = {"datatrove": datatrove, "rensa": rensa, "text-dedup": text_dedup}[peer](what)
judge("The first call loads the words of the language.")
size, begin = 0, time.process_time()
for line in lines:
    text = json.loads(line)["text"]
    size += len(text.encode())
    judge(text)
print(size / (time.process_time() - begin) / 1e6)
