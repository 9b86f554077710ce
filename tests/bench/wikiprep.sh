#!/bin/bash
# wikiprep.sh [ROUNDS]: measures text extraction from a dump. From .bz2 with 1, 2 and 4 threads, beside decompression alone with the same
# number (lbzip2). From XML, beside parsing alone (xmllint). In WikiExtractor's format, beside our default format and beside
# WikiExtractor without templates. With templates expanded, on one core, for a whole small wiki, beside our default and WikiExtractor
# with templates. The sides alternate; medians of wall clock time and of processor time, each on its own.
rounds=${1:-5}
dump=$DATA/wiki/enwiki-p10p30302-shortened.xml.bz2
[ -f "$dump" ] || { echo "wikiprep: skipped, no $dump"; exit 0; }
. "$ROOT/tests/bench/lib"
TIMEFORMAT='%R %U %S'
wikiextractor=$(dirname "$(command -v "$TEXTMILL_PYTHON")")/wikiextractor

bzip2 -dc "$dump" >once.xml
times once.xml dump.xml
bzip2 -c dump.xml >dump.xml.bz2

declare -A work=(
    [wikiprep-xml]='wikiprep -q -t 1 dump.xml >/dev/null'
    [wikiprep-xml-2]='wikiprep -q -t 2 dump.xml >/dev/null'
    [xmllint]='xmllint --stream --noout dump.xml'
    [wikiprep-as-wikiextractor]='wikiprep -q -t 1 --wikiextractor dump.xml >/dev/null'
    [WikiExtractor]='"$wikiextractor" -q --no-templates --processes 1 -o - dump.xml >/dev/null 2>&1'
    [wikiprep-plain]='wikiprep -q -t 1 wiki.xml >/dev/null'
    [wikiprep-templates]='wikiprep -q -t 1 --templates templates.xml wiki.xml >/dev/null'
    [WikiExtractor-templates]='"$wikiextractor" -q --processes 1 --templates templates -o - wiki.xml >/dev/null 2>&1'
)
for t in 1 2 4; do
    work[wikiprep-$t]="wikiprep -q -t $t dump.xml.bz2 >/dev/null"
    work[lbzip2-$t]="lbzip2 -n $t -dc dump.xml.bz2 >/dev/null"
done

measure() { # ROUNDS SIDE...: runs each side once per round
    local rounds=$1 side
    shift
    for ((r = 0; r < rounds; r++)); do
        for side; do
            { time eval "${work[$side]}"; } 2>>"$side.times" || exit 1
        done
    done
}
wall() { awk '{ print $1 }' "$1.times" | median; }
processor() { awk '{ print $2 + $3 }' "$1.times" | median; }

# compare ROW FILE OURS NAME PEER: prints MB of FILE per second by the wall clock, and the seconds of processor time of both.
compare() {
    [ -s "$5.times" ] || { record "$1" MB/s "$(rate "$2" "$3")" "$4"; return; }
    record "$1" MB/s "$(rate "$2" "$3")" "$4" "$(rate "$2" "$5")" \
        "$(printf ', %.2f s and %.2f s of processor time' "$(processor "$3")" "$(processor "$5")")"
}
rate() { awk -v bytes="$(wc -c <"$1")" -v seconds="$(wall "$2")" 'BEGIN { print bytes / seconds / 1e6 }'; }

has() { command -v "$1" >/dev/null; }
for t in 1 2 4; do
    if has lbzip2; then measure "$rounds" wikiprep-$t lbzip2-$t; else measure "$rounds" wikiprep-$t; fi
    compare "wikiprep from .bz2, $t thread$([ $t = 1 ] || echo s)" dump.xml wikiprep-$t lbzip2 lbzip2-$t
done
measure "$rounds" wikiprep-xml wikiprep-as-wikiextractor
if has xmllint; then measure "$rounds" wikiprep-xml-2 xmllint; else measure "$rounds" wikiprep-xml-2; fi
if has "$wikiextractor"; then measure 1 WikiExtractor; fi
compare 'wikiprep from XML, 2 threads' dump.xml wikiprep-xml-2 'xmllint --stream' xmllint
compare 'wikiprep --wikiextractor, 1 thread' dump.xml wikiprep-as-wikiextractor 'wikiprep by default' wikiprep-xml
compare 'wikiprep --wikiextractor, 1 thread' dump.xml wikiprep-as-wikiextractor WikiExtractor WikiExtractor

# Expands templates, with a file of all templates of the wiki that was saved before.
whole=$DATA/wiki/smallwiki.xml
[ -f "$whole" ] || exit 0
times "$whole" wiki.xml
wikiprep -q --templates "$whole" --save-templates templates.xml "$whole" >/dev/null || exit 1
measure "$rounds" wikiprep-templates wikiprep-plain
if has "$wikiextractor"; then measure 1 WikiExtractor-templates; fi
compare 'wikiprep with templates, 1 thread' wiki.xml wikiprep-templates 'wikiprep by default' wikiprep-plain
compare 'wikiprep with templates, 1 thread' wiki.xml wikiprep-templates WikiExtractor WikiExtractor-templates
