"""learn.py UNITS TEXT OUT: prints the seconds of processor time in which Hugging Face's tokenizers learn 30,000 tokens from a file, on one
thread. If UNITS is "unigram", SentencePiece learns instead, from lines of any length; if it is "gigabpe", gigabpe does, from bytes. OUT is
the file to write; for SentencePiece its name ends in ".model"."""
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
units, text, out = sys.argv[1:]
if units == "unigram":
    import sentencepiece
    begin = time.process_time()
    sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=out.removesuffix(".model"), vocab_size=30000,
                                             model_type="unigram", num_threads=1, max_sentence_length=1 << 20, minloglevel=2)
    print(f"{time.process_time() - begin:.3f}")
    sys.exit()
if units == "gigabpe":
    import gigabpe
    begin = time.process_time()
    gigabpe.train_tokenizer([text], 30000, out, special_tokens=["<|endoftext|>"], min_frequency=2, pretokenizer="bytelevel", threads=1)
    print(f"{time.process_time() - begin:.3f}")
    sys.exit()

from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

options = {"special_tokens": ["[UNK]", "<|endoftext|>"]}
t = Tokenizer(models.BPE(unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.Whitespace()
if units == "bytes":
    options = {"special_tokens": ["<|endoftext|>"], "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
begin = time.process_time()
t.train([text], trainers.BpeTrainer(vocab_size=30000, min_frequency=2, show_progress=False, **options))
t.save(out)
print(f"{time.process_time() - begin:.3f}")
