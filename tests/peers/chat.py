"""Conversations: ids and labels beside transformers' apply_chat_template with return_assistant_tokens_mask, beside nanochat's rules for
a conversation (its pieces are encoded one by one; what the assistant says and its end are labels), and beside Megatron-LM's (all that the
template makes of an assistant's turn is a label, but its prefix, of so many tokens). Then 20 updates of a GPT-2 and of a
Llama on rows of conversations here and in PyTorch, with a masked loss: losses and gradient norms agree, and so does `evaluate`."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from lib.order import sample

try:
    import tokenizers
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
except ImportError:
    sys.exit(77)

T, MICRO, GLOBAL, SEED, STEPS, RATE = 48, 2, 8, 77, 20, 1e-2
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
         "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
         "{{'<|im_start|>' + message['role'] + '\n'}}{% if message['role'] == 'assistant' %}"
         "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
         "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}")
PHI4 = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '<|im_sep|>'}}{% if message['role'] == 'assistant' %}"
        "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
        "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{% endfor %}")
LLAMA = ("{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
         "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] | trim + '<|eot_id|>' }}{% endgeneration %}"
         "{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}{% endfor %}")
NANO = ["<|bos|>"] + [f"<|{role}_{side}|>" for role in ("user", "assistant") for side in ("start", "end")]
FORMS = {  # special tokens; template; begin and end of text
    "chatml": (["<|endoftext|>", "<|im_start|>", "<|im_end|>"], QWEN2, "<|endoftext|>", "<|im_end|>"),
    "phi4": (["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_sep|>"], PHI4, "<|endoftext|>", "<|endoftext|>"),
    "llama3": (["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], LLAMA,
               "<|begin_of_text|>", "<|eot_id|>"),
    "nanochat": (NANO, None, "<|bos|>", "<|bos|>"),
}
PREFIXES = {"phi4": "<|im_start|>assistant<|im_sep|>", "llama3": "<|start_header_id|>assistant<|end_header_id|>\n\n"}
PIECES = ["one", " two", " three's", "\n", "\n\n", " ", "  ", "\t", "7", "1234", "é", "e\u0301", "漢字", "😀", "<b>", "<|im", "I'll", "...", "\u00a0",
          "\r\n", "user", "\u200b", "{{ x }}", "\\n", '"', "ﬁ"]


def make_vocabulary(name, form, normalizer, cut):
    special, template, begin, end = FORMS[form]
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    t.normalizer = normalizer
    t.pre_tokenizer = cut
    t.decoder = tokenizers.decoders.ByteLevel()
    t.train_from_iterator(["".join(PIECES), "one two three seven eleven user assistant system\n\n"] * 3, tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    fast = PreTrainedTokenizerFast(tokenizer_object=t, bos_token=begin, eos_token=end)
    fast.chat_template = template
    fast.save_pretrained(name)
    return fast


def talk(r, words):
    messages = [{"role": "system", "content": words(r)}] if r.random() < 0.3 else []
    for _ in range(r.randint(1, 3)):
        messages += [{"role": "user", "content": words(r)}, {"role": "assistant", "content": words(r)}]
    return messages


def any_text(r):
    return "".join(r.choice(PIECES) for _ in range(r.randint(1, 9)))


def nanochat(fast, messages):
    """What nanochat's render_conversation documents: one system message goes into the user's first; labels are the assistant's."""
    messages = [dict(m) for m in messages]
    if messages[0]["role"] == "system":
        messages[1]["content"] = messages[0]["content"] + "\n\n" + messages[1]["content"]
        messages = messages[1:]
    ids, mask = [fast.convert_tokens_to_ids("<|bos|>")], [0]
    for m in messages:
        text, own = fast(m["content"], add_special_tokens=False).input_ids, int(m["role"] == "assistant")
        ids += [fast.convert_tokens_to_ids(f"<|{m['role']}_start|>")] + text + [fast.convert_tokens_to_ids(f"<|{m['role']}_end|>")]
        mask += [0] + [own] * (len(text) + 1)
    return ids, mask


