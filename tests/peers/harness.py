"""evaluate beside lm-evaluation-harness on a random GPT-2, without network: the word perplexity of its task wikitext,
and its tasks of multiple choice, without and with examples in the prompt, on questions made of WikiText's sentences: acc
and acc_norm, each verdict, and the log-probability of each choice."""
import contextlib
import io
import json
import os
import random
import re
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
    from lm_eval import tasks
    from lm_eval.tasks._yaml_loader import load_yaml
    from lm_eval.tasks.wikitext import preprocess_wikitext as wikitext
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
except ImportError:
    sys.exit(77)
DATA = os.environ["DATA"]
if not os.path.isdir(os.path.join(DATA, "tokenizers")):
    sys.exit(77)
POSITIONS = 512
checks = failures = 0


def expect(what, got, want, tolerance=0.0):
    global checks, failures
    checks += 1
    if not abs(got - want) <= tolerance * abs(want):
        failures += 1
        print(f"harness: {what}: {got}, not {want}")


def model_folder(folder):
    torch.manual_seed(4)
    config = GPT2Config(n_layer=2, n_embd=48, n_head=3, n_positions=POSITIONS, initializer_range=0.1)
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    names = [os.path.join(DATA, "tokenizers", n) for n in ("gpt2-vocab.json", "gpt2-merges.txt")]
    GPT2TokenizerFast(*names, model_max_length=POSITIONS).save_pretrained(folder)


def ours(command, *options):
    out = subprocess.run(["evaluate", command, *options, "-q", "--json"], check=True, capture_output=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def theirs(model, name, path, config, shots=0, examples=None):
    """Returns the harness's figures of one task, and its samples; its data are the JSON lines of files."""
    files = {"test": path, **({"train": examples} if shots else {})}
    task = ConfigurableTask(config={
        **config, "task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": files}, "test_split": "test",
        "fewshot_split": "train" if shots else None, "num_fewshot": shots})
    task.set_fewshot_seed(1234)
    with contextlib.redirect_stderr(io.StringIO()):
        results = evaluator.evaluate(lm=model, task_dict={name: task}, bootstrap_iters=0, log_samples=True)
    figures = {key.split(",")[0]: value for key, value in results["results"][name].items()}
    return figures, sorted(results["samples"][name], key=lambda sample: sample["doc_id"])


# ---- WikiText ------------------------------------------------------------------------------------

def pages_of(text):
    """Returns the documents of the data set wikitext_document_level: each begins at a title."""
    page, pages = [], []
    for line in text.split("\n"):
        title = line.replace("= = =", "===").replace("= =", "==").strip()
        if title.startswith("= ") and title.endswith(" ="):
            if "\n".join(page).strip():
                pages.append("\n".join(page))
            page = []
        page.append(line)
    return pages + ["\n".join(page)]


