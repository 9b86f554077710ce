"""evaluate beside lm-evaluation-harness on a random GPT-2, without network: the word perplexity of its task wikitext,
and acc and acc_norm of its tasks hellaswag, piqa, arc_easy and winogrande, on questions made of WikiText's sentences."""
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
    from lm_eval.tasks.hellaswag import utils as hellaswag
    from lm_eval.tasks.wikitext import preprocess_wikitext as wikitext
    from lm_eval.tasks.winogrande import preprocess_winogrande as winogrande
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
except ImportError:
    sys.exit(77)
DATA = os.environ["DATA"]
if not os.path.isdir(os.path.join(DATA, "tokenizers")):
    sys.exit(77)
POSITIONS = 160
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
    return json.loads(out)


def theirs(model, name, path, config):
    """Returns the harness's figures of one task; its data are the JSON lines of a file."""
    task = ConfigurableTask(config={
        "task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}}, "test_split": "test",
        "num_fewshot": 0, **config})
    with contextlib.redirect_stderr(io.StringIO()):
        results = evaluator.evaluate(lm=model, task_dict={name: task}, bootstrap_iters=0)
    return {key.split(",")[0]: value for key, value in results["results"][name].items()}


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
    want = theirs(model, "wikitext", lines, {
        "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": wikitext.wikitext_detokenizer,
        "process_results": wikitext.process_results,
        "metric_list": [{"metric": m} for m in ("word_perplexity", "byte_perplexity", "bits_per_byte")]})
    got = ours("wiki", "--rule", "words", "--model", folder, tokens)
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
        }


TASKS = {
    "hellaswag": {"process_docs": hellaswag.process_docs, "doc_to_text": "{{query}}", "doc_to_target": "{{label}}",
                  "doc_to_choice": "choices"},
    "piqa": {"doc_to_text": "Question: {{goal}}\nAnswer:", "doc_to_target": "label", "doc_to_choice": "{{[sol1, sol2]}}"},
    "arc": {"doc_to_text": "Question: {{question}}\nAnswer:", "doc_to_target": "{{choices.label.index(answerKey)}}",
            "doc_to_choice": "{{choices.text}}"},
    "winogrande": {"doc_to_text": winogrande.doc_to_text, "doc_to_target": winogrande.doc_to_target,
                   "doc_to_choice": winogrande.doc_to_choice},
    "plain": {"doc_to_text": "context", "doc_to_target": "label", "doc_to_choice": "choices"},
}


def choices(model, folder, work, count):
    rows = list(questions(random.Random(5), sentences(), count))
    for form, config in TASKS.items():
        path = os.path.join(work, form + ".jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(row[form], ensure_ascii=False) + "\n" for row in rows)
        metrics = ["acc"] if form == "winogrande" else ["acc", "acc_norm"]
        want = theirs(model, form, path, {"output_type": "multiple_choice", **config,
                                          "metric_list": [{"metric": m, "aggregation": "mean"} for m in metrics]})
        got = ours("choice", "--model", folder, path)
        expect(f"{form}, questions", got["questions"], count)
        for metric in metrics:
            expect(f"{form}, {metric}", got[metric], want[metric], 1e-12)
            p = want[metric]
            expect(f"{form}, {metric}_stderr", got[metric + "_stderr"], (p * (1 - p) / (count - 1)) ** 0.5, 1e-9)
        print(f"harness: {form}: " + ", ".join(f"{m} {got[m]:.6g}, {want[m]:.6g}" for m in metrics))


with tempfile.TemporaryDirectory() as work:
    os.environ["HF_HOME"] = work
    folder = os.path.join(work, "model")
    model_folder(folder)
    torch.set_num_threads(2)
    model = HFLM(pretrained=folder, device="cpu", batch_size=8)
    word_perplexity(model, folder, work)
    choices(model, folder, work, 120)
print(f"harness: {checks} figures compared, {failures} differ")
sys.exit(failures != 0)
