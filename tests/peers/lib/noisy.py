"""Documents for comparisons of filters: real ones from the web and from books, and ones made of these by damage that filters look for."""
import json
import os
import random

from lib.paths import DATA


def damaged(rng, text):
    """The text with one to three kinds of damage."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 3)):
        kind, some = rng.randrange(20), rng.randrange(len(lines))
        share = rng.random()
        if kind == 0:
            lines = lines * rng.randint(1, 3)
        elif kind == 1:
            lines = [rng.choice(["- ", "• ", "* ", ""]) + x for x in lines]
        elif kind == 2:
            lines = [x[: rng.randint(5, 200)] + rng.choice(["...", "…", ""]) if rng.random() < share else x for x in lines]
        elif kind == 3:
            lines = [x.replace(" ", " # " if rng.random() < share / 3 else " ") for x in lines]
        elif kind == 4:
            lines = lines[: rng.randint(1, 6)]
        elif kind == 5:
            lines[some] += " function() { return javascript; }"[: rng.randint(8, 35)]
        elif kind == 6:
            lines[some] = rng.choice(["We use cookies on this site.", "Read our Privacy Policy here.", "Terms of use apply.",
                                      "Lorem ipsum dolor sit amet."])
        elif kind == 7:
            lines = [x.rstrip(".!?\"'") if rng.random() < share else x for x in lines]
        elif kind == 8:
            words = text.split(" ")
            begin = rng.randrange(len(words))
            phrase = " ".join(words[begin : begin + rng.randint(2, 14)])
            lines = [x + (" " + phrase) * rng.randint(0, 4) if rng.random() < share else x for x in lines]
        elif kind == 9:
            lines = [" ".join(w if rng.random() > share / 2 else str(rng.randrange(10**6)) for w in x.split(" ")) for x in lines]
        elif kind == 10:
            lines = " ".join(lines).split(rng.choice([". ", ", ", " "]))
        elif kind == 11:
            lines = ["  " + x + rng.choice(["[1]", " [12] ", "[edit]", "[citation needed].", " \t"]) for x in lines]
        elif kind == 12:
            lines = [x for y in lines for x in ([y, y] if rng.random() < share / 2 else [y])]
        elif kind == 13:
            lines = [rng.choice(["\r", "\u2028", "\x0b", "\u00a0", "\n\n"]).join(x.split(". ")) for x in lines]
        elif kind == 14:
            lines[some] += "x" * rng.randint(900, 1100)
        elif kind == 15:
            lines = [x.upper() for x in lines]
        elif kind == 16:
            lines = [rng.choice("äéñßøçœ文字") + x.replace("e", "é") for x in lines]
        elif kind == 17:
            lines = ["\n".join(x[i : i + 25] for i in range(0, len(x), 25)) if rng.random() < share else x for x in lines]
        elif kind == 18:
            lines = [x for y in lines for x in (y, "") if rng.random() < 0.9]
        else:
            begin = rng.randrange(len(text))
            lines = text[begin : begin + rng.randint(10, 3000)].split("\n")
        lines = lines or [""]
    return "\n".join(lines)


def documents(count, seed=1):
    """`count` texts: 1,000 pages of OpenWebText, half as many damaged ones as are missing, passages of LAMBADA, and damaged ones again."""
    rng = random.Random(seed)
    web = [json.loads(x)["text"] for x in open(os.path.join(DATA, "megatron/openwebtext-1000.jsonl"), encoding="utf-8")]
    books = [json.loads(x)["text"] for x in open(os.path.join(DATA, "lambada/lambada_test.jsonl"), encoding="utf-8")]
    out = web[:count]
    while len(out) < count:
        out.append(damaged(rng, rng.choice(web)) if rng.random() < 0.8 else rng.choice(books))
    return out
