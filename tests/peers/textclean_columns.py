"""textclean on Parquet beside pyarrow: the rows that stay, their marks and texts are those of the same documents as JSON lines; all other
columns, of any type, have the values and types that they had. Needs the plug-in that `make PARQUET=1` builds."""
import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    sys.exit(77)

from lib.paths import DATA

WEB = os.path.join(DATA, "megatron/openwebtext-1000.jsonl")
if not os.path.exists(WEB):
    sys.exit(77)


def table(texts):
    rows = range(len(texts))
    return pa.table({
        "id": pa.array(rows, pa.int32()),
        "text": pa.array([None if i == 7 else text for i, text in enumerate(texts)]),
        "score": pa.array([None if i % 5 == 0 else i / 7 for i in rows]),
        "tags": pa.array([[str(i), None, "é"][: i % 4] for i in rows]),
        "meta": pa.array([{"url": f"u{i}", "n": {"a": i, "b": [1.5] * (i % 3)}} if i % 9 else None for i in rows]),
        "when": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i) for i in rows], pa.timestamp("us", "UTC")),
        "lang": pa.array([["en", "de"][i % 2] for i in rows]).dictionary_encode(),
        "price": pa.array([decimal.Decimal(i) / 100 for i in rows], pa.decimal128(12, 2)),
        "took": pa.array(rows, pa.duration("ms")),
        "bytes": pa.array([bytes([i % 256, 255]) for i in rows]),
        "map": pa.array([[("k", i)] for i in rows], pa.map_(pa.string(), pa.int64())),
        "large": pa.array(texts, pa.large_string()),
        "pair": pa.array([[i, i + 1] for i in rows], pa.list_(pa.int16(), 2)),
    }).replace_schema_metadata({"huggingface": '{"info": 1}'})


def clean(inputs, *options):
    args = ["textclean", "filter", "-q", "--force", "--rules", "gopher,c4,fineweb", "--personal", "tag", *options]
    subprocess.run([*args, *inputs], check=True)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    texts = [json.loads(line)["text"] for line in open(WEB, encoding="utf-8")]
    whole = table(texts)
    pq.write_table(whole, "whole.parquet", row_group_size=300)
    pq.write_table(whole.slice(0, 400), "1.parquet")
    pq.write_table(whole.slice(400), "2.parquet", row_group_size=100, compression="gzip")
    with open("whole.jsonl", "w", encoding="utf-8") as out:
        for i, text in enumerate(texts):
            out.write(json.dumps({"id": i, "text": "" if i == 7 else text}) + "\n")
    clean(["whole.jsonl"], "-o", "yes.jsonl", "--rejected", "no.jsonl")
    clean(["whole.jsonl"], "-o", "mark.jsonl", "--mark")
    before, schema = whole.to_pylist(), pq.read_table("whole.parquet").schema
    for inputs in (["whole.parquet"], ["1.parquet", "2.parquet"]):
        clean(inputs, "-o", "yes.parquet", "--rejected", "no.parquet")
        clean(inputs, "-o", "mark.parquet", "--mark")
        for name in ("yes", "no", "mark"):
            had, has = [json.loads(line) for line in open(f"{name}.jsonl", encoding="utf-8")], pq.read_table(f"{name}.parquet")
            want = schema if name == "yes" else schema.append(pa.field("textclean", pa.string()))
            assert has.schema.equals(want, check_metadata=True), (name, has.schema)
            assert [row["id"] for row in had] == has["id"].to_pylist(), name
            for row, document in zip(has.to_pylist(), had):
                old = before[row["id"]]
                assert (row["text"] or "") == document["text"] and row.get("textclean") == document.get("textclean"), row["id"]
                assert all(row[key] == old[key] for key in old if key != "text"), row["id"]
    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16)))
    pq.write_table(pa.table({"text": ["a"], "uuid": uuid, "json": pa.array(["{}"], pa.json_())}), "foreign.parquet", store_schema=False)
    clean(["foreign.parquet"], "-o", "mark.parquet", "--mark")
    kinds = [[f.logical_type.type for f in pq.ParquetFile(path).schema] for path in ("foreign.parquet", "mark.parquet")]
    assert kinds[1] == kinds[0] + ["STRING"], kinds
    end = datetime.datetime(9999, 12, 31)  # of Spark's tables, whose timestamps have 96 bits
    old = pa.table({"text": ["a"], "end": pa.array([end], pa.timestamp("us"))})
    pq.write_table(old, "old.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    clean(["old.parquet"], "-o", "mark.parquet", "--mark")
    assert pq.read_table("mark.parquet")["end"].to_pylist() == [end]
print(f"{len(texts)} rows of {len(whole.schema)} columns: as JSON lines, all other values as before")
