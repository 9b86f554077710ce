"""Classes of texts: fine-tuning beside PyTorch, from one encoder with a new head, for classes and for numbers; then what the model
says beside transformers, and its scores beside scikit-learn and scipy."""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from lib import finetune
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import (AutoModelForSequenceClassification, BertConfig, BertForPreTraining, BertTokenizerFast, PreTrainedTokenizerFast,
                              RobertaConfig, RobertaForMaskedLM)
except ImportError:
    sys.exit(77)

DATA = os.environ["DATA"]
VOCAB, TRAIN = (os.path.join(DATA, p) for p in ("tokenizers/bert-base-uncased-vocab.txt", "squad/train-v1.1.subset44.json"))
if not os.path.exists(TRAIN):
    print("SKIP classify: no data")
    sys.exit(0)
LENGTH, ROWS = 63, 24
NAMES = ["contradiction", "entailment", "neutral"]
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(9)
some = random.Random(5)
paragraphs = [p for a in json.load(open(TRAIN, encoding="utf-8"))["data"] for p in a["paragraphs"]]
PAIRS = [(p["qas"][0]["question"], " ".join(p["context"].split())[:some.randrange(20, 400)]) for p in paragraphs[::40][:ROWS]]


def tables(work):
    """Writes the pairs as MNLI's table, as JSON lines with numbers, and as one of single texts without names."""
    labels = [some.randrange(3) for _ in PAIRS]
    values = [round(some.uniform(0, 5), 2) for _ in PAIRS]
    with open(os.path.join(work, "mnli.tsv"), "w", encoding="utf-8") as f:
        f.write("index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n")
        for i, ((a, b), k) in enumerate(zip(PAIRS, labels)):
            f.write(f"{i}\tx\t{a}\t{b}\tneutral\t{NAMES[k]}\n")
        f.write(f"{ROWS}\tx\tnobody\tagrees\tneutral\t-\n")
    with open(os.path.join(work, "sts.jsonl"), "w", encoding="utf-8") as f:
        for (a, b), v in zip(PAIRS, values):
            f.write(json.dumps({"sentence1": a, "sentence2": b, "score": v}) + "\n")
    with open(os.path.join(work, "cola.tsv"), "w", encoding="utf-8") as f:
        for (a, _), k in zip(PAIRS, labels):
            f.write(f"gj04\t{k % 2}\t*\t{a}\n")
    return torch.tensor(labels), torch.tensor(values)


def roberta_tokenizer():
    """A byte-level vocabulary of RoBERTa's form, learned from the pairs."""
    special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator([x for pair in PAIRS for x in pair], trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(special.values()), initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=t, **special)


def evaluated(model, file, *options):
    text = subprocess.run(["evaluate", "classify", "-q", "--json", "--model", model, "--sequence-length", str(LENGTH), "--force", "-o",
                           file + ".said", *options, file], check=True, capture_output=True, text=True).stdout
    said = [line.rstrip("\n").split("\t")[1] for line in open(file + ".said", encoding="utf-8")][1:]
    return json.loads(text), said


def close(a, b):
    assert abs(a - b) < 1e-12, (a, b)


with tempfile.TemporaryDirectory() as work:
    start, roberta = os.path.join(work, "start"), os.path.join(work, "roberta")
    sizes = dict(num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=64, initializer_range=0.1,
                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    BertForPreTraining(BertConfig(**sizes, max_position_embeddings=LENGTH)).save_pretrained(start)
    with open(os.path.join(start, "vocab.txt"), "wb") as f:
        f.write(open(VOCAB, "rb").read())
    byte_level = roberta_tokenizer()
    byte_level.save_pretrained(roberta)
    RobertaForMaskedLM(RobertaConfig(**sizes, vocab_size=len(byte_level), max_position_embeddings=LENGTH + 2,
                                     type_vocab_size=1)).save_pretrained(roberta)
    labels, values = tables(work)

    def rows_of(tokenizer, *texts):
        return tokenizer(*texts, truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
    bert = BertTokenizerFast(VOCAB)
    first, second = [a for a, _ in PAIRS], [b for _, b in PAIRS]
    rows, lone, other = rows_of(bert, first, second), rows_of(bert, first), rows_of(byte_level, first, second)
    other.pop("token_type_ids", None)
    length = ["--sequence-length", str(LENGTH)]
    two = ["--text-column", "4", "--label-column", "2"]
    for begin, name, inputs, targets, task, columns in (
            (start, "mnli.tsv", rows, labels, "classify", []), (start, "sts.jsonl", rows, values, "regression", []),
            (start, "cola.tsv", lone, labels % 2, "classify", two), (roberta, "mnli.tsv", other, labels, "classify", [])):
        file, out = os.path.join(work, name), begin + name + ".model"
        tokenizer = bert if begin == start else byte_level
        here = finetune.ours(task, begin, out, ROWS, "--data", file, *length, *columns)
        model = AutoModelForSequenceClassification.from_pretrained(out + "0")
        assert type(model).__name__ == ("Bert" if begin == start else "Roberta") + "ForSequenceClassification"
        there = finetune.theirs(model, lambda m: m(**inputs, labels=targets).loss)
        finetune.compare(f"classify: {os.path.basename(out)}, {int(inputs['attention_mask'].sum())} tokens", here, there, model, out, ("key.bias",))
        # what a model says that has not learned the texts by heart, and after a round through transformers
        trained = AutoModelForSequenceClassification.from_pretrained(out)
        if name == "mnli.tsv":
            assert trained.config.id2label == dict(enumerate(NAMES)) and trained.config.label2id["neutral"] == 2
        for folder, says in ((out + "0", AutoModelForSequenceClassification.from_pretrained(out + "0")), (out + "1", trained)):
            if folder == out + "1":
                says.save_pretrained(folder)
                tokenizer.save_pretrained(folder)
            logits = says.eval()(**inputs).logits.detach()
            report, said = evaluated(folder, file, *columns)
            assert report["unlabelled"] == (name == "mnli.tsv") and report["texts"] == ROWS + (name == "mnli.tsv")
            if name == "sts.jsonl":
                said = [float(x) for x in said]
                assert max(abs(a - b) for a, b in zip(said, logits[:, 0].tolist())) < 1e-4
                close(report["pearson"], pearsonr(said, values.double()).statistic)
                close(report["spearman"], spearmanr(said, values.double()).statistic)
            else:
                best = logits.argmax(1)
                names = [says.config.id2label[int(k)] for k in best]
                assert said[:ROWS] == [n.removeprefix("LABEL_") if name == "cola.tsv" else n for n in names], (said, names)
                truth = targets.tolist()
                close(report["accuracy"], accuracy_score(truth, best))
                close(report["matthews"], matthews_corrcoef(truth, best))
                if name == "mnli.tsv":
                    close(report["f1_macro"], f1_score(truth, best, average="macro"))
                else:
                    close(report["f1"], f1_score(truth, best))
            print(f"classify: {os.path.basename(folder)}: {report}")