def word_perplexity(model, folder, work):
    with open(os.path.join(DATA, "wikitext", "wikitext-2.valid.tokens"), encoding="utf-8", newline="") as f:
        text = f.read(400_000)
    titles = [m.start() for m in re.finditer(r"(?m)^ = [^=\n]+ = $", text)]
    text = text[:titles[1] + 3000] + text[titles[2]:titles[2] + 500] + text[titles[3]:titles[3] + 2000]
    tokens, lines = os.path.join(work, "wiki.tokens"), os.path.join(work, "wiki.jsonl")
    open(tokens, "w", encoding="utf-8", newline="").write(text)
    pages = pages_of(text)
    with open(lines, "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"page": page}) + "\n" for page in pages)
    want, _ = theirs(model, "wikitext", lines, {
        "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": wikitext.wikitext_detokenizer,
        "process_results": wikitext.process_results,
        "metric_list": [{"metric": m} for m in ("word_perplexity", "byte_perplexity", "bits_per_byte")]})
    got, = ours("wiki", "--rule", "words", "--model", folder, tokens)
    expect("documents", got["documents"], len(pages))
    for key in ("word_perplexity", "byte_perplexity", "bits_per_byte"):
        expect(f"wikitext, {key}", got[key], want[key], 1e-6)
    print(f"harness: wikitext, {len(pages)} documents: word_perplexity {got['word_perplexity']}, {want['word_perplexity']}")


# ---- multiple choice -----------------------------------------------------------------------------

def sentences():
    with open(os.path.join(DATA, "wikitext", "wikitext-2.valid.tokens"), encoding="utf-8") as f:
        text = wikitext.wikitext_detokenizer({"page": f.read(600_000)})
    return [s.strip() for s in re.split(r"(?<=[.?])\s+", text) if 40 < len(s) < 300 and "\n" not in s and "_" not in s]


def halves(sentence):
    at = sentence.index(" ", len(sentence) // 2 - 10)
    return sentence[:at], sentence[at + 1:]


def questions(draw, lines, count):
    """Returns rows in the form of the data sets, with the marks of WikiHow, double blanks, and letters that are not
    ASCII."""
    for i in range(count):
        first, right = halves(draw.choice(lines))
        others = [halves(draw.choice(lines))[1] for _ in range(3)]
        label = draw.randrange(4)
        endings = others[:label] + [right] + others[label:]
        middle = ("", "[header] How to  do it [title] then", "\u00e9LAN and \u01c6", "SHE")[i % 4]
        yield {
            "hellaswag": {"activity_label": "Caf\u00e9 [step] talk", "ctx_a": first, "ctx_b": middle,
                          "endings": [e + (" [substeps] More. [title] End" if i % 3 == 0 else "") for e in endings],
                          "label": str(label)},
            "piqa": {"goal": first, "sol1": endings[0], "sol2": endings[1], "label": label % 2},
            "arc": {"question": first + " ", "choices": {"text": endings[:3 + i % 2], "label": list("ABCD"[:3 + i % 2])},
                    "answerKey": "ABC"[label % 3]},
            "winogrande": {"sentence": f"{first} _ {right}", "option1": endings[0].split()[0],
                           "option2": endings[1].split()[0], "answer": "12"[label % 2]},
            "plain": {"context": ("", first + "\n", first)[i % 3], "choices": endings, "label": label},
            "mmlu": {"question": f" {first}\n", "subject": "abstract_algebra", "choices": endings, "answer": label},
            "boolq": {"question": first, "passage": draw.choice(lines), "idx": i, "label": label % 2},
            "sciq": {"question": first, "distractor3": others[2], "distractor1": others[0], "distractor2": others[1],
                     "correct_answer": right, "support": ("", "\u2003\n ", " ")[i % 3] + draw.choice(lines)},
            "openbookqa": {"id": str(i), "question_stem": first, "answerKey": ("", " ")[i % 2] + "ABCD"[label],
                           "choices": {"text": endings, "label": list("ABCD")}},
            "copa": {"premise": f" {right} ", "choice1": "\u00c9" + endings[0], "choice2": endings[1].capitalize(), "idx": i,
                     "question": ("cause", "effect")[i % 2], "label": label % 2},
            "social_iqa": {"context": first, "question": draw.choice(lines), "answerA": endings[0], "answerB": endings[1],
                           "answerC": endings[2], "label": "123"[label % 3]},
            "commonsense_qa": {"id": str(i), "question": f"{first} ", "question_concept": "x", "answerKey": "ABCDE"[i % 5],
                               "choices": {"text": [e.split()[0] for e in endings] + ["z"], "label": list("ABCDE")}},
        }


def config_of(file):
    """Returns the harness's own description of a task."""
    config = load_yaml(os.path.join(os.path.dirname(tasks.__file__), file))
    return {key: value for key, value in config.items() if not key.endswith("_split") and key not in ("dataset_name", "tag", "task_alias")}


TASKS = {
    "hellaswag": "hellaswag/hellaswag.yaml", "piqa": "piqa/piqa.yaml", "arc": "arc/arc_easy.yaml",
    "winogrande": "winogrande/default.yaml", "mmlu": "mmlu/default/mmlu_abstract_algebra.yaml",
    "boolq": "super_glue/boolq/default.yaml", "sciq": "sciq/sciq.yaml", "openbookqa": "openbookqa/openbookqa.yaml",
    "copa": "super_glue/copa/default.yaml", "social_iqa": "siqa/siqa.yaml",
    "commonsense_qa": "commonsense_qa/default.yaml",
    "plain": None,
}
PLAIN = {"doc_to_text": "context", "doc_to_target": "label", "doc_to_choice": "choices", "output_type": "multiple_choice",
         "metric_list": [{"metric": m, "aggregation": "mean"} for m in ("acc", "acc_norm")]}


def choices(model, folder, work, form, shots, parts):
    file = TASKS[form]
    config = config_of(file) if file else PLAIN
    paths = [os.path.join(work, f"{form}-{part}.jsonl") for part in ("test", "train")]
    for path, rows in zip(paths, parts):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(row[form], ensure_ascii=False) + "\n" for row in rows)
    want, samples = theirs(model, form, paths[0], config, shots, paths[1])
    if form == "mmlu":  # the harness has a file for each subject
        paths[1] = os.path.join(work, "mmlu-subjects.jsonl")
        with open(paths[1], "w", encoding="utf-8") as f:
            f.writelines(json.dumps({**row[form], "subject": subject, "answer": answer}) + "\n" for row in parts[1]
                         for subject, answer in (("anatomy", 0), ("abstract_algebra", row[form]["answer"])))
    options = ["--shots", str(shots), "--examples", paths[1]] if shots else []
    *rows, got = ours("choice", "--model", folder, *options, paths[0])
    expect(f"{form}, questions", got["questions"], len(samples))
    worst = 0
    for row, sample in zip(rows, samples):
        probabilities = [float(resp[0]) for resp in sample["filtered_resps"]]
        expect(f"{form}, choices", len(row["logprobs"]), len(probabilities))
        worst = max(worst, *(abs(a - b) for a, b in zip(row["logprobs"], probabilities)))
        expect(f"{form}, line {row['line']}", row["right"], sample["acc"])
        if "acc_norm" in want:
            expect(f"{form}, line {row['line']}, by character", row["right_norm"], sample["acc_norm"])
    expect(f"{form}, log-probabilities", worst <= 1e-4, True)
    expect(f"{form}, acc_norm", "acc_norm" in got, "acc_norm" in want)
    metrics = [m for m in ("acc", "acc_norm") if m in want]
    for metric in metrics:
        p = want[metric]
        expect(f"{form}, {metric}", got[metric], p, 1e-12)
        expect(f"{form}, {metric}_stderr", got[metric + "_stderr"], (p * (1 - p) / (len(samples) - 1)) ** 0.5, 1e-9)
    print(f"harness: {form}, {shots} examples: " + ", ".join(f"{m} {got[m]:.6g}, {want[m]:.6g}" for m in metrics) +
          f"; log-probabilities differ by at most {worst:.1e}")


with tempfile.TemporaryDirectory() as work:
    os.environ["HF_HOME"] = work
    folder = os.path.join(work, "model")
    model_folder(folder)
    torch.set_num_threads(2)
    model = HFLM(pretrained=folder, device="cpu", batch_size=8)
    word_perplexity(model, folder, work)
    parts = [list(questions(random.Random(seed), sentences(), count)) for seed, count in ((5, 20), (6, 10))]
    for form in TASKS:
        for shots in (0, 2):
            choices(model, folder, work, form, shots, parts)
print(f"harness: {checks} figures compared, {failures} differ")
sys.exit(failures != 0)
