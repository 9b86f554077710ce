"""The text and the files of --wikiextractor equal WikiExtractor's, on the sample and on whole dumps."""
import bz2
import gzip
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

if not importlib.util.find_spec("wikiextractor"):
    sys.exit(77)
ROOT, DATA = os.environ["ROOT"], os.environ["DATA"]
DUMPS = [ROOT + "/build/encyclopedia.xml.bz2", ROOT + "/tests/golden/wikiprep/wikiprep-wikiextractor/pages.xml"]
DUMPS += [f"{DATA}/wiki/{name}" for name in ("smallwiki.xml", "itwiki-small.xml.gz", "enwiki-p10p30302-shortened.xml.bz2")]


def documents(folder):
    """Returns id -> bytes for a folder."""
    found = {}
    for path, _, names in sorted(os.walk(folder)):
        for name in sorted(n for n in names if n.startswith("wiki_")):
            with open(os.path.join(path, name), "rb") as file:
                for match in re.finditer(rb'<doc id="(\d+)".*?\n</doc>\n', file.read(), re.S):
                    found[match[1]] = match[0]
    return found


def today(dump):
    """Finds pages whose text contains the date of the run."""
    opener = bz2.open if dump.endswith(".bz2") else gzip.open if dump.endswith(".gz") else open
    with opener(dump, "rb") as file:
        pages = re.findall(rb"<page>.*?</page>", file.read(), re.S)
    return {re.search(rb"<id>(\d+)", p)[1] for p in pages if re.search(rb"\{\{ *CURRENT|\{\{ *#", p, re.I)}


failed = 0
for dump in filter(os.path.exists, DUMPS):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "wikiextractor.WikiExtractor", "-q", "--no-templates", "--processes", "1",
                        "-o", folder + "/theirs", dump], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["wikiprep", "-q", "--wikiextractor", "-o", folder + "/ours", dump], check=True)
        ours, theirs = documents(folder + "/ours"), documents(folder + "/theirs")
    differ = [id for id in theirs if ours.get(id) != theirs[id] and id not in today(dump)]
    print(f"wikiextractor: {os.path.basename(dump)}: {len(theirs) - len(differ)} of {len(theirs)} documents are the same")
    failed += len(differ) > 0 or ours.keys() != theirs.keys() or not theirs
sys.exit(failed > 0)
