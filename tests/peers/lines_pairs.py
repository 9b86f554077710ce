"""evaluate lines and evaluate pairs on a random GPT-2: the bits of lines and of their second halves beside
transformers, and each verdict on BLiMP's pairs beside lm-evaluation-harness."""
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  TQDM_DISABLE="1", LOGLEVEL="ERROR", LMEVAL_LOG_LEVEL="ERROR")
try:
    import torch
    from lm_eval import evaluator
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.huggingface import HFLM
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
except ImportError:
    sys.exit(77)
DATA = os.environ["DATA"]
if not os.path.isdir(os.path.join(DATA, "blimp")):
    sys.exit(77)
POSITIONS = 64
checks = failures = 0


def expect(what, got, want, tolerance=0.0):
    global checks, failures
    checks += 1
    if not abs(got - want) <= tolerance * abs(want):
        failures += 1
        print(f"lines_pairs: {what}: {got}, not {want}")


def model_folder(folder):
    torch.manual_seed(5)
    config = GPT2Config(n_layer=2, n_embd=48, n_head=3, n_positions=POSITIONS, initializer_range=0.1)
    model = GPT2LMHeadModel(config).eval()
    model.save_pretrained(folder)
    names = [os.path.join(DATA, "tokenizers", n) for n in ("gpt2-vocab.json", "gpt2-merges.txt")]
    tokenizer = GPT2TokenizerFast(*names, model_max_length=POSITIONS)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def ours(command, *options):
    out = subprocess.run(["evaluate", command, *options, "-q", "--json"], check=True, capture_output=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def bits(model, ids, first):
    """Returns the bits of ids[first:], each given the ids before it."""
    with torch.no_grad():
        logp = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    return -sum(logp[i - 1, ids[i]].item() for i in range(first, len(ids))) / math.log(2)


def lines(model, tokenizer, folder, name):
    path = os.path.join(DATA, "ntrex", name)
    with open(path, encoding="utf-8") as f:
        texts = [line.rstrip("\n") for line in f][:120]
    text = os.path.join(folder, "lines.txt")
    with open(text, "w", encoding="utf-8") as f:
        f.write("\n".join(texts) + "\n")
    results = [ours("lines", "--model", folder, "--second-half", "--batch-tokens", n, text) for n in ("64", "4096")]
    expect(f"{name}: batches", results[0] == results[1], True)
    rows, summary = results[0][:-1], results[0][-1]
    expect(f"{name}: lines", len(rows), len(texts))
    whole = second = shorter = size = 0.0
    for row, line in zip(rows, texts):
        begin = tokenizer.bos_token_id
        ids = ([begin] + tokenizer(line)["input_ids"])[:POSITIONS]
        half = 1 + len(tokenizer(line[:len(line) // 2])["input_ids"])
        want = bits(model, ids, 1)
        want_half = bits(model, ids, half) if half < len(ids) else 0.0
        expect(f"{name}:{row['line']}: bits", row["bits"], want, 1e-5)
        expect(f"{name}:{row['line']}: second half", row["second_half_bits"], want_half, 1e-5)
        whole += want
        second += want_half
        if len(ids) < POSITIONS:  # longer lines were cut, so their bytes are not known
            shorter += want
            size += len(line.encode())
    expect(f"{name}: mean", summary["bits"], whole / len(texts), 1e-5)
    expect(f"{name}: mean of second halves", summary["second_half_bits"], second / len(texts), 1e-5)
    expect(f"{name}: bits per byte", summary["bits_per_byte"], shorter / size, 1e-5)


def theirs(model, name, path, delimiter=" "):
    """Returns the harness's accuracy and its verdict on each pair, by its own task's rules. The delimiter stands before a sentence."""
    task = ConfigurableTask(config={
        "task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"train": path}}, "validation_split": "train",
        "output_type": "multiple_choice", "doc_to_text": "", "doc_to_target": 0, "target_delimiter": delimiter,
        "doc_to_choice": "{{[sentence_good, sentence_bad]}}", "num_fewshot": 0, "metric_list": [{"metric": "acc"}]})
    with contextlib.redirect_stderr(io.StringIO()):
        results = evaluator.evaluate(lm=model, task_dict={name: task}, bootstrap_iters=0, log_samples=True)
    samples = sorted(results["samples"][name], key=lambda s: s["doc_id"])
    return results["results"][name]["acc,none"], [int(s["acc"]) for s in samples]


def pairs(model, tokenizer, folder):
    names = ("wh_island", "anaphor_gender_agreement", "principle_A_case_1")
    paths = []
    for name in names:
        paths.append(os.path.join(folder, name + ".jsonl"))
        with open(os.path.join(DATA, "blimp", name + ".jsonl"), encoding="utf-8") as f, open(paths[-1], "w", encoding="utf-8") as g:
            g.writelines(line for line in list(f)[:200])
    rows = ours("pairs", "--model", folder, *paths)
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=8, max_length=POSITIONS)
    total = 0.0
    for i, (name, path) in enumerate(zip(names, paths)):
        accuracy, verdicts = theirs(harness, name, path)
        mine = rows[201 * i:201 * i + 201]
        for line, (row, verdict) in enumerate(zip(mine, verdicts), 1):
            expect(f"{name}:{line}", row["right"], verdict)
        expect(name, mine[200]["accuracy"], accuracy, 1e-12)
        total += accuracy
    expect("mean", rows[-1]["mean_accuracy"], total / len(names), 1e-12)
    rows = ours("pairs", "--model", folder, "--no-space", paths[1])  # as for ZhoBLiMP
    accuracy, verdicts = theirs(harness, "no space", paths[1], "")
    for line, (row, verdict) in enumerate(zip(rows, verdicts), 1):
        expect(f"no space:{line}", row["right"], verdict)
    expect("no space", rows[200]["accuracy"], accuracy, 1e-12)


with tempfile.TemporaryDirectory() as folder:
    model, tokenizer = model_folder(folder)
    for name in ("eng.txt", "jpn.txt", "ell.txt"):
        lines(model, tokenizer, folder, name)
    pairs(model, tokenizer, folder)
print(f"lines_pairs: {checks} figures, {failures} differ")
sys.exit(failures != 0)
