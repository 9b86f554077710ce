"""wikiprep beside MediaWiki's parser tests: the words of a page, in their order, are those of the HTML that MediaWiki shows. Reads the
test files from shared/data/parser-tests (GPL; no part of this project). At least 97 % of the cases that apply must be equal; each
other case is named in tests/data/parser-tests with the reason. --list prints the cases that differ. The HTML itself, given to
wikiprep, must give its words in at least 97 % of the cases, too."""
import collections
import glob
import html
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.environ["DATA"], "parser-tests")
EXCEPTIONS = os.path.join(os.environ["ROOT"], "tests", "data", "parser-tests")
AT_LEAST = 0.97
LAST = "qwyxq"  # a last paragraph, so that the last headings are shown
# Cases of other directions (HTML to wikitext), of the language converter, of what is not the text of a page, and of switches of a wiki.
OTHER = re.compile(
    r"\b(disabled|nohtml|pst|msg|section|replace|preload|variant|htmlVariantLanguage\s*=\s*en|annotations|comment|styletag|links|extlinks|iwl|"
    r"templates|ill|cat|showtocdata|showflags|showmedia|property|lastsavedrevision|wgEnableMagicLinks|wgAllowExternalImages|"
    r"preprocessor|userLanguage|wgAllowDisplayTitle)\b")
SPACES = {"media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3, "project": 4, "mediawiki": 8, "file": 6, "image": 6,
          "template": 10, "snið": 10, "шаблон": 10, "help": 12, "category": 14, "memoryalpha": 100, "memoryalpha talk": 101}
NAMES = [(-2, "Media"), (-1, "Special"), (0, ""), (1, "Talk"), (2, "User"), (3, "User talk"), (4, "Project"), (6, "File"),
         (8, "MediaWiki"), (10, "Template"), (12, "Help"), (14, "Category"), (100, "MemoryAlpha"), (101, "MemoryAlpha talk")]
HEADER = ('<mediawiki xml:lang="%s"><siteinfo><sitename>MediaWiki</sitename><base>http://example.org/wiki/Main_Page</base>'
          '<case>first-letter</case><namespaces>' +
          "".join('<namespace key="%d" case="first-letter">%s</namespace>' % n for n in NAMES) + "</namespaces></siteinfo>\n")
TEMPLATE = {"is": "Snið", "sr": "Шаблон"}
MEDIA = {"is": "Miðill"}
PAGE = ("<page><title>%s</title><ns>%d</ns><id>%d</id><revision><id>1337</id><timestamp>1970-01-01T00:02:03Z</timestamp>"
        '<text xml:space="preserve">%s</text></revision></page>\n')
VOID = set("area base br col embed hr img input link meta source track wbr".split())
INLINE = set("a abbr b bdi bdo big cite code data del dfn em font i ins kbd link mark meta nowiki q s samp small span strike strong sub "
             "sup time tt u var wbr ruby rb rt rp rtc".split())
HIDDEN = re.compile(r"\b(reference|references|mw-references|mw-references-wrap|toc|mw-editsection|mw-headline-number|autonumber|"
                    r"catlinks|gallery|error|mw-ext-cite-error|mw-cite-backlink|noprint|tocnumber)\b")


