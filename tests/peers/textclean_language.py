"""textclean language beside CLD2 and lingua: lines of news in five languages that are found, with a model that is learned from wikis. CLD2
names one of all languages that it knows; of its three guesses the first one of the five counts. Prints
the rates in processor time, for ours with reading and writing JSON."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import pycld2
    from lingua import Language, LanguageDetectorBuilder
except ImportError:
    sys.exit(77)

from lib.paths import DATA

WIKIS = {"en": "enwiki-p10p30302-shortened.xml.bz2", "el": "elwiki-truncated-100k.xml.xz", "uk": "ukwiki-truncated-100k.xml.xz",
         "ja": "jawiki-truncated-100k.xml.xz", "it": "itwiki-small.xml.gz"}
NEWS = {"en": "eng", "el": "ell", "uk": "ukr", "ja": "jpn", "it": "ita"}
if not os.path.isdir(os.path.join(DATA, "ntrex")) or not os.path.isdir(os.path.join(DATA, "wiki")):
    sys.exit(77)


def learn(folder):
    """Makes a model of the wikis. Some dumps are cut short: what wikiprep wrote before is used, without the line that promises an end."""
    for code, dump in WIKIS.items():
        text = subprocess.run(["wikiprep", "-q", f"{DATA}/wiki/{dump}"], capture_output=True).stdout
        with open(f"{folder}/{code}", "wb") as out:
            out.write(text[text.index(b"\n") + 1:] if not text.rstrip().endswith(b"-->") else text)
    model = f"{folder}/model"
    subprocess.run(["textclean", "learn-language", "-q", "-o", model] + [f"{c}={folder}/{c}" for c in WIKIS], check=True)
    return model


def ours(lines, model, folder):
    path = f"{folder}/lines"
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": line}, ensure_ascii=False) + "\n" for line in lines)
    done = subprocess.run(["textclean", "language", "-q", "-t", "1", "--model", model, "--mark", path], capture_output=True, check=True)
    return [json.loads(line)["textclean"].split()[0] for line in done.stdout.decode().splitlines()]


def cld2(lines):
    guesses = ([g[1] for g in pycld2.detect(line, isPlainText=True, bestEffort=True)[2]] for line in lines)
    return [next((g for g in guess if g in NEWS), None) for guess in guesses]


names = {"en": Language.ENGLISH, "el": Language.GREEK, "uk": Language.UKRAINIAN, "ja": Language.JAPANESE, "it": Language.ITALIAN}
codes = {language: code for code, language in names.items()}
detector = LanguageDetectorBuilder.from_languages(*names.values()).with_preloaded_language_models().build()


def lingua(lines):
    return [codes.get(detector.detect_language_of(line)) for line in lines]


lines, want = [], []
for code, name in NEWS.items():
    with open(f"{DATA}/ntrex/{name}.txt", encoding="utf-8") as file:
        lines += (some := [line.strip() for line in file if line.strip()])
    want += [code] * len(some)
lines, want = lines * 10, want * 10
size = sum(len(line.encode()) for line in lines) / 1e6
share = {}
with tempfile.TemporaryDirectory() as folder:
    model = learn(folder)
    for name, find in (("textclean", lambda x: ours(x, model, folder)), ("CLD2", cld2), ("lingua", lingua)):
        clock = slice(2, 4) if name == "textclean" else slice(2)  # of the program that runs, or of this one
        before = sum(os.times()[clock])
        found = find(lines)
        seconds = sum(os.times()[clock]) - before
        assert len(found) == len(want)
        right = {code: sum(f == w for f, w in zip(found, want) if w == code) for code in NEWS}
        share[name] = sum(right.values()) / len(want)
        print(f"{name}: {right} of {want.count('en')} each, {size / seconds:.1f} MB/s")
sys.exit(share["textclean"] < max(share.values()))
