"""Texts for comparing tokenizers, and a function that runs our side. Without real data the comparison is skipped."""
import json
import os
import random
import subprocess

from lib.paths import DATA, need_data

need_data()


def read(name):
    with open(os.path.join(DATA, name), encoding="utf-8", newline="") as f:
        return f.read()


def read_lines(name):
    """Returns the lines that are not empty."""
    return [line for line in read(name).split("\n") if line]


def random_texts(count, seed, parts, share, limit):
    """Yields texts of less than `limit` pieces. A piece is one of `parts` with probability `share`, else a character of
    any plane."""
    r = random.Random(seed)

    def one():
        if r.random() < share:
            return r.choice(parts)
        c = r.randrange(0x20, r.choice([0x80, 0x800, 0x10000, 0x110000]))
        return "" if 0xD800 <= c < 0xE000 else chr(c)
    return ["".join(one() for _ in range(r.randrange(0, limit))) for _ in range(count)]


def tokenize(*args, data=None):
    done = subprocess.run(["tokenize", *args, "-q"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()[-400:]
    return done.stdout


def json_lines(texts):
    return "".join(json.dumps({"text": t}) + "\n" for t in texts).encode()


def our_ids(vocabulary, texts, *options):
    out = tokenize(*options, "--vocab", vocabulary, "--ids", "--format", "jsonl", data=json_lines(texts)).decode()
    return [[int(i) for i in line.split()] for line in out.split("\n")[:-1]]
