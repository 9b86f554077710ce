"""evaluate beside PyTorch on a random GPT-2: for WikiText, Megatron's figures and the strided perplexity of Hugging
Face's guide; for LAMBADA, the same counts by both rules; the same loss on Megatron data; and the detokenizer beside
its rules as regular expressions."""
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import torch
    from tokenizers import Tokenizer
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit(77)
DATA = os.environ["DATA"]
if not os.path.isdir(os.path.join(DATA, "tokenizers")):
    sys.exit(77)
TOKENIZER = Tokenizer.from_file(os.path.join(DATA, "tokenizers", "gpt2-tokenizer.json"))
POSITIONS = 96
checks = failures = 0


def equal_digits(what, got, want):
    """Checks that the first six digits are equal."""
    expect(what, got, want, 1e-6 * abs(want))


def expect(what, got, want, tolerance=0.0):
    global checks, failures
    checks += 1
    if abs(got - want) > tolerance:
        failures += 1
        print(f"evaluate: {what}: {got}, not {want}")


def model_folder(folder):
    torch.manual_seed(4)
    config = GPT2Config(n_layer=2, n_embd=48, n_head=3, n_positions=POSITIONS, initializer_range=0.15)
    model = GPT2LMHeadModel(config).eval()
    model.save_pretrained(folder)
    shutil.copy(os.path.join(DATA, "tokenizers", "gpt2-vocab.json"), os.path.join(folder, "vocab.json"))
    shutil.copy(os.path.join(DATA, "tokenizers", "gpt2-merges.txt"), os.path.join(folder, "merges.txt"))
    return model


def ours(*command):
    out = subprocess.run(["evaluate", *command, "-q", "--json"], check=True, capture_output=True).stdout
    return json.loads(out)


def score(model, ids, scored):
    """Returns the sum of the losses of the last `scored` of ids, the number of them that are the argmax, and whether the
    last one is."""
    with torch.no_grad():
        logits = model(torch.tensor([ids[:-1]])).logits[0, -scored:].double()
    labels = torch.tensor(ids[-scored:])
    right = logits.argmax(-1) == labels
    return torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item(), int(right.sum()), bool(right[-1])


# ---- WikiText ------------------------------------------------------------------------------------

