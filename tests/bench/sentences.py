#!/usr/bin/env python3
"""Measures sentence splitting: sentences.py PROGRAM DATA

PROGRAM is sentences.c, compiled. A boundary is the number of non-space characters before it; the ends of
paragraphs do not count. There are two tests:

Prose of Wikipedia: the paragraphs of SQuAD's two files, without reference marks. The right boundaries are
those of a naive rule, "a mark, quotes, a space, no small letter", except for the corrections in
tests/data/sentences/squad-*.txt ("+" one more, "-" one less; paragraph:boundary), where three splitters or a
reader said otherwise.

Treebanks: the files DATA/sentences/LANG_*.txt, one sentence a line. An empty line ends a paragraph; in a file
without them every five sentences are one. The sentences of a paragraph are joined by a space (in Japanese by
nothing), split, and compared.

The peers are BlingFire, pySBD, ICU, and NLTK's Punkt, trained on the text that it splits.
"""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, '../data/sentences')
FILES = {'dev': 'dev-v1.1.json', 'train': 'train-v1.1.subset44.json'}
NOTE = re.compile(r'\[(?:(?:note|notes|n|web|page|N) ?\d*|[a-z]|citation needed|page needed|'
                  r'not in citation given|[a-z ]*\?|original research\??|vague|dated info|'
                  r'(?:verification|clarification|attribution|further explanation) needed|'
                  r'dubious – discuss|unreliable source\?)\]|'
                  r'(?<=[.)"])( ?:(?:\d+|xii|pages\d+)(?:[–,-] ?\d+)*(?::\d+(?:[–-][\d–-]+)?)*)+(?=\s|$)',
                  re.I)
NAIVE = re.compile(r'''[.!?…]+[.!?…"')\]”’]*(?=\s+["'“‘(\[]*[^\sa-z"'“‘(\[])''')


def paragraphs(path):
    seen = {}
    for article in json.load(open(path, encoding='utf-8'))['data']:
        for p in article['paragraphs']:
            text = ' '.join(p['context'].split())
            seen.setdefault(text, re.sub(r'\s+', ' ', NOTE.sub('', text)))
    return list(seen.values())


def solid(s):
    return len(re.sub(r'\s', '', s))


def gold(name, texts):
    right = [{solid(t[:m.end()]) for m in NAIVE.finditer(t)} for t in texts]
    for line in open(os.path.join(TABLES, 'squad-%s.txt' % name)):
        if line[0] in '+-':
            i, boundary = map(int, line[1:].split(':'))
            (right[i].add if line[0] == '+' else right[i].discard)(boundary)
    return right


def found(sentences):
    ends, n = set(), 0
    for s in sentences[:-1]:
        n += solid(s)
        ends.add(n)
    return ends


def score(right, split):
    hits = sum(len(a & b) for a, b in zip(right, split))
    n_split, n_right = sum(map(len, split)), sum(map(len, right))
    return 100 * hits / max(n_split, 1), 100 * hits / n_right, 200 * hits / (n_split + n_right)


class Ours:
    name = 'textmill'

    def __init__(self, program, lang='en'):
        self.program, self.lang = program, lang

    def split(self, texts):
        run = subprocess.run([self.program, self.lang], input='\n'.join(texts), capture_output=True,
                             text=True, check=True)
        self.rate = float(run.stderr)
        return [p.split('\n') for p in run.stdout.strip('\n').split('\n\n')]


class Peer:
    def __init__(self, name, function):
        self.name, self.function = name, function

    def split(self, texts):
        begin = time.process_time()
        split = [[s for s in map(str.strip, self.function(t)) if s] for t in texts]
        self.rate = sum(len(t.encode()) for t in texts) / 1e6 / (time.process_time() - begin)
        return split


def punkt(texts):
    from nltk.tokenize import punkt
    trainer = punkt.PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train('\n'.join(texts), finalize=True)
    return punkt.PunktSentenceTokenizer(trainer.get_params()).tokenize


def blingfire(texts):
    import blingfire
    return lambda t: blingfire.text_to_sentences(t).split('\n')


def pysbd(texts, lang):
    import pysbd
    return pysbd.Segmenter(language=lang if lang in pysbd.languages.LANGUAGE_CODES else 'en', clean=False).segment


def icu(texts, lang):
    import icu
    breaks = icu.BreakIterator.createSentenceInstance(icu.Locale(lang))

    def split(t):
        units = t.encode('utf-16-le')
        breaks.setText(t)
        ends = [0, *breaks]
        return [units[2 * a:2 * b].decode('utf-16-le') for a, b in zip(ends, ends[1:])]
    return split


def peers(texts, lang='en'):
    for name, make in (('BlingFire', lambda: blingfire(texts)), ('Punkt', lambda: punkt(texts)),
                       ('pySBD', lambda: pysbd(texts, lang)), ('ICU', lambda: icu(texts, lang))):
        try:
            yield Peer(name, make())
        except ImportError:
            pass  # not installed


def treebank(path):
    """The paragraphs of a file, as lists of sentences."""
    lines = open(path, encoding='utf-8').read().rstrip('\n').split('\n')
    found = [[]]
    for line in lines:
        found[-1].append(line) if line else found.append([])
    if len(found) > 1 and max(map(len, found)) > 1:
        return [p for p in found if p]
    lines = [s for s in lines if s]
    return [lines[i:i + 5] for i in range(0, len(lines), 5)]


def treebanks(program, folder):
    """A table: a row a file, a column a splitter; F1."""
    for name in sorted(os.listdir(folder)):
        lang, _, rest = name.partition('_')
        if not rest.endswith('.txt'):
            continue
        paragraphs = treebank(os.path.join(folder, name))
        texts = [('' if lang == 'ja' else ' ').join(p) for p in paragraphs]
        right = [found(p) for p in paragraphs]
        row = [(side.name, score(right, [found(s) for s in side.split(texts)]))
               for side in (Ours(program, lang), *peers(texts, lang))]
        print('%-14s' % name[:-len('.txt')], 'P %5.1f R %5.1f' % row[0][1][:2],
              *('%s %5.1f' % (who, f1) for who, (_, _, f1) in row), 'of %d' % sum(map(len, right)), flush=True)


def rules():
    """The table's lines, as lists of sentences, and the text that each is made of."""
    for line in open(os.path.join(TABLES, 'rules-en.txt'), encoding='utf-8'):
        line = line.rstrip('\n')
        if line and line[0] != '#':
            line = line.lstrip('-')
            yield line.replace('/|', '|').split('|'), line.replace('/|', '').replace('|', ' ')


def main():
    program, data = sys.argv[1:3]
    texts = {name: paragraphs(os.path.join(data, 'squad', path)) for name, path in FILES.items()}
    right = {name: gold(name, texts[name]) for name in FILES}
    table = list(rules())
    for side in (Ours(program), *peers(texts['dev'] + texts['train'])):
        held = sum(want == got for (want, _), got in zip(table, side.split([t for _, t in table])))
        for name in FILES:
            split = [found(s) for s in side.split(texts[name])]
            print('%s: SQuAD %s P %.2f R %.2f F1 %.2f of %d, %.1f MB/s, rules %d of %d' %
                  (side.name, name, *score(right[name], split), sum(map(len, right[name])), side.rate,
                   held, len(table)))
    if os.path.isdir(os.path.join(data, 'sentences')):
        treebanks(program, os.path.join(data, 'sentences'))


if __name__ == '__main__':
    main()
