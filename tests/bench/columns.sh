#!/bin/bash
# columns.sh [ROUNDS]: measures Parquet files, in processor time on one thread, medians over the rounds. GPT-2's tokens of a column:
# beside pyarrow with tiktoken, and beside our reading of the same texts as JSON lines. A dump written as Parquet: beside
# `wikiprep --json` with pyarrow, which also compresses with zstd. Needs the plug-in that `make PARQUET=1` builds.
rounds=${1:-5}
[ -d "$DATA/tokenizers" ] || { echo "Parquet: no $DATA"; exit 0; }
[ -e "$ROOT/build/release/lib/textmill/libtextmill-parquet.so" ] || { echo 'Parquet: no plug-in parquet'; exit 0; }
. "$ROOT/tests/bench/lib"
dumps=() gpt2="$DATA/tokenizers/gpt2-tokenizer.json"
for ((i = 0; i < 10; i++)); do dumps+=("$DATA/wiki/enwiki-p10p30302-shortened.xml.bz2"); done
wikiprep -q -o wiki.parquet "${dumps[@]}" && wikiprep -q --json --fields id,url,title,text "${dumps[@]}" >wiki.jsonl || exit 1
cat >tokens.py <<'PYTHON'
import sys
import pyarrow as pa, pyarrow.parquet
import tiktoken
from tiktoken.load import load_tiktoken_bpe
pa.set_cpu_count(1)
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
encoding = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(sys.argv[1]), special_tokens={})
for batch in pa.parquet.ParquetFile("wiki.parquet").iter_batches(columns=["text"], use_threads=False):
    for text in batch.column(0).to_pylist():
        encoding.encode_ordinary(text)
PYTHON
cat >pack.py <<'PYTHON'
import json
import pyarrow as pa, pyarrow.parquet
pa.set_cpu_count(1)
schema = pa.schema([(name, pa.string()) for name in ("id", "url", "title", "text")])
with open("wiki.jsonl", encoding="utf-8") as lines, pa.parquet.ParquetWriter("x", schema, compression="zstd", compression_level=3) as out:
    rows = [json.loads(line) for line in lines]
    for i in range(0, len(rows), 1000):
        out.write_batch(pa.RecordBatch.from_pylist(rows[i:i + 1000], schema))
PYTHON
tokens() { tokenize -q --force -t 1 --vocab "$gpt2" -o /dev/null "$1"; }
ours_pack() { wikiprep -q -t 1 --force -o ours.parquet "${dumps[@]}"; }
theirs_pack() { wikiprep -q -t 1 --json --fields id,url,title,text "${dumps[@]}" >x.jsonl && "$TEXTMILL_PYTHON" pack.py; }
peers=$("$TEXTMILL_PYTHON" -c 'import pyarrow, tiktoken; print(1)' 2>/dev/null)
for ((r = 0; r < rounds; r++)); do
    cpu_seconds tokens wiki.parquet >>parquet
    cpu_seconds tokens wiki.jsonl >>jsonl
    cpu_seconds ours_pack >>packed
    [ ! "$peers" ] || cpu_seconds "$TEXTMILL_PYTHON" tokens.py "$DATA/tokenizers/gpt2.tiktoken" >>peer
    [ ! "$peers" ] || cpu_seconds theirs_pack >>peer-packed
done
rate() { # FILE-OF-SECONDS: prints MB/s of the texts
    [ -f "$1" ] && awk -v bytes="$(wc -c <wiki.jsonl)" -v seconds="$(median <"$1")" 'BEGIN { print bytes / 1e6 / seconds }'
}
record 'Parquet to GPT-2 tokens, one thread' MB/s "$(rate parquet)" 'pyarrow and tiktoken' "$(rate peer)"
record 'Parquet to GPT-2 tokens, one thread' MB/s "$(rate parquet)" 'textmill from JSON lines' "$(rate jsonl)"
record 'dump to Parquet, one thread' MB/s "$(rate packed)" 'wikiprep --json and pyarrow' "$(rate peer-packed)"
