#!/usr/bin/env python3
"""Measures how much of the text that other programs find wikiprep finds: wikiprep-recall.py DUMP.xml DOCUMENTS

It compares the 5-grams of words, within lines, of each article. The programs are WikiExtractor, mwparserfromhell,
wikitextparser and gensim, if installed, and ours. Three figures per program:

"recall": of the 5-grams on which the other programs agree (all of them, or all but one), the share that the program
has. What most programs find is text.
"alone": the share of its 5-grams that no other program has: joined words, garbage, or text that no other program
renders (ours renders templates).
"lost": the share of its words, with repetitions, that we do not have: captions and the like, which we drop, and text
that we should not drop.

Characters of scripts without spaces count as words.

The other programs get the pages without tables, and with a word of no language in the place of each template. Their
lines are divided at that word, because a 5-gram must not reach across it."""
import collections
import html
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from importlib import import_module  # noqa: E402

quality = import_module('wikiprep-quality')
WORD = re.compile(r'[぀-ヿ㐀-鿿]|[^\W_぀-ヿ㐀-鿿]+')
N = 5
HOLE = 'qzholezq'
COMMENT = re.compile(r'<!--.*?-->', re.S)
TEMPLATE = re.compile(r'\{\{(?:(?!\{\{|\}\}).)*\}\}', re.S)
TABLE = re.compile(r'(?:^|\n)[ :]*\{\|(?:(?!\n[ :]*\{\|).)*?\n[ :]*\|\}', re.S)


def words(text):
    return collections.Counter(w for w in WORD.findall(text.lower()) if w != HOLE)


def plain(wikitext):
    """Returns the page without tables, and with holes for templates."""
    t = COMMENT.sub('', wikitext)
    for pattern, instead in (TEMPLATE, HOLE), (TABLE, '\n'):
        fewer = None
        while fewer != t:
            fewer, t = t, pattern.sub(instead, t)
    return t


def grams(text):
    found = set()
    for line in re.split(r'\n|' + HOLE, text):
        words = WORD.findall(line.lower())
        found.update(hash(tuple(words[i:i + N])) for i in range(len(words) - N + 1))
    return found


def wikiextractor(dump):
    program = os.path.join(os.path.dirname(sys.executable), 'wikiextractor')
    with tempfile.TemporaryDirectory() as folder:
        out, without = os.path.join(folder, 'out'), os.path.join(folder, 'dump.xml')
        xml = open(dump, encoding='utf-8').read()
        with open(without, 'w', encoding='utf-8') as f:
            f.write(re.sub(r'(<text[^>]*>)(.*?)(</text>)', lambda m: m.group(1) + html.escape(
                plain(html.unescape(m.group(2))), quote=False) + m.group(3), xml, flags=re.S))
        with open(out, 'w') as f:
            subprocess.run([program, '-q', '--no-templates', '-o', '-', without], stdout=f,
                           stderr=subprocess.DEVNULL, check=True)
        return quality.documents(out)


def parsers():
    try:
        import mwparserfromhell
        yield 'mwparserfromhell', lambda t: str(mwparserfromhell.parse(t).strip_code())
    except ImportError:
        pass
    try:
        import wikitextparser
        yield 'wikitextparser', lambda t: wikitextparser.parse(t).plain_text()
    except ImportError:
        pass
    try:
        from gensim.corpora import wikicorpus
        yield 'gensim', wikicorpus.filter_wiki
    except ImportError:
        pass


def agreed(sides, i):
    """Returns what all but one of the programs have of page i."""
    found = [side[i] for side in sides]
    counts = {}
    for f in found:
        for g in f:
            counts[g] = counts.get(g, 0) + 1
    return {g for g, n in counts.items() if n >= len(found) - 1}


def main():
    dump, stream = sys.argv[1:3]
    pages = {i: plain(t) for i, t in quality.pages(dump)}
    texts = {'textmill': quality.documents(stream)}
    texts['WikiExtractor'] = wikiextractor(dump)
    for name, strip in parsers():
        texts[name] = {i: strip(t) for i, t in pages.items() if i in texts['textmill']}
    common = set.intersection(*[set(t) for t in texts.values()])
    sides = {name: {i: grams(t[i]) for i in common} for name, t in texts.items()}
    print('%d articles, %d programs' % (len(common), len(sides)))
    ours = {i: words(texts['textmill'][i]) for i in common}
    for name, side in sides.items():
        peers = [s for n, s in sides.items() if n != name]
        right = hits = own = alone = lost = count = 0
        for i in common:
            want = agreed(peers, i)
            others = set().union(*[s[i] for n, s in sides.items() if n != name])
            right += len(want)
            hits += len(want & side[i])
            own += len(side[i])
            alone += len(side[i] - others)
            theirs = words(texts[name][i])
            lost += sum((theirs - ours[i]).values())
            count += sum(theirs.values())
        print('%-16s recall %.2f %% of %d, alone %.2f %%' %
              (name, 100 * hits / right, right, 100 * alone / own) +
              (', lost %.2f %% of %d words' % (100 * lost / count, count) if name != 'textmill' else ''))


if __name__ == '__main__':
    main()
