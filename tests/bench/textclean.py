"""textclean.py WHAT FILE COUNT: prints the MB/s of text, in processor time of one core, at which datatrove judges the first COUNT documents of
a file of JSON lines: WHAT is a set of rules of textclean filter, "all" of them, or "minhash", the signatures of near duplicates."""
import json
import sys
import time

from datatrove.data import Document
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.filters.c4_filters import C4ParagraphFilter, C4QualityFilter

SETS = {"repetition": GopherRepetitionFilter, "gopher": GopherQualityFilter, "c4": C4QualityFilter, "fineweb": FineWebQualityFilter,
        "mc4": C4ParagraphFilter}
what, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
lines = open(path, encoding="utf-8").readlines()[:count]
judges = [SETS[x]() for x in (SETS if what == "all" else [what] if what in SETS else [])]
signatures = MinhashDedupSignature("signatures", MinhashConfig())
signatures.get_shingles("The first call loads the words of the language.")
for judge in judges:
    judge.filter(Document(text="The first call loads the words of the language.", id=""))
size, begin = 0, time.process_time()
for line in lines:
    doc = Document(text=json.loads(line)["text"], id="")
    size += len(doc.text.encode())
    if what == "minhash":
        signatures.get_signature(signatures.get_shingles(doc.text))
    for judge in judges:
        if judge.filter(doc) is not True:
            break
print(size / (time.process_time() - begin) / 1e6)
