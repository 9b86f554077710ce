"""learn.py UNITS TEXT OUT: prints the seconds in which Hugging Face's tokenizers learn 30,000 tokens from a file, on one
thread. If UNITS is "unigram", SentencePiece learns instead, from lines of any length. OUT is the file to write; for
SentencePiece its name ends in ".model"."""
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
units, text, out = sys.argv[1:]
if units == "unigram":
    import sentencepiece
    begin = time.time()
    sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out.removesuffix(".model"), vocab_size=30000,
                                             model_type="unigram", num_threads=1, max_sentence_length=1 << 20, minloglevel=2)
    print(f"{time.time() - begin:.2f}")
    sys.exit()

from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

options = {"special_tokens": ["[UNK]", "<|endoftext|>"]}
t = Tokenizer(models.BPE(unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.Whitespace()
if units == "bytes":
    options = {"special_tokens": ["<|endoftext|>"], "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
begin = time.time()
t.train([text], trainers.BpeTrainer(vocab_size=30000, min_frequency=2, show_progress=False, **options))
t.save(out)
print(f"{time.time() - begin:.2f}")
