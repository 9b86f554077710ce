#!/usr/bin/env python3
"""Measures the share of the inline templates with visible text whose text wikiprep keeps:

    wikiprep-kept.py DUMP SILENT [--lost | --shown]

DUMP is XML, plain or .bz2. It counts calls in paragraphs and list items of articles, outside references, comments, tables, files and other
templates. It writes a dump in which each distinct call stands between two marks, with the site's header, and cleans
it with wikiprep (without --templates). A call is kept if a letter, a digit or a sign is between the marks. A call
that shows nothing is silent if its name is in the file SILENT, else it is lost; so a template that nobody has judged
counts as lost. SILENT has lines of "LANG PATTERN": LANG * means all wikis, PATTERN is a shell pattern.

--lost prints the lost names with their counts and an example. --shown prints what kept calls show."""
import bz2
import collections
import fnmatch
import html
import importlib.util
import os
import re
import subprocess
import sys

spec = importlib.util.spec_from_file_location(
    'quality', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'wikiprep-quality.py'))
quality = importlib.util.module_from_spec(spec)
spec.loader.exec_module(quality)

BRACES = re.compile(r'\{\{|\}\}')
CALLS_A_PAGE = 200
PAGE = ('<page><title>T%d</title><ns>0</ns><id>%d</id><revision><id>1</id>'
        '<timestamp>2020-01-01T00:00:00Z</timestamp><text>%s</text></revision></page>\n')
# Parser functions and magic words: not templates.
FUNCTION = re.compile(r'^(#|subst:|safesubst:|int:|ns:|lc:|uc:|lcfirst:|ucfirst:|defaultsort|displaytitle|'
                      r'(current|local|numberof)[a-z]+2?$|[A-Z]+:|[!=]$)', re.I)


os.environ['PATH'] += ':' + os.path.join(os.path.dirname(spec.origin), '../../bin')


def read(path):
    with (bz2.open if path.endswith('.bz2') else open)(path, 'rt', encoding='utf-8', errors='replace') as f:
        return f.read()


def articles(path):
    for page in re.findall(r'<page>.*?</page>', read(path), re.S):
        body = re.search(r'<text[^>]*>(.*)</text>', page, re.S)
        space = re.search(r'<ns>(\d+)</ns>', page)
        if body and '<redirect' not in page and (not space or space.group(1) == '0'):
            yield html.unescape(body.group(1))


def lines(wikitext):
    """Yields lines of paragraphs and of lists, the latter without their marks."""
    return quality.paragraphs(re.sub(r'^[*#:;]+ *', '', wikitext, flags=re.M))


def outer_calls(line):
    depth = start = 0
    for mark in BRACES.finditer(line):
        if mark[0] == '{{':
            start = start if depth else mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield line[start:mark.end()]


def name_of(call):
    name = re.split(r'[|}\n]', call[2:].lstrip(), maxsplit=1)[0].strip().replace('_', ' ')
    return name[:1].lower() + name[1:]


def inline_calls(path):
    calls = collections.Counter()
    for wikitext in articles(path):
        for line in lines(wikitext):
            stripped = line.strip()
            for call in outer_calls(line):
                alone = stripped == call and len(call) < 5000
                if not FUNCTION.match(name_of(call)) and not name_of(call).startswith('{'):
                    calls[call] += 1 if not alone else 0
    return +calls


def shown(path, calls):
    """Returns what wikiprep shows for each call."""
    text = read(path)
    header = text[:text.index('<page>')]
    pages = []
    for at in range(0, len(calls), CALLS_A_PAGE):
        body = ''.join('qaz%dq %s zaq%dz\n\n' % (at + i, call, at + i)
                       for i, call in enumerate(calls[at:at + CALLS_A_PAGE]))
        pages.append(PAGE % (at + 1, at + 1, html.escape(body)))
    made = subprocess.run(['wikiprep', '-q', '-t', '1', '-'], input=(header + ''.join(pages) + '</mediawiki>\n').encode(),
                          capture_output=True, check=True).stdout.decode(errors='replace')
    found = {}
    for m in re.finditer(r'qaz(\d+)q(.*?)zaq\1z', html.unescape(made), re.S):
        found[int(m.group(1))] = m.group(2).strip()
    return [found.get(i, '') for i in range(len(calls))]


def silent_names(path, lang):
    patterns = []
    for line in open(path, encoding='utf-8'):
        words = line.strip().split(' ', 1)
        if len(words) == 2 and words[0] in ('*', lang):
            patterns.append(words[1].lower())
    return re.compile('|'.join(fnmatch.translate(p) for p in patterns) or '(?!)')


def main():
    dump, silent_file = sys.argv[1:3]
    base = re.search(r'<base>[a-z]+://([a-z-]+)\.|xml:lang="([a-z-]+)"', read(dump)[:100000])
    lang = base.group(1) or base.group(2)
    silent = silent_names(silent_file, lang)
    counts = inline_calls(dump)
    calls = sorted(counts)
    kept = lost = quiet = 0
    by_name, example = collections.Counter(), {}
    for call, text in zip(calls, shown(dump, calls)):
        n, name = counts[call], name_of(call)
        if text:
            kept += n
            if '--shown' in sys.argv:
                print('%d %s -> %s' % (n, call, text))
        elif silent.match(name.lower()):
            quiet += n
        else:
            lost += n
            by_name[name] += n
            example.setdefault(name, call)
    if '--lost' in sys.argv:
        for name, n in by_name.most_common():
            print('%4d %-30s %s' % (n, name, example[name][:150].replace('\n', ' ')))
    print('template text kept %.1f %%: %d calls of %d (%s; %d more show nothing anywhere)' %
          (100 * kept / max(1, kept + lost), kept, kept + lost, lang, quiet))


if __name__ == '__main__':
    main()
