"""python/ beside transformers: conversations, with which ids are the assistant's and with the beginning of an answer; and as_hf(), whose ids
are those of transformers' own fast tokenizer for texts that are padded, cut, collated, pickled, saved and loaded again, and in a
script that trains."""
import contextlib
import io
import os
import pickle
import random
import sys
import tempfile

try:
    import datasets  # noqa: F401, of README's lines
    import tokenizers
    import torch
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling, PreTrainedTokenizerFast
except ImportError:
    sys.exit(77)

import chat
from lib.paths import DATA, need_data
from lib.python_package import install

need_data()
install()
from textmill_tokenizer import Tokenizer, TokenizerError  # noqa: E402


def raises(words, call):
    try:
        call()
    except TokenizerError as e:
        assert words in str(e) and "\n" not in str(e), e
    else:
        sys.exit(f"no error: {words}")


def check_chat(name, form, normalizer, cut):
    fast, r = chat.make_vocabulary(name, form, normalizer, cut), random.Random(7)
    ours, labels = Tokenizer(name), 0
    for _ in range(300):
        messages = chat.talk(r, chat.any_text)
        if form == "nanochat":
            want = chat.nanochat(fast, messages)
        else:
            out = fast.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
            want = out["input_ids"], out["assistant_masks"]
        ids, mask = ours.apply_chat_template(messages, return_assistant_tokens_mask=True)
        assert (ids.tolist(), mask.tolist()) == want, (name, messages)
        labels += sum(want[1])
        assert ours.apply_chat_template(iter(messages), form=form if name != "qwen" else "auto").tolist() == want[0]
        question = messages[:-1]
        if form == "nanochat":
            want = chat.nanochat(fast, question)[0] + [fast.convert_tokens_to_ids("<|assistant_start|>")]
        else:
            begin = {"chatml": "<|im_start|>assistant\n", **chat.PREFIXES}[form]
            template = fast.chat_template + "{% if add_generation_prompt %}" + f"{{{{ {begin!r} }}}}" + "{% endif %}"
            want = fast.apply_chat_template(question, chat_template=template, add_generation_prompt=True, return_dict=True)["input_ids"]
        assert ours.apply_chat_template(question, add_generation_prompt=True).tolist() == want, (name, question)
    assert labels
    user = [{"role": "user", "content": "one"}]
    raises("no message is the assistant's", lambda: ours.apply_chat_template(user, return_assistant_tokens_mask=True))
    raises('role "tool" is none of', lambda: ours.apply_chat_template([{"role": "tool", "content": "one"}]))
    raises("one of auto|chatml|", lambda: ours.apply_chat_template(user, form="vicuna"))
    raises("form 'text' has no marks for messages", lambda: ours.apply_chat_template(user, form="text"))
    if form == "nanochat":
        raises("the last message is the system's", lambda: ours.apply_chat_template([{"role": "system", "content": "one"}]))
        raises("form 'phi4' needs the special token <|im_start|>", lambda: ours.apply_chat_template(user, form="phi4"))
    else:
        with open(f"{name}/chat_template.jinja", "w") as f:
            f.write("{{ '[INST]' + message['content'] }}")
        raises("its chat template lacks", lambda: Tokenizer(name).apply_chat_template(user))
    return labels