def megatron(fast, messages, prefix):
    """The mask that Megatron-LM's SFTTokenizer makes, turn by turn."""
    mask = []
    for turn in messages:
        own = fast.apply_chat_template([turn], return_dict=True)["input_ids"]
        own = own[1:] if mask and own[0] == fast.bos_token_id else own  # only one begin of text
        unlearned = prefix if turn["role"] == "assistant" else len(own)
        mask += [0] * unlearned + [1] * (len(own) - unlearned)
    return mask


def write_lines(path, conversations):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"messages": m, "id": i}, ensure_ascii=i % 2 == 0) + "\n" for i, m in enumerate(conversations))


def compare_ids(name, form, fast):
    r = random.Random(5)
    conversations = [talk(r, any_text) for _ in range(500)]
    write_lines("chat.jsonl", conversations)
    lines = subprocess.run(["tokenize", "-q", "--vocab", name, "--chat", "auto", "--ids", "chat.jsonl"], check=True, capture_output=True).stdout
    wrong = labels = 0
    for m, line in zip(conversations, map(json.loads, lines.splitlines()), strict=True):
        if form == "nanochat":
            ids, mask = nanochat(fast, m)
        else:
            out = fast.apply_chat_template(m, return_dict=True, return_assistant_tokens_mask=True)
            ids, mask = out["input_ids"], out["assistant_masks"]
            if form in PREFIXES:
                assert megatron(fast, m, len(fast(PREFIXES[form], add_special_tokens=False).input_ids)) == mask, m
        wrong += line != {"ids": ids, "mask": mask}
        if line != {"ids": ids, "mask": mask} and wrong < 3:
            print(m, line, ids, mask, sep="\n")
        labels += sum(mask)
    print(f"chat: {name}: {len(conversations)} conversations, {labels} labels: {wrong} differ")
    assert not wrong and labels


def rows_of(folder):
    rows = []
    for file in sorted(n for n in os.listdir(folder) if n.endswith(".tfrecord")):
        out = subprocess.run(["tfwrite", "show", "-q", f"{folder}/{file}"], check=True, capture_output=True).stdout
        rows += [json.loads(line) for line in out.splitlines()]
    return rows


def block_mask(ids, end):
    number = (ids == end).cumsum(0)
    starts = torch.cat([torch.zeros(1, dtype=torch.bool), number[1:] != number[:-1]])
    begin = torch.where(starts, torch.arange(len(ids)), 0).cummax(0).values
    seen = (number[:, None] == number[None, :]).tril()
    return torch.arange(len(ids)) - begin, torch.where(seen, 0.0, torch.finfo(torch.float32).min)


