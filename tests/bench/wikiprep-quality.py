#!/usr/bin/env python3
"""Measures the quality of text made from a MediaWiki dump: wikiprep-quality.py DUMP.xml DOCUMENTS

It computes three figures from the dump and a document stream in WikiExtractor's format:

    leftover   characters that look like markup, per million characters
    holes      "( ," and "()" and " ,", per million characters, except holes that the page itself has,
               with the same characters around them
    recovered  share of the inline templates with visible text whose text is in the output: two words of
               context before it, then the first words of the argument that shows, in that order;
               a label ("Russian:") may stand between

Inline templates are those in paragraphs: outside references, comments, tables, lists, files and other templates."""
import collections
import html
import re
import sys

LEFTOVER = ['{{', '}}', '[[', ']]', '{|', '|}', '|-', '||', '<ref', '</', '<br', '<!--', "''",
            '&nbsp;', '&lt;', '&amp;', '&quot;', '&#', '[http', 'colspan', 'style=', 'thumb|',
            'align=']
EMPTY = re.compile(r'\(\s*[,;:]|\(\s*\)|（\s*[、，；]|（\s*）')
LOOSE_COMMA = re.compile(r'\w ,')

# Templates with visible text and the place of the argument that shows; 0 is the last.
VISIBLE = {
    'convert': 1, 'cvt': 1, 'lang': 2, 'transl': 0, 'transliteration': 0, 'nihongo': 1, 'as of': 1,
    'quote': 1, 'blockquote': 1, 'nowrap': 1, 'val': 1, 'ipa': 1, 'circa': 1, 'c.': 1, 'isbn': 1,
    'abbr': 1, 'small': 1, 'smaller': 1, 'angbr': 1, 'sic': 1, 'linktext': 1, 'chem': 1, 'ill': 1,
    'vanchor': 1, 'sup': 1, 'sub': 1, 'coord': 1, 'script': 2, 'frac': 1, 'respell': 1,
    'visible anchor': 1, '仮リンク': 1, 'isbn2': 1, 'nobr': 1, 'q': 1, 'lang-*': 1, 'ipa-*': 1,
}
CALL = re.compile(r'\{\{\s*([^{}|\n]+?)\s*\|([^{}]*)\}\}')
WORD = re.compile(r'\w+')
CONTEXT_MAX, LABEL_MAX, HOLE_CONTEXT = 16, 40, 2  # characters


def documents(path):
    text = open(path, encoding='utf-8', errors='replace').read()
    found = re.findall(r'<doc id="(\d+)"[^>]*>\n(.*?)\n</doc>', text, re.S)
    return {i: html.unescape(body) for i, body in found}


def pages(path):
    text = open(path, encoding='utf-8', errors='replace').read()
    for page in re.findall(r'<page>.*?</page>', text, re.S):
        i = re.search(r'<id>(\d+)</id>', page)
        body = re.search(r'<text[^>]*>(.*)</text>', page, re.S)
        if i and body:
            yield i.group(1), html.unescape(body.group(1))


def paragraphs(wikitext):
    """Returns the lines of paragraphs, without the parts that are not counted."""
    t = re.sub(r'<!--.*?-->', '', wikitext, flags=re.S)
    t = re.sub(r'<ref\b[^>]*/>', '', t)
    t = re.sub(r'<ref\b.*?</ref\s*>', '', t, flags=re.S)
    t = re.sub(r'<(gallery|math|timeline|score|pre|nowiki)\b.*?</\1\s*>', '', t, flags=re.S)
    while True:
        fewer = re.sub(r'\n\s*\{\|(?:(?!\n\s*\{\|).)*?\n\s*\|\}', '\n', t, flags=re.S)
        if fewer == t:
            break
        t = fewer
    depth = 0
    for line in t.split('\n'):
        inside = depth > 0
        depth = max(0, depth + line.count('{{') - line.count('}}'))
        if not inside and line and line[0] not in '*#:;|!=<' and not line.startswith('[['):
            yield line


def plain(s):
    s = re.sub(r'\[\[[^\]|]*\|([^\]]*)\]\]', r'\1', s)
    s = re.sub(r'<[^>]*>|\[\[|\]\]|\'\'+', '', html.unescape(s))
    return WORD.findall(s.replace(',', '') if re.match(r'^[\d,.]+$', s.strip()) else s)


