"""evaluate squad beside the published metric, rewritten with Python's own strings and regular expressions. Artificial
questions and predictions with many articles, punctuation marks, unusual white space and letters of all scripts; both
versions of SQuAD, with repeated ids, missing predictions and probabilities of no answer."""
import json
import os
import random
import re
import statistics
import string
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter

SPACES = [chr(c) for c in range(0x3001) if chr(c).isspace()]
LETTERS = [chr(c) for c in range(0x20000) if c < 0xD800 or c > 0xDFFF if unicodedata.category(chr(c))[0] in "LNMPSC"
           and unicodedata.category(chr(c)) != "Cn"]
WORDS = ["a", "an", "the", "The", "AN", "A", "answer", "\u039f\u0394\u039f\u03a3", "\u03a3", "\u0130stanbul", "\u00c5", "a\u0301", "the_", "(the)",
         "an-", "\u2014the", "x", "\u0b87", "the\u200d", "1990s", "a\u00df", "U.S.", "caf\u00e9", ""]
draw = random.Random(16)
checks = failures = 0


def normal(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact(gold, text):
    return int(normal(gold) == normal(text))


def f1(gold, text, version):
    gold, text = normal(gold).split(), normal(text).split()
    if version == 2 and not (gold and text):
        return int(gold == text)
    same = sum((Counter(gold) & Counter(text)).values())
    if not same:
        return 0
    precision, recall = same / len(text), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def add(values):
    total = 0
    for value in values:  # sum() of Python 3.12 and later adds otherwise
        total += value
    return total


def error(values):
    """Returns the standard error of the mean, in per cent."""
    return 100 * statistics.stdev(values) / len(values) ** .5 if len(values) > 1 else 0.0


def score_1(questions, predictions):
    both = [(max(exact(g, predictions[q]) for g in golds), max(f1(g, predictions[q], 1) for g in golds))
            for q, golds in questions if q in predictions]
    none = [(0, 0)] * (len(questions) - len(both))
    return {"exact_match": 100.0 * add(e for e, _ in both) / len(questions),
            "exact_match_stderr": error([e for e, _ in both + none]),
            "f1": 100.0 * add(f for _, f in both) / len(questions), "f1_stderr": error([f for _, f in both + none]),
            "missing": len(none)}


def best(scores, predictions, answerable, probability):
    now = top = sum(not value for value in answerable.values())
    threshold = 0.0
    for q in sorted(probability, key=probability.get):
        if q in scores:
            now += scores[q] if answerable[q] else -bool(predictions[q])
            if now > top:
                top, threshold = now, probability[q]
    return 100.0 * top / len(scores), threshold


def score_2(questions, predictions, probability, limit):
    answerable, scores = {}, ({}, {})
    for q, golds in questions:
        answerable[q] = bool(golds)
        golds = [g for g in golds if normal(g)] or [""]
        if q in predictions:
            scores[0][q] = max(exact(g, predictions[q]) for g in golds)
            scores[1][q] = max(f1(g, predictions[q], 2) for g in golds)
    out = {}
    for prefix, wanted in (("", (True, False)), ("HasAns_", (True,)), ("NoAns_", (False,))):
        asked = [q for q in scores[0] if answerable[q] in wanted]
        for name, values in zip(("exact", "f1"), scores):
            counted = [not answerable[q] if probability[q] > limit else values[q] for q in asked]
            out[prefix + name] = 100.0 * add(counted) / len(asked)
            out[prefix + name + "_stderr"] = error(counted)
        out[prefix + "total"] = len(asked)
    for name, values in zip(("exact", "f1"), scores):
        out["best_" + name], out[f"best_{name}_thresh"] = best(values, predictions, answerable, probability)
    return out


def some_text():
    parts = []
    for _ in range(draw.randrange(7)):
        parts.append(draw.choice(WORDS) if draw.random() < .7 else "".join(draw.choices(LETTERS, k=draw.randrange(1, 5))))
        parts.append(draw.choice(SPACES) if draw.random() < .3 else draw.choice([" ", " ", " ", "", ", "]))
    return "".join(parts)


def near(text):
    words = text.split(" ")
    draw.shuffle(words)
    return " ".join(words + draw.choices(WORDS, k=draw.randrange(2)))


def make(count, version):
    questions, predictions, probability = [], {}, {}
    for i in range(count):
        golds = [some_text() for _ in range(0 if version == 2 and draw.random() < .4 else draw.randrange(1, 4))]
        q = f"q{i}" if draw.random() < .95 else f"q{i // 2}"
        questions.append((q, golds))
        if draw.random() < .95:
            predictions[q] = near(draw.choice(golds)) if golds and draw.random() < .7 else draw.choice(["", some_text()])
    for q in draw.sample(sorted(predictions), len(predictions)):
        probability[q] = round(draw.random(), 2)
    predictions["stranger"] = "the"
    return questions, predictions, probability


def dataset(questions, version):
    qas = [{"id": q, "question": "?", "answers": [{"text": g, "answer_start": 0} for g in golds],
            **({"is_impossible": not golds} if version == 2 else {})} for q, golds in questions]
    return {"version": str(version), "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": qas}]}]}


def compare(what, want, folder, data, *options):
    global checks, failures
    got = json.loads(subprocess.run(["evaluate", "squad", "-q", "--json", *options, data], cwd=folder, check=True,
                                    capture_output=True).stdout)
    text = subprocess.run(["evaluate", "squad", "-q", *options, data], cwd=folder, check=True,
                          capture_output=True, text=True).stdout
    lines = dict(line.split("=", 1) for line in text.splitlines())
    for key, value in want.items():
        checks += 1
        rounded = key.endswith("_stderr")  # 6 digits in lines; the last digits are not the published script's
        if (abs(got[key] - value) > 1e-9 or abs(float(lines[key]) - value) > 1e-5 * value + 1e-9 if rounded
                else got[key] != value or float(lines[key]) != value):
            failures += 1
            print(f"squad: {what}: {key} is {got[key]!r} and {lines[key]}, not {value!r}")


def write(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=draw.random() < .5)


with tempfile.TemporaryDirectory() as work:
    for trial in range(20):
        version = 1 + trial % 2
        questions, predictions, probability = make(draw.choice([30, 3000]), version)
        write(work, "data.json", dataset(questions, version))
        write(work, "p.json", predictions)
        write(work, "na.json", probability)
        if version == 1:
            compare(f"trial {trial}", score_1(questions, predictions), work, "data.json", "-p", "p.json")
        else:
            limit = draw.choice([1.0, .5, .11])
            compare(f"trial {trial}", score_2(questions, predictions, probability, limit), work, "data.json", "-p",
                    "p.json", "--na-prob", "na.json", "--na-threshold", str(limit))
    source = os.path.join(os.environ["DATA"], "squad")
    if os.path.isdir(source):
        data = os.path.join(source, "dev-v1.1.json")
        questions = [(q["id"], [a["text"] for a in q["answers"]]) for article in json.load(open(data, encoding="utf-8"))["data"]
                     for paragraph in article["paragraphs"] for q in paragraph["qas"]]
        for name in sorted(os.listdir(source)):
            if not re.match("dev|train", name):
                path = os.path.join(source, name)
                compare(name, score_1(questions, json.load(open(path, encoding="utf-8"))), work, data, "-p", path)
print(f"squad: {checks} figures compared, {failures} differ")
sys.exit(failures != 0)