def detokenize(text):
    text = text.replace("s '", "s'")
    for mark in "-,.":
        text = text.replace(f" @{mark}@ ", mark)
    for mark in ":;.!?,":
        text = text.replace(f" {mark} ", f"{mark} ")
    for left, right in ("()", "[]", "{}", '""', "''"):
        text = re.sub(rf"\{left}\s*([^\{right}]*?)\s*\{right}", rf"{left}\1{right}", text)
    for before, after in (("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" \u00b0 ", "\u00b0"),
                          (" \n", "\n"), ("\n ", "\n"), (" N ", " 1 "), (" 's", "'s")):
        text = text.replace(before, after)
    return text


def wiki(model, folder, path):
    text = open(path, encoding="utf-8", newline="").read()
    ids = TOKENIZER.encode(detokenize(text)).ids
    words = len(text.strip().split(" "))
    for length, stride in ((96, 32), (96, 96), (50, 7), (64, 1)):
        nll, right, done = 0.0, 0, 1
        while done < len(ids):
            begin = 0 if done == 1 else done + stride - 1 - length
            window = ids[begin:begin + length + 1]
            loss, hits, _ = score(model, window, begin + len(window) - done)
            nll, right, done = nll + loss, right + hits, begin + len(window)
        loss, ratio = nll / (len(ids) - 1), (len(ids) - 1) / (words - 1)
        got = ours("wiki", "--model", folder, "--sequence-length", str(length), "--stride", str(stride), path)
        at = f"wiki, length {length}, stride {stride}: "
        expect(at + "tokens", got["tokens"], len(ids))
        expect(at + "words", got["words"], words)
        expect(at + "bytes", got["bytes"], len(text.encode()))
        expect(at + "token ratio", got["token_ratio"], ratio)
        equal_digits(at + "loss", got["loss"], loss)
        equal_digits(at + "perplexity", got["perplexity"], math.exp(min(20, loss)))
        equal_digits(at + "adjusted perplexity", got["adjusted_perplexity"], math.exp(min(20, loss * ratio)))
        equal_digits(at + "bits per byte", got["bits_per_byte"], nll / math.log(2) / len(text.encode()))
        expect(at + "accuracy", got["accuracy"], right / (len(ids) - 1), 1e-3)


def rows_of(path):
    """Returns the row of Hugging Face's data set for each line of WikiText."""
    return [line if line.strip() else "" for line in open(path, encoding="utf-8")]


def strided_perplexity(model, ids, length, stride):
    """The guide's rule: the mean loss of each window counts for one token less than the window moves on."""
    total = tokens = last = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        inputs = torch.tensor([ids[begin:end]])
        labels = inputs.clone()
        labels[:, :last - end] = -100
        weight = end - last - 1
        if weight > 0:
            with torch.no_grad():
                total += model(inputs, labels=labels).loss.item() * weight
            tokens += weight
        last = end
        if end == len(ids):
            break
    return math.exp(total / tokens)


def strided(model, folder, path):
    ids = TOKENIZER.encode("\n\n".join(rows_of(path))).ids
    for length, stride in ((96, 48), (96, 96), (50, 7), (33, 32)):
        got = ours("wiki", "--rule", "strided", "--model", folder, "--sequence-length", str(length), "--stride", str(stride), path)
        at = f"strided, length {length}, stride {stride}: "
        want = strided_perplexity(model, ids, length, stride)
        expect(at + "tokens", got["tokens"], len(ids))
        equal_digits(at + "perplexity", got["perplexity"], want)
        print(f"evaluate: {at}perplexity {got['perplexity']}, {want}")


# ---- LAMBADA -------------------------------------------------------------------------------------

def lambada(model, folder, path):
    words = tokens = passages = 0
    nll = 0.0
    for line in open(path, encoding="utf-8"):
        text = json.loads(line)["text"]
        word = text.split()[-1]
        context = text[:text.rfind(word)].strip()
        label = TOKENIZER.encode(" " + word).ids
        loss, right, _ = score(model, (TOKENIZER.encode(context).ids + label)[-POSITIONS - 1:], len(label))
        _, _, last = score(model, TOKENIZER.encode(text.strip()).ids[-POSITIONS - 1:], 1)
        words, tokens, nll, passages = words + (right == len(label)), tokens + last, nll + loss, passages + 1
    got = ours("lmbd", "--model", folder, path)
    expect("lambada, passages", got["passages"], passages)
    expect("lambada, words right", got["right"], words)
    expect("lambada, tokens right", got["token_right"], tokens)
    expect("lambada, loss a word", got["loss"], nll / passages, 1e-3)
    print(f"evaluate: LAMBADA {passages} passages, {words} words and {tokens} last tokens right")


def best_piece(model, text, pattern, rank):
    """Returns the first token, in order of probability from rank `rank` on, whose text matches."""
    with torch.no_grad():
        logits = model(torch.tensor([TOKENIZER.encode(text).ids[-POSITIONS:]])).logits[0, -1]
    pieces = (TOKENIZER.decode([t]) for t in logits.topk(3000).indices.tolist()[rank:])
    return next((piece for piece in pieces if re.fullmatch(pattern, piece)), " none")


def easy_lambada(model, source, path, count):
    """Returns real passages. In two of three the last word is replaced by one that the model predicts: its first choice
    or a later one, a word of one token, or an unusual beginning whose end the model predicts."""
    with open(path, "w", encoding="utf-8") as out, open(source, encoding="utf-8") as lines:
        for i, line in zip(range(count), lines):
            text = json.loads(line)["text"]
            context = TOKENIZER.decode(TOKENIZER.encode(text[:text.rfind(text.split()[-1])].strip()).ids[-POSITIONS + 8:])
            if i % 3 == 0:
                text = context + best_piece(model, context, " [A-Za-z]+", i % 2 * 10)
            elif i % 3 == 1:
                text = context + " Zq" + best_piece(model, context + " Zq", "[A-Za-z]+", 0)
            out.write(json.dumps({"text": text}) + "\n")


# ---- shards --------------------------------------------------------------------------------------

def megatron(model, folder, prefix, length, count):
    with open(prefix + ".idx", "rb") as f:
        f.seek(17)
        dtype = struct.unpack("B", f.read(1))[0]
    kind, size = {4: ("i", 4), 8: ("H", 2)}[dtype]
    with open(prefix + ".bin", "rb") as f:
        ids = struct.unpack(f"<{count * length + 1}{kind}", f.read((count * length + 1) * size))
    nll = right = 0
    for i in range(count):
        loss, hits, _ = score(model, list(ids[i * length:(i + 1) * length + 1]), length)
        nll, right = nll + loss, right + hits
    got = ours("shards", "--model", folder, "--sequence-length", str(length), "--limit", str(count), prefix)
    expect("shards, sequences", got["sequences"], count)
    expect("shards, tokens", got["tokens"], count * length)
    expect("shards, loss", got["loss"], nll / (count * length), 1e-4)
    expect("shards, accuracy", got["accuracy"], right / (count * length), 1e-3)


with tempfile.TemporaryDirectory() as work:
    reference = model_folder(work)
    part = os.path.join(work, "part.tokens")
    with open(os.path.join(DATA, "wikitext", "wikitext-103.valid.tokens"), encoding="utf-8") as f:
        open(part, "w", encoding="utf-8").write(f.read(5000))
    wiki(reference, work, part)
    strided(reference, work, part)
    slice_path = os.path.join(work, "lambada.jsonl")
    easy_lambada(reference, os.path.join(DATA, "lambada", "lambada_test.jsonl"), slice_path, 300)
    lambada(reference, work, slice_path)
    prefixes = [os.path.join(DATA, "megatron", n[:-4]) for n in sorted(os.listdir(os.path.join(DATA, "megatron"))) if n.endswith(".bin")]
    for prefix in prefixes:
        megatron(reference, work, prefix, 80, 25)
print(f"evaluate: {checks} figures compared, {failures} differ")
sys.exit(failures != 0)
