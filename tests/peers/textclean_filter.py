"""textclean filter beside datatrove: the same verdict and the same rule for each document, set by set, and the same text from the rules of
C4. TEXTMILL_DOCUMENTS says how many documents are compared."""
import json
import os
import subprocess
import sys
import tempfile

try:
    from datatrove.data import Document
    from datatrove.pipeline.filters import FineWebQualityFilter, GopherQualityFilter, GopherRepetitionFilter
    from datatrove.pipeline.filters.c4_filters import C4ParagraphFilter, C4QualityFilter
    import spacy  # noqa: F401 (splits words for datatrove)
except ImportError:
    sys.exit(77)

from lib.noisy import documents
from lib.paths import DATA

if not os.path.isdir(os.path.join(DATA, "megatron")):
    sys.exit(77)

NAMES = {
    "gopher_short_doc": "gopher-min-words", "gopher_long_doc": "gopher-max-words", "gopher_below_avg_threshold": "gopher-min-mean",
    "gopher_above_avg_threshold": "gopher-max-mean", "gopher_too_many_hashes": "gopher-hashes",
    "gopher_too_many_ellipsis": "gopher-ellipses", "gopher_too_many_bullets": "gopher-bullets",
    "gopher_too_many_end_ellipsis": "gopher-cut-lines", "gopher_below_alpha_threshold": "gopher-letters",
    "gopher_enough_stop_words": "gopher-stop-words", "dup_para_frac": "repetition-paragraphs",
    "dup_para_char_frac": "repetition-paragraph-chars", "dup_line_frac": "repetition-lines",
    "dup_line_char_frac": "repetition-line-chars", "lorem_ipsum": "c4-lorem-ipsum", "curly_bracket": "c4-brace",
    "too_few_sentences": "c4-sentences", "line_punct_ratio": "fineweb-end-marks", "short_line_ratio": "fineweb-short-lines",
    "char_dup_ratio": "fineweb-repeated", "list_ratio": "fineweb-line-ends", "< 3 paragraphs": "mc4-long-lines", "": "",
}
NAMES.update({f"top_{n}_gram": f"repetition-top-{n}" for n in (2, 3, 4)})
NAMES.update({f"duplicated_{n}_n_grams": f"repetition-{n}" for n in range(5, 11)})
SETS = {"gopher": GopherQualityFilter, "repetition": GopherRepetitionFilter, "c4": C4QualityFilter, "fineweb": FineWebQualityFilter,
        "mc4": C4ParagraphFilter}


def theirs(judge, text):
    doc = Document(text=text, id="")
    try:
        verdict = judge.filter(doc)
    except ZeroDivisionError:
        return None, text
    reason = "" if verdict is True else verdict[1] if isinstance(verdict, tuple) else "?"
    if reason == "empty":
        return "empty", text
    return NAMES[reason], doc.text


texts = documents(int(os.environ.get("TEXTMILL_DOCUMENTS", "2000")))
failed = 0
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "in.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"n": i, "text": t}) + "\n" for i, t in enumerate(texts))
    for name, kind in SETS.items():
        lines = subprocess.run(["textclean", "filter", "-q", "--mark", "--rules", name, path], check=True, stdout=subprocess.PIPE).stdout
        ours = [json.loads(x) for x in lines.split(b"\n")[:-1]]
        assert len(ours) == len(texts), name
        judge, other, crashed, shown = kind(), 0, 0, 0
        for i, text in enumerate(texts):
            reason, cleaned = theirs(judge, text)
            if reason is None:
                crashed += 1
                continue
            mine = "empty" if ours[i]["textclean"].endswith("-empty") else ours[i]["textclean"]
            if mine != reason or (not reason and ours[i]["text"] != cleaned):
                other += 1
                if shown < 5:
                    shown += 1
                    print(f"  document {i}: {mine or 'kept'} here, {reason or 'kept'} there{'' if mine != reason else ', other text'}")
        print(f"{name}: {len(texts) - other} of {len(texts)} documents are judged alike ({crashed} divide by zero there)")
        failed |= other > len(texts) // 1000
sys.exit(failed)
