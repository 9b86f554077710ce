"""encode.py PEER TOKENIZERS TEXT: MB/s of processor time in which the peer encodes the text, on one thread."""
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
peer, folder, path = sys.argv[1:]
text = open(path, encoding="utf-8", newline="").read()

if peer == "tiktoken":
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    ranks = load_tiktoken_bpe(f"{folder}/gpt2.tiktoken")
    encode = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary
    parts = [text]
elif peer == "tensorflow-text":
    import tensorflow as tf
    import tensorflow_text

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    vocabulary = open(f"{folder}/bert-base-uncased-vocab.txt", encoding="utf-8").read().splitlines()
    encode = tensorflow_text.FastBertTokenizer(vocabulary, lower_case_nfd_strip_accents=True).tokenize
    parts = [tf.constant(text.splitlines(keepends=True))]  # all in one call
else:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{folder}/bert-base-uncased-tokenizer.json")
    encode = lambda part: tokenizer.encode(part, add_special_tokens=False)
    parts = text.splitlines(keepends=True)  # it slows down on long texts

begin = time.process_time()
for part in parts:
    encode(part)
print(f"{1e-6 * len(text.encode()) / (time.process_time() - begin):.2f}")
