"""encode.py PEER VOCABULARY TEXT [THREADS]: prints the MB/s at which the peer encodes the text, and at which it decodes
the ids if it can. Without THREADS the time is the processor time of one thread, else the wall clock time with THREADS
threads. VOCABULARY is a folder with GPT-2's and BERT's files, or a tokenizer.json or a .model. gigatoken's "warm"
rate is that of the same text again."""
import os
import sys
import time

# one line says why there is no result
sys.excepthook = lambda kind, error, trace: print(f"{kind.__name__}: {error}".splitlines()[0], file=sys.stderr)
peer, folder, path = sys.argv[1:4]
threads = int(sys.argv[4]) if len(sys.argv) > 4 else 0
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
text = open(path, encoding="utf-8", newline="").read()
lines = text.splitlines(keepends=True)
decode = None

if peer == "tiktoken":
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    ranks = load_tiktoken_bpe(f"{folder}/gpt2.tiktoken")
    encoding = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    encode, decode, parts = encoding.encode_ordinary, encoding.decode_bytes, [text]
    if threads:
        batch = 1024  # lines
        encode = lambda part: encoding.encode_ordinary_batch(part, num_threads=threads)
        parts = [lines[i : i + batch] for i in range(0, len(lines), batch)]
elif peer == "gigatoken":
    import gigatoken

    tokenizer = gigatoken.Tokenizer(folder)
    encode, decode, parts = tokenizer.encode, tokenizer.decode, [text.encode()]
elif peer == "sentencepiece":
    import sentencepiece

    tokenizer = sentencepiece.SentencePieceProcessor(model_file=folder)
    encode, decode, parts = tokenizer.encode, tokenizer.decode, lines
elif peer == "tensorflow-text":
    import tensorflow as tf
    import tensorflow_text

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    vocabulary = open(f"{folder}/bert-base-uncased-vocab.txt", encoding="utf-8").read().splitlines()
    encode = tensorflow_text.FastBertTokenizer(vocabulary, lower_case_nfd_strip_accents=True).tokenize
    parts = [tf.constant(lines)]  # all in one call
else:
    from tokenizers import Tokenizer

    is_folder = os.path.isdir(folder)
    tokenizer = Tokenizer.from_file(f"{folder}/bert-base-uncased-tokenizer.json" if is_folder else folder)
    encode = lambda part: tokenizer.encode(part, add_special_tokens=False).ids
    decode = tokenizer.decode
    parts = lines  # it slows down on long texts

now = time.perf_counter if threads else time.process_time
megabytes = 1e-6 * len(text.encode())


def rate(run):
    begin = now()
    run()
    return megabytes / (now() - begin)


if peer == "gigatoken":  # as ours: fresh ones, the median
    rates = []
    for _ in range(5):
        encode = gigatoken.Tokenizer(folder).encode
        rates.append((rate(lambda: encode(parts[0])), rate(lambda: encode(parts[0]))))
    cold, warm = (sorted(r)[2] for r in zip(*rates))
    ids = [encode(parts[0])]
    result = f"encode={cold:.2f} warm={warm:.2f}"
else:
    begin = now()
    ids = [encode(part) for part in parts]
    result = f"encode={megabytes / (now() - begin):.2f}"
if decode and not threads:
    begin = now()
    for part in ids:
        decode(part)
    result += f" decode={megabytes / (now() - begin):.2f}"
print(result)
