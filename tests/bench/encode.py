"""encode.py PEER TOKENIZERS TEXT [THREADS]: MB/s at which the peer encodes the text, and decodes it again where it
can: in processor time of one thread, or in wall-clock time of so many."""
import os
import sys
import time

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

    tokenizer = Tokenizer.from_file(f"{folder}/bert-base-uncased-tokenizer.json")
    encode = lambda part: tokenizer.encode(part, add_special_tokens=False).ids
    decode = tokenizer.decode
    parts = lines  # it slows down on long texts

now = time.perf_counter if threads else time.process_time
megabytes = 1e-6 * len(text.encode())
begin = now()
ids = [encode(part) for part in parts]
result = f"encode={megabytes / (now() - begin):.2f}"
if decode and not threads:
    begin = now()
    for part in ids:
        decode(part)
    result += f" decode={megabytes / (now() - begin):.2f}"
print(result)
