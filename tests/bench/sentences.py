#!/usr/bin/env python3
"""Where sentences end, in prose of Wikipedia and by rules: sentences.py PROGRAM DATA

PROGRAM is sentences.c, compiled. The prose are the paragraphs of SQuAD's two files, without marks of
notes. A boundary is the number of characters before it that are no spaces; the ends of paragraphs do
not count. The right ones are those of a naive rule, "a mark, quotes, a space, no small letter", but for the
exceptions in tests/data/sentences/squad-*.txt ("+" one more, "-" one less; paragraph:boundary), where three
splitters or a reader said otherwise. The peers are BlingFire, pySBD, and NLTK's Punkt, trained
on both files.
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
    precision, recall = hits / sum(map(len, split)), hits / sum(map(len, right))
    return 100 * precision, 100 * recall, 200 * precision * recall / (precision + recall)


class Ours:
    name = 'textmill'

    def __init__(self, program):
        self.program = program

    def split(self, texts):
        run = subprocess.run([self.program, 'en'], input='\n'.join(texts), capture_output=True,
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


def peers(prose):
    try:
        import blingfire
        yield Peer('BlingFire', lambda t: blingfire.text_to_sentences(t).split('\n'))
    except ImportError:
        print('sentences: BlingFire is not installed')
    try:
        from nltk.tokenize import punkt
        trainer = punkt.PunktTrainer()
        trainer.INCLUDE_ALL_COLLOCS = True
        trainer.train('\n'.join(prose), finalize=True)
        yield Peer('Punkt', punkt.PunktSentenceTokenizer(trainer.get_params()).tokenize)
    except ImportError:
        print('sentences: NLTK is not installed')
    try:
        import pysbd
        yield Peer('pySBD', pysbd.Segmenter(language='en', clean=False).segment)
    except ImportError:
        print('sentences: pySBD is not installed')


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
    for side in [Ours(program), *peers(texts['dev'] + texts['train'])]:
        held = sum(want == got for (want, _), got in zip(table, side.split([t for _, t in table])))
        for name in FILES:
            split = [found(s) for s in side.split(texts[name])]
            print('%s: SQuAD %s P %.2f R %.2f F1 %.2f of %d, %.1f MB/s, rules %d of %d' %
                  (side.name, name, *score(right[name], split), sum(map(len, right[name])), side.rate,
                   held, len(table)))


if __name__ == '__main__':
    main()
