"""templates.py calls DUMP: prints each distinct template call of the dump's pages, as lines of JSON [title, call].
templates.py compare DUMP: reads such lines with MediaWiki's expansion as a third item, and compares it with
wikiprep's."""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

HIDDEN = re.compile(r"<!--.*?-->|<ref\b[^>]*?/>|<ref\b.*?</ref\s*>|<nowiki>.*?</nowiki>", re.S)
TEMPLATE, MODULE = "10", "828"


def pages(dump):
    for _, page in ElementTree.iterparse(dump):
        if page.tag.endswith("}page"):
            yield page.find("{*}ns").text, page.find("{*}title").text, page.find("{*}revision/{*}text").text or ""
            page.clear()


def outer_calls(text):
    depth = start = 0
    for mark in re.finditer(r"\{\{|\}\}", text):
        if mark[0] == "{{":
            start = start if depth else mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield text[start:mark.end()]


def plain(text):
    """Removes what is not compared: both programs number references instead of expanding them, and white space may
    differ."""
    return " ".join(re.sub(r"\x7f[^\x7f]*\x7f", "", HIDDEN.sub("", text)).split())


def calls(dump):
    seen = {}
    for space, title, text in pages(dump):
        if space not in (TEMPLATE, MODULE):
            for call in outer_calls(HIDDEN.sub("", text)):
                seen[title, call] = None
    for pair in seen:
        print(json.dumps(pair, ensure_ascii=False))


def compare(dump):
    asked = {}
    for line in sys.stdin:
        title, call, text, _ = json.loads(line)
        asked.setdefault(title, []).append((call, text))
    same = total = 0
    for title, pairs in asked.items():
        made = subprocess.run(["wikiprep", "expand", "-q", "-t", "1", "--templates", dump, "--title", title],
                              input="\x1e".join(call for call, _ in pairs).encode(), capture_output=True, check=True)
        ours = made.stdout.decode().split("\x1e")
        assert len(ours) == len(pairs), title
        for (call, theirs), text in zip(pairs, ours):
            same += plain(text) == plain(theirs)
            total += 1
            if plain(text) != plain(theirs):
                print(f"{title}: {call!r}\n  {plain(theirs)[:200]!r}\n  {plain(text)[:200]!r}", file=sys.stderr)
    print(f"templates: {same} of {total} calls expand to the wikitext that MediaWiki makes of them,"
          f" {100 * same / total:.1f} %")


{"calls": calls, "compare": compare}[sys.argv[1]](sys.argv[2])