def visible(name, arguments):
    key = name.lower().replace('_', ' ')
    for family in ('lang-', 'ipa-'):
        if key.startswith(family):
            key = family + '*'
    place = VISIBLE.get(key)
    if place is None:
        return None, None
    parts, depth, begin = [], 0, 0
    for m in re.finditer(r'\[\[|\]\]|\|', arguments + '|'):
        depth += {'[[': 1, ']]': -1, '|': 0}[m.group()]
        if m.group() == '|' and depth <= 0:
            parts.append((arguments + '|')[begin:m.start()])
            begin = m.end()
    named = dict(p.split('=', 1) for p in parts if '=' in p)
    named = {k.strip(): v for k, v in named.items()}
    places = [p for p in parts if '=' not in p]
    if str(place) in named:
        text = named[str(place)]
    elif place == 0 and places:
        text = [p for p in places if p.strip()][-1] if ''.join(places).strip() else ''
    elif 0 < place <= len(places):
        text = places[place - 1]
    else:
        text = named.get('text', '')
    if key in ('ill', '仮リンク'):
        text = named.get('label', named.get('lt', text))
    flipped = key in ('convert', 'cvt') and 'flip' in arguments
    hidden = key == 'coord' and named.get('display', 'inline').strip().startswith('title')
    return key, None if flipped or hidden else text


def holes(text, wikitext):
    """Counts empty parentheses that the page's author did not write."""
    found = [text[max(0, m.start() - HOLE_CONTEXT):m.end() + HOLE_CONTEXT] for m in EMPTY.finditer(text)]
    return sum(all(line not in wikitext for line in around.split('\n') if EMPTY.search(line))
               for around in found)


def compact(words):
    return ''.join(words).replace(',', '').replace('_', '')


def shows(text, context, argument):
    """Returns whether the argument follows the context, with at most a label between them."""
    at = text.find(context)
    while at >= 0:
        after = at + len(context)
        if argument in text[after:after + len(argument) + LABEL_MAX]:
            return True
        at = text.find(context, at + 1)
    return False


def recovered(dump, texts):
    hits, counts = collections.Counter(), collections.Counter()
    missed = []
    for i, wikitext in pages(dump):
        if i not in texts:
            continue
        text = compact(WORD.findall(texts[i]))
        for line in paragraphs(wikitext):
            for m in CALL.finditer(line):
                key, shown = visible(m.group(1), m.group(2))
                argument = compact(plain(shown or '')[:3])
                before = line[:m.start()]
                if not argument or before.count('{{') != before.count('}}'):
                    continue
                before = re.sub(r'\{\{[^{}]*\}\}', ' \0 ', before).split('\0')[-1]
                if '[[' in before[before.rfind(']]') + 1:]:
                    continue
                context = compact(plain(before)[-2:])[-CONTEXT_MAX:]
                counts[key] += 1
                if shows(text, context, argument):
                    hits[key] += 1
                else:
                    missed.append((key, m.group(0), context, argument))
    return hits, counts, missed


def main():
    dump, stream = sys.argv[1:3]
    texts = documents(stream)
    text = '\n'.join(texts.values())
    million = len(text) / 1e6
    left = collections.Counter({s: text.count(s) for s in LEFTOVER if s in text})
    hits, counts, missed = recovered(dump, texts)
    print('characters %d' % len(text))
    print('leftover/M %.2f %s' % (sum(left.values()) / million, dict(left)))
    sources = dict(pages(dump))
    empty = sum(holes(t, sources.get(i, '')) for i, t in texts.items())
    print('holes/M %.2f (%.2f with those that the pages have themselves)' %
          (empty / million, len(EMPTY.findall(text)) / million))
    print('loose commas/M %.2f' % (len(LOOSE_COMMA.findall(text)) / million))
    if counts:
        print('recovered %.1f %% of %d' % (100 * sum(hits.values()) / sum(counts.values()),
                                           sum(counts.values())))
    for key, n in counts.most_common():
        print('  %-16s %4d of %4d' % (key, hits[key], n))
    if '--missed' in sys.argv:
        for m in missed:
            print('missed', *m)


if __name__ == '__main__':
    main()