def check_hf(path, texts, options, settings):
    ours = Tokenizer(path, **options)
    hf, theirs = ours.as_hf(**settings), ours.as_hf(**settings)
    theirs.textmill = None  # so Hugging Face's tokenizers encode
    assert ours.end_of_text is None or hf.eos_token_id == ours.end_of_text
    assert isinstance(hf, PreTrainedTokenizerFast) and hf.is_fast and hf.textmill is ours
    for how in ({}, {"padding": True, "truncation": True, "max_length": 20}, {"padding": "max_length", "truncation": True, "max_length": 300},
                {"padding": True, "pad_to_multiple_of": 8, "add_special_tokens": False, "padding_side": "left"},
                {"truncation": True, "max_length": 3, "return_attention_mask": False}, {"return_offsets_mapping": True},
                {"truncation": True, "max_length": 1, "return_token_type_ids": False}):
        if how.get("padding"):
            a, b = (t(texts, return_tensors="pt", **how) for t in (hf, theirs))
            assert a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a), how
        assert hf(texts, **how) == theirs(texts, **how) and hf(texts[0], **how) == theirs(texts[0], **how), how
    hf.truncation_side = theirs.truncation_side = "left"
    assert hf(texts, truncation=True, max_length=10) == theirs(texts, truncation=True, max_length=10)
    assert hf(texts, texts) == theirs(texts, texts) and hf(texts, split_special_tokens=True) == theirs(texts, split_special_tokens=True)
    assert hf([["one", "two"]], is_split_into_words=True).word_ids(0) == theirs([["one", "two"]], is_split_into_words=True).word_ids(0)
    assert hf.tokenize(texts[0]) == theirs.tokenize(texts[0]) and hf.encode(texts[1]) == theirs.encode(texts[1])
    copy = pickle.loads(pickle.dumps(hf))
    assert copy.textmill is not None and copy(texts) == hf(texts)
    if "pad_token" in settings:
        rows = DataCollatorForLanguageModeling(copy, mlm=False)([copy(text) for text in texts[:50]])
        assert torch.equal(rows["input_ids"], copy(texts[:50], padding=True, return_tensors="pt")["input_ids"])
    with tempfile.TemporaryDirectory() as folder:
        hf.save_pretrained(folder)
        assert AutoTokenizer.from_pretrained(folder)(texts)["input_ids"] == hf(texts)["input_ids"]
        assert Tokenizer(folder).as_hf(**settings)(texts)["input_ids"] == hf(texts)["input_ids"]
    hf.add_special_tokens({"sep_token": "<new>"}), theirs.add_special_tokens({"sep_token": "<new>"})
    assert hf("one<new>") == theirs("one<new>") and hf.sep_token_id in hf("one<new>")["input_ids"]
    hf = ours.as_hf(**settings)
    hf.add_eos_token = theirs.add_eos_token = True
    assert hf(texts[0]) == theirs(texts[0]) and (hf.eos_token is None or hf(texts[0])["input_ids"][-1] == hf.eos_token_id)


SCRIPT = """
import datasets
import torch
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
torch.manual_seed(1)
tokenizer = AutoTokenizer.from_pretrained("qwen")
tokenizer.pad_token = tokenizer.eos_token
rows = datasets.Dataset.from_dict({"text": texts}).map(lambda rows: tokenizer(rows["text"]), batched=True, remove_columns="text")
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=512, n_embd=16, n_layer=1, n_head=2))
settings = TrainingArguments("out", max_steps=5, per_device_train_batch_size=4, logging_steps=1, report_to=[], use_cpu=True,
                             disable_tqdm=True)
trainer = Trainer(model, settings, DataCollatorForLanguageModeling(tokenizer, mlm=False), rows, processing_class=tokenizer)
trainer.train()
losses = [step["loss"] for step in trainer.state.log_history if "loss" in step]
"""


def check_script(texts):
    """A script of transformers that trains has the same losses when one line of it is another."""
    made = []
    for line in 'AutoTokenizer.from_pretrained("qwen")', 'Tokenizer("qwen").as_hf()':
        names = {"texts": texts, "Tokenizer": Tokenizer}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(SCRIPT.replace('AutoTokenizer.from_pretrained("qwen")', line), names)
        assert hasattr(names["tokenizer"], "textmill") == ("as_hf" in line)
        made.append(names["losses"])
    assert made[0] == made[1] and len(set(made[0])) == 5, made


def main():
    bytes_only = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(tokenizers.Regex(chat.LLAMA3), "isolated"), bytes_only])
    with open(os.path.join(DATA, "text/multilingual.txt"), encoding="utf-8") as f:
        texts = ["A text with <|endoftext|> and [MASK], [SEP] in it.", "", "é"] + f.read().splitlines()[:1500:5]
    files = os.path.join(DATA, "tokenizers")
    check_hf(f"{files}/gpt2-tokenizer.json", texts, {}, {"pad_token": "<|endoftext|>"})
    check_hf(f"{files}/gpt2.tiktoken", texts, {"pattern": "gpt2"}, {"pad_token": "<|endoftext|>"})
    check_hf(f"{files}/bert-base-uncased-tokenizer.json", texts, {}, {"pad_token": "[PAD]"})
    tiny = Tokenizer(os.path.join(DATA, "hf/bert-tiny-random")).as_hf()
    assert tiny.textmill is None and tiny.mask_token_id in tiny("a [MASK]")["input_ids"], "its file has no added tokens: transformers adds them"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        labels = sum(check_chat(*case) for case in (("qwen", "chatml", tokenizers.normalizers.NFC(), split), ("phi4", "phi4", None, split),
                                                    ("llama3", "llama3", None, split), ("nanochat", "nanochat", None, split)))
        check_hf("qwen", texts, {}, {"pad_token": "<|endoftext|>"})
        check_script([text[:100] for text in texts if text])
    print(f"python_hf: four chat forms, {labels} labels; as_hf for five vocabularies, {len(texts)} texts")


main()