def train_peer(model, rows, end, apart):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses, norms = [], []
    for step in range(STEPS):
        batch = [rows[sample(step * GLOBAL + i, len(rows), SEED)] for i in range(GLOBAL)]
        ids = torch.tensor([r["input_ids"] for r in batch])
        labels = ids.masked_fill(torch.tensor([r["loss_mask"] for r in batch]) == 0, -100)[:, 1:]
        ids, more = ids[:, :-1], {}
        if apart:
            masks = [block_mask(row, end) for row in ids]
            more = dict(position_ids=torch.stack([m[0] for m in masks]), attention_mask=torch.stack([m[1] for m in masks])[:, None])
        loss = torch.nn.functional.cross_entropy(model(ids, **more).logits.flatten(0, 1), labels.flatten())
        model.zero_grad()
        loss.backward()
        norms.append(math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters())))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def compare_losses(what, model, data, end, apart):
    rows = rows_of(data)
    with torch.no_grad():
        ids = torch.tensor([r["input_ids"] for r in rows])
        labels = ids.masked_fill(torch.tensor([r["loss_mask"] for r in rows]) == 0, -100)[:, 1:]
        mean = torch.nn.functional.cross_entropy(model(ids[:, :-1]).logits.flatten(0, 1), labels.flatten()).item()
    model.save_pretrained("start-" + what)
    own = json.loads(subprocess.run(["evaluate", "shards", "-q", "--json", "--model", "start-" + what, "--sequence-length", str(T), data],
                                    check=True, capture_output=True).stdout)
    assert own["tokens"] == int((labels >= 0).sum()) and abs(own["loss"] - mean) < 1e-6 * mean, (own, mean)
    subprocess.run(["train", "-q", "--start-from", "start-" + what, "--data", data, "-o", what, "--log-every", "1", "--force",
                    "--micro-batch-size", str(MICRO), "--global-batch-size", str(GLOBAL), "--steps", str(STEPS),
                    "--optimizer", "sgd", "--schedule", "constant", "--warmup", "0", "--clip", "0", "--learning-rate", str(RATE),
                    "--weight-decay", "0", "--dropout", "0", "--sequence-length", str(T), "--seed", str(SEED)]
                   + ["--document-attention"] * apart, check=True)
    points = [json.loads(line) for line in open(what + "/metrics.jsonl")]
    losses, norms = train_peer(model, rows, end, apart)
    for name, ours, theirs, most in [("loss", [p["loss"] for p in points], losses, 1e-6),
                                     ("gradient norm", [p["gradient_norm"] for p in points], norms, 1e-5)]:
        worst = max(abs(a - b) / b for a, b in zip(ours, theirs, strict=True))
        print(f"chat: {what}: {name}: greatest relative difference {worst:.1e} (allowed {most:.0e})")
        assert len(ours) == STEPS and worst < most, (ours, theirs)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    bytes_only = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(tokenizers.Regex(LLAMA3), "isolated"), bytes_only])
    gpt2 = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = lambda r: " ".join(r.choice(["one", "two", "three", "seven", "eleven"]) for _ in range(r.randint(1, 12)))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = {}
        for name, form, normalizer, cut in [("qwen", "chatml", tokenizers.normalizers.NFC(), split), ("gpt2", "chatml", None, gpt2),
                                            ("phi4", "phi4", None, split), ("llama3", "llama3", None, split),
                                            ("nanochat", "nanochat", None, split)]:
            made[name] = make_vocabulary(name, form, normalizer, cut)
            compare_ids(name, form, made[name])
        r = random.Random(6)
        write_lines("talks.jsonl", [talk(r, words) for _ in range(300)])
        for name, end, more in [("qwen", "<|endoftext|>", ["--pack", "best-fit"]), ("nanochat", "<|bos|>", [])]:
            stream = subprocess.run(["tokenize", "-q", "--vocab", name, "--chat", "auto", "talks.jsonl"], check=True, capture_output=True).stdout
            subprocess.run(["tfwrite", "-q", "--sequence-length", str(T), "-o", "rows-" + name] + more, input=stream, check=True)
            subprocess.run(["tfwrite", "verify", "-q", "rows-" + name], check=True, stdout=subprocess.DEVNULL)
            end, size = made[name].convert_tokens_to_ids(end), len(made[name])
            for apart in (False, True):
                what = f"-{name}{'-documents' if apart else ''}"
                compare_losses("gpt2" + what, GPT2LMHeadModel(GPT2Config(
                    vocab_size=size, n_positions=T, n_embd=48, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    initializer_range=0.1, bos_token_id=end, eos_token_id=end, attn_implementation="eager")), "rows-" + name, end, apart)
                compare_losses("llama" + what, LlamaForCausalLM(LlamaConfig(
                    vocab_size=size, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, max_position_embeddings=T, initializer_range=0.1, bos_token_id=end, eos_token_id=end,
                    attn_implementation="eager")), "rows-" + name, end, apart)


if __name__ == "__main__":
    main()
