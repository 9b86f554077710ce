#!/bin/bash
# wikiprep.sh [ROUNDS]: text from a dump on all cores, in MB/s of XML: from .bz2 against decompression alone
# (lbzip2, bzip2), from XML against parsing alone (xmllint), and WikiExtractor without templates on the same
# file; and with templates expanded, on one core, a whole small wiki against WikiExtractor with templates.
# Sides alternate, medians of wall time; the seconds of processor time stand behind.
rounds=${1:-5}
dump=$DATA/wiki/enwiki-p10p30302-shortened.xml.bz2
[ -f "$dump" ] || { echo "wikiprep: skipped, no $dump"; exit 0; }
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
TIMEFORMAT='%R %U %S'
wikiextractor=$(dirname "$(command -v "$TEXTMILL_PYTHON")")/wikiextractor

# The dump's pages ten times over: blocks of bzip2 are independent, and so are pages.
bzip2 -dc "$dump" >once.xml
first=$(grep -n -m1 '<page>' once.xml | cut -d: -f1)
{
    head -n $((first - 1)) once.xml
    for _ in 1 2 3 4 5 6 7 8 9 10; do tail -n +"$first" once.xml | sed '$d'; done
    echo '</mediawiki>'
} >dump.xml
bzip2 -c dump.xml >dump.xml.bz2
bytes=$(wc -c <dump.xml)

declare -A work=(
    [wikiprep]='wikiprep -q dump.xml.bz2 >/dev/null'
    [wikiprep-xml]='wikiprep -q dump.xml >/dev/null'
    [lbzip2]='lbzip2 -dc dump.xml.bz2 >/dev/null'
    [bzip2]='bzip2 -dc dump.xml.bz2 >/dev/null'
    [xmllint]='xmllint --stream --noout dump.xml'
    [wikiprep-templates]='wikiprep -q -t 1 --templates templates.xml wiki.xml >/dev/null'
    [WikiExtractor-templates]='"$wikiextractor" -q --processes 1 --templates templates -o - wiki.xml >/dev/null 2>&1'
    [WikiExtractor]='"$wikiextractor" -q --no-templates -o - dump.xml.bz2 >/dev/null 2>&1'
)
sides='wikiprep wikiprep-xml bzip2'
for peer in lbzip2 xmllint; do
    if command -v $peer >/dev/null; then sides+=" $peer"; else echo "wikiprep: $peer is not installed"; fi
done
for ((r = 0; r < rounds; r++)); do
    for side in $sides; do
        { time eval "${work[$side]}"; } 2>>"$side.times" || exit 1
    done
done
if [ -x "$wikiextractor" ]; then
    { time eval "${work[WikiExtractor]}"; } 2>WikiExtractor.times
else
    echo 'wikiprep: WikiExtractor is not installed'
fi

# rate SIDE: MB/s by wall time, and seconds of processor time
rate() {
    [ -s "$1.times" ] || { echo '0 0'; return; }
    awk -v bytes="$bytes" '{ print bytes / $1 / 1e6, $2 + $3 }' "$1.times" | sort -n | sed -n "$((($(wc -l <"$1.times") + 1) / 2))p"
}
compare() { # OURS PEER
    read -r a a_cpu < <(rate "$1")
    read -r b b_cpu < <(rate "$2")
    awk -v ours="$1" -v peer="$2" -v a="$a" -v b="$b" -v ac="$a_cpu" -v bc="$b_cpu" 'BEGIN { if (b > 0)
        printf "%s %.0f MB/s (%.2f s of processor), %s %.0f MB/s (%.2f s), ratio %.2fx\n", ours, a, ac, peer, b, bc, a / b }'
}
compare wikiprep lbzip2
compare wikiprep bzip2
compare wikiprep WikiExtractor
compare wikiprep-xml xmllint

# Templates: those of a whole wiki, saved before; its pages ten times over.
whole=$DATA/wiki/smallwiki.xml
[ -f "$whole" ] || exit 0
first=$(grep -n -m1 '<page>' "$whole" | cut -d: -f1)
{
    head -n $((first - 1)) "$whole"
    for _ in 1 2 3 4 5 6 7 8 9 10; do tail -n +"$first" "$whole" | sed '$d'; done
    echo '</mediawiki>'
} >wiki.xml
bytes=$(wc -c <wiki.xml)
wikiprep -q --templates "$whole" --save-templates templates.xml "$whole" >/dev/null || exit 1
for ((r = 0; r < rounds; r++)); do
    { time eval "${work[wikiprep-templates]}"; } 2>>wikiprep-templates.times || exit 1
done
if [ -x "$wikiextractor" ]; then
    { time eval "${work[WikiExtractor-templates]}"; } 2>WikiExtractor-templates.times
    compare wikiprep-templates WikiExtractor-templates
fi