class Shown(html.parser.HTMLParser):
    """The text that a reader sees in HTML, without headings that no text follows."""
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text, self.open = [], []  # open: (tag, hidden)
        self.heading, self.headings = 0, {}  # the level that is open; by level, what waits for text

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        hidden = (tag in ("script", "style", "figure", "title", "audio", "video") or HIDDEN.search(attrs.get("class") or "")
                  or re.search(r"display:\s*none", attrs.get("style") or "") or (attrs.get("typeof") or "").startswith("mw:File")
                  or (tag == "a" and (attrs.get("title") or "").startswith("Template:")))  # a template that is not there
        level = re.fullmatch("h([1-6])", tag)
        if level and not (self.open and self.open[-1][1]):
            self.heading = int(level[1])
            self.headings = {k: v for k, v in self.headings.items() if k < self.heading}
            self.headings[self.heading] = []
        if tag not in INLINE:
            self.text.append(" ")
        same = json.loads(attrs.get("data-mw-variant") or "{}").get("disabled")  # Parsoid's text of -{text}-
        if same:
            inner = Shown()
            inner.feed(same["t"])
            inner.close()
            self.handle_data("".join(inner.text))
        if tag not in VOID:
            self.open.append((tag, bool(hidden) or bool(self.open and self.open[-1][1])))

    def handle_endtag(self, tag):
        if tag not in INLINE:
            self.text.append(" ")
        if re.fullmatch("h[1-6]", tag):
            self.heading = 0
        for i in range(len(self.open) - 1, -1, -1):
            if self.open[i][0] == tag:
                del self.open[i:]
                break

    def handle_data(self, data):
        if self.open and self.open[-1][1]:
            return
        if self.heading:
            self.headings[self.heading].append(data)
            return
        if words(data):
            for level in sorted(self.headings):
                self.text += [" "] + self.headings[level] + [" "]
            self.headings = {}
        self.text.append(data)


def words(text):
    text = re.sub("[\u00ad\u200b-\u200f\u2060\ufeff]", "", text)
    return re.findall(r"\w+", text)


def shown(source):
    parser = Shown()
    parser.feed(source + "<p>" + LAST + "</p>")
    parser.close()
    return words("".join(parser.text))


def read(path):
    """Yields the parts of each test or article, as a dict."""
    parts, name = {}, None
    for line in open(path, encoding="utf-8"):
        mark = re.match(r"!! *(\S+)", line)
        if mark:
            name = mark[1].lower()
            if name in ("end", "endarticle"):
                yield parts
                parts, name = {}, None
            else:
                parts[name] = ""
        elif name:
            parts[name] += line


def expected(parts):
    for name in ("html/php", "html", "html/*", "html/parsoid", "html/parsoid+integrated", "html/parsoid+standalone"):
        if name in parts:
            return parts[name]
    return None


def applies(options, source):
    modes = re.search(r"parsoid\s*=\s*([\w,]+)|\"modes\"\s*:\s*\[([^]]*)\]", options)
    if modes and "wt2html" not in (modes[1] or modes[2]):
        return False
    if re.search(r"<(spantag|divtag|statictag|alientag|html)\b", source):  # tags of the test wiki alone
        return False
    return not OTHER.search(re.sub(r"title\s*=\s*\[\[.*?\]\]", "", options))


def cases(path):
    """Returns the articles of a file, and its cases by language: (name, title, wikitext, words, HTML)."""
    articles, found = {}, collections.defaultdict(list)
    for parts in read(path):
        if "article" in parts:
            articles[parts["article"].strip()] = parts["text"].rstrip("\n")
        source = parts.get("wikitext", parts.get("input"))
        right, options = expected(parts), parts.get("options", "")
        if "test" not in parts or source is None or right is None or not applies(options, source):
            continue
        title = re.search(r"title\s*=\s*\[\[(.*?)\]\]", options)
        language = re.search(r"language\s*=\s*([a-z-]+)", options)
        variant = re.search(r"htmlVariantLanguage\s*=\s*([\w-]+)", options)
        found[language[1] if language else "en", variant[1] if variant else None].append(
            (parts["test"].strip(), title[1] if title else "Parser test", source.rstrip("\n"), shown(right), right))
    return articles, found


def page(number, title, text, template="Template"):
    title = re.sub("^Template:", template + ":", title)
    space = SPACES.get(title.split(":")[0].lower(), 0) if ":" in title else 0
    return PAGE % (html.escape(title), space, number, html.escape(text))


