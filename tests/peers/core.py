"""evaluate core beside its rules, written here in PyTorch and Python's random, on random GPT-2 and Llama models: each
verdict, the accuracy of each task, and CORE."""
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
try:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast, LlamaConfig, LlamaForCausalLM
except ImportError:
    sys.exit(77)
DATA = os.environ["DATA"]
if not os.path.isdir(os.path.join(DATA, "core")):
    sys.exit(77)
POSITIONS = 192
# label, file, kind, examples, delimiter, baseline in per cent
TASKS = [
    ("copa", "copa.jsonl", "multiple_choice", 0, None, 50),
    ("arc", "arc_easy.jsonl", "multiple_choice", 2, "\nAnswer: ", 25),
    ("boolq", "boolq.jsonl", "multiple_choice", 1, "\nAnswer: ", 62),
    ("winograd", "winograd_wsc.jsonl", "schema", 0, None, 50),
    ("winogrande", "winogrande.jsonl", "schema", 6, None, 50),
    ("jeopardy", "jeopardy_all.jsonl", "language_modeling", 3, "\nAnswer: ", 0),
    ("lambada", "lambada_openai.jsonl", "language_modeling", 0, None, 0),
]
LIMIT = 40
checks = failures = 0


def expect(what, got, want, tolerance=0.0):
    global checks, failures
    checks += 1
    if not abs(got - want) <= tolerance:
        failures += 1
        print(f"core: {what}: {got}, not {want}")


def bundle(folder):
    """Writes the tasks as the folder eval_bundle that nanochat reads."""
    os.mkdir(os.path.join(folder, "eval_data"))
    with open(os.path.join(folder, "core.yaml"), "w", encoding="utf-8") as f:
        f.write("icl_tasks:\n")
        for label, name, kind, examples, delimiter, _ in TASKS:
            f.write(f"- label: {label}\n  dataset_uri: {name}\n  num_fewshot: [{examples}]\n  icl_task_type: {kind}\n")
            if delimiter:
                f.write(f"  continuation_delimiter: {json.dumps(delimiter)}\n")
            os.symlink(os.path.join(os.path.abspath(DATA), "core", name), os.path.join(folder, "eval_data", name))
    with open(os.path.join(folder, "eval_meta_data.csv"), "w", encoding="utf-8") as f:
        f.write("Eval Task,Task Category,Random baseline,Description\n")
        for label, _, _, _, _, baseline in TASKS:
            f.write(f'{label},any,{baseline},"one, two"\n')


def common(rows, backwards):
    """Returns how many tokens all rows share at their beginnings or ends."""
    n = 0
    while all(n < len(r) for r in rows) and len({r[-1 - n] if backwards else r[n] for r in rows}) == 1:
        n += 1
    return n


def prompts(item, kind, delimiter, shown):
    """Returns the texts of a question, and for language modelling the text without the answer first."""
    def whole(q, before, after):
        return (before.strip() if kind == "language_modeling" else before) + delimiter + after
    if kind == "multiple_choice":
        head = "".join(whole(q, q["query"], q["choices"][q["gold"]]) + "\n\n" for q in shown)
        return [head + whole(item, item["query"], c) for c in item["choices"]]
    if kind == "schema":
        head = "".join(whole(q, q["context_options"][q["gold"]], q["continuation"]) + "\n\n" for q in shown)
        return [head + whole(item, c, item["continuation"]) for c in item["context_options"]]
    head = "".join(whole(q, q["context"], q["continuation"]) + "\n\n" for q in shown)
    return [(head + whole(item, item["context"], "")).strip(), head + whole(item, item["context"], item["continuation"])]


def verdict(model, tokenizer, item, kind, delimiter, shown):
    rows = [[tokenizer.bos_token_id] + tokenizer(p)["input_ids"] for p in prompts(item, kind, delimiter, shown)]
    shared = common(rows, kind == "schema")
    if kind == "language_modeling":
        assert shared == len(rows[0])
        rows = rows[1:]
    means = []
    for row in rows:
        scored = shared if kind == "schema" else len(row) - shared
        row = row[-POSITIONS:]
        with torch.no_grad():
            logits = model(torch.tensor([row])).logits[0, :-1].double()
        losses = torch.nn.functional.cross_entropy(logits, torch.tensor(row[1:]), reduction="none")
        if kind == "language_modeling":
            return bool((logits.argmax(-1)[-scored:] == torch.tensor(row[-scored:])).all())
        means.append(losses[len(losses) - scored:].mean().item())
    return means.index(min(means)) == item["gold"]


def compare(name, model, tokenizer, folder, tasks, shuffle):
    options = ["--shuffle", str(shuffle)] if shuffle is not None else []
    outs = [subprocess.run(["evaluate", "core", "-q", "--json", "--limit", str(LIMIT), "--batch-tokens", n, *options, "--model",
                            folder, tasks], check=True, capture_output=True).stdout for n in ("1", "8192")]
    expect(f"{name}: batches", outs[0] == outs[1], True)
    rows = [json.loads(line) for line in outs[1].splitlines()]
    at, total = 0, 0.0
    for label, file, kind, examples, delimiter, baseline in TASKS:
        with open(os.path.join(DATA, "core", file), encoding="utf-8") as f:
            data = [json.loads(line) for line in f]
        if shuffle is not None:
            random.Random(shuffle).shuffle(data)
        data = data[:LIMIT]
        right = 0
        found = {r["question"]: r["right"] for r in rows[at:at + len(data)]}
        for i, item in enumerate(data):
            others = [k for k in range(len(data)) if k != i]
            shown = [data[k] for k in random.Random(1234 + i).sample(others, examples)]
            want = verdict(model, tokenizer, item, kind, delimiter or " ", shown)
            expect(f"{name}: {label} {i}", found[i], want)
            right += want
        at += len(data)
        expect(f"{name}: {label}", rows[at]["accuracy"], right / len(data), 1e-12)
        at += 1
        total += (right / len(data) - baseline / 100) / (1 - baseline / 100)
    expect(f"{name}: core", rows[at]["core"], total / len(TASKS), 5e-7)


with tempfile.TemporaryDirectory() as work:
    tasks = os.path.join(work, "tasks")
    os.mkdir(tasks)
    bundle(tasks)
    files = [os.path.join(DATA, "tokenizers", n) for n in ("gpt2-vocab.json", "gpt2-merges.txt")]
    tokenizer = GPT2TokenizerFast(*files)
    torch.manual_seed(6)
    small = {"vocab_size": 50257, "initializer_range": 0.1}
    for name, model, shuffle in (
            ("gpt2", GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=48, n_head=3, n_positions=POSITIONS, **small)), None),
            ("llama", LlamaForCausalLM(LlamaConfig(hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=3,
                                                   max_position_embeddings=POSITIONS, bos_token_id=50256, **small)), 1337)):
        folder = os.path.join(work, name)
        model.eval().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        compare(name, model.eval(), tokenizer, folder, tasks, shuffle)
print(f"core: {checks} figures, {failures} differ")
sys.exit(failures != 0)
