#!/bin/bash
# wikiprep-quality.sh: measures the extracted text of the shared dumps: leftover markup, holes, recovered template text, the share of
# templates whose text is kept, and the share of the text on which other programs agree. wikiprep-quality.py, wikiprep-kept.py and
# wikiprep-recall.py describe how each is counted.
W=$DATA/wiki
[ -d "$W" ] || { echo "SKIP wikiprep-quality: no $W"; exit 0; }
wikiextractor=$(dirname "$(command -v "$TEXTMILL_PYTHON")")/wikiextractor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
measure() {
    echo "wikiprep-quality $1"
    "${@:2}" >"$work/dump.xml"
    wikiprep -q "$work/dump.xml" >"$work/text" 2>"$work/err" # the Japanese dump ends early, which is an error
    "$TEXTMILL_PYTHON" wikiprep-quality.py "$work/dump.xml" "$work/text" | sed 's/^/  /'
    "$TEXTMILL_PYTHON" wikiprep-kept.py "$work/dump.xml" "$ROOT/tests/data/templates/silent" | sed 's/^/  /'
    if [ -x "$wikiextractor" ]; then
        "$TEXTMILL_PYTHON" wikiprep-recall.py "$work/dump.xml" "$work/text" | sed 's/^/  /'
    else
        echo '  WikiExtractor is not installed: no recall'
    fi
}
measure English bzip2 -dc "$W/enwiki-p10p30302-shortened.xml.bz2"
measure Italian gzip -dc "$W/itwiki-small.xml.gz"
measure Japanese xz -dc "$W/jawiki-truncated-100k.xml.xz"
measure Latgalian cat "$W/smallwiki.xml"