def extracted(language, variant, articles, tests, folder):
    """Returns the words of the pages that have the wikitext of the tests, in a variant of the language or as they are."""
    header = HEADER % language
    name = TEMPLATE.get(language, "Template")
    header = header.replace(">Template<", ">%s<" % name).replace(">Media<", ">%s<" % MEDIA.get(language, "Media"))
    dump, templates = (os.path.join(folder, name) for name in ("dump.xml", "templates.xml"))
    with open(templates, "w", encoding="utf-8") as f:
        f.write(header + "".join(page(i + 1, *a, name) for i, a in enumerate(articles.items())) + "</mediawiki>")
    with open(dump, "w", encoding="utf-8") as f:
        f.write(header)
        for i, test in enumerate(tests):
            f.write(page(i + 1, test[1], test[2] + "\n\n" + LAST))
        f.write("</mediawiki>")
    done = subprocess.run(["wikiprep", "-q", "--json", "--math", "tex", "--tables", "text", "--hatnotes", "--namespaces",
                           ",".join(str(n[0]) for n in NAMES if n[0] >= 0), "--templates", templates, dump] +
                          (["--variant", variant] if variant else []),
                          check=True, stdout=subprocess.PIPE)
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    texts = {int(p["id"]): p["text"] for p in pages}
    return [(words(texts.get(i + 1, "")), texts.get(i + 1, "")) for i in range(len(tests))]


def from_html(tests):
    """Returns how many of the tests' pages in HTML have the words that a reader sees in them."""
    lines = [json.dumps({"name": "Page", "identifier": i, "article_body": {"html": test[4] + "<p>" + LAST + "</p>"}})
             for i, test in enumerate(tests)]
    done = subprocess.run(["wikiprep", "-q", "--json", "--math", "tex", "--tables", "text", "--hatnotes"], check=True,
                          input="\n".join(lines).encode(), stdout=subprocess.PIPE)
    texts = {int(p["id"]): words(p["text"]) for p in map(json.loads, done.stdout.splitlines())}
    return sum(texts.get(i) == test[3] for i, test in enumerate(tests))


def main():
    files = sorted(glob.glob(os.path.join(FOLDER, "*.txt")))
    if not files:
        print("parser_tests: no test files in " + FOLDER)
        sys.exit(77)
    exceptions = {}  # case: kind
    for line in open(EXCEPTIONS, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            kind, name, _ = line.rstrip("\n").split(" | ")
            exceptions[name] = kind
    count = equal = pages = seen = 0
    unnamed, used = [], set()
    for path in files:
        articles, found = cases(path)
        here = right = 0
        for (language, variant), tests in sorted(found.items(), key=str):
            with tempfile.TemporaryDirectory() as folder:
                results = extracted(language, variant, articles, tests, folder)
            pages, seen = pages + len(tests), seen + from_html(tests)
            for test, (got, text) in zip(tests, results):
                name = os.path.basename(path)[:-4] + ": " + test[0].split("\n")[0]
                if got == test[3]:
                    right += 1
                elif name in exceptions:
                    used.add(name)
                else:
                    unnamed.append(name)
                    if "--list" in sys.argv:
                        print("--- %s\n%s\n  wanted %s\n  got    %s\n  text %r" %
                              (name, test[2], " ".join(test[3]), " ".join(got), text))
                here += got == test[3] or exceptions.get(name) != "wiki"
        print("%-28s %4d of %4d, %.1f %%" % (os.path.basename(path), right, here, 100 * right / max(1, here)))
        count, equal = count + here, equal + right
    print("parser_tests: %d of %d cases are equal, %.2f %%" % (equal, count, 100 * equal / count))
    print("parser_tests: %d of %d pages in HTML are equal, %.2f %%" % (seen, pages, 100 * seen / pages))
    for name in unnamed:
        print("differs: " + name)
    known = {name for name in exceptions if os.path.exists(os.path.join(FOLDER, name.split(":")[0] + ".txt"))}
    for name in sorted(known - used):
        print("no longer differs, or is not there: " + name)
    if unnamed or known - used or equal < AT_LEAST * count or seen < AT_LEAST * pages:
        sys.exit(1)


if __name__ == "__main__":
    main()
