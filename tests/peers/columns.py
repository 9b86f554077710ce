"""Parquet and Arrow files beside pyarrow and datasets. The files that these write are read here with the same text, for
all types, codecs and sizes. The files that wikiprep writes are read there with the text of its JSON lines. Needs the
plug-in that `make PARQUET=1` builds."""
import json
import os
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
try:
    import datasets
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.ipc
    import pyarrow.parquet
except ImportError:
    sys.exit(77)

from lib.paths import ROOT

SAMPLE = os.environ.get("TEXTMILL_SAMPLE") or os.path.join(ROOT, "build/encyclopedia.xml.bz2")
checks = 0


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def ids(path, *options):
    return run("tokenize", "-q", "--vocab", "vocab", "--ids", *options, path)


def same(what, a, b):
    global checks
    assert a == b, what
    checks += 1


def random_texts(rng, count):
    """Returns texts of very different lengths, some empty and some null."""
    letters = "abc dé\n月🌙\t\"\\"
    lengths = [0, 1, 20, 300, 5000]
    return [None if rng.random() < 0.1 else "".join(rng.choices(letters, k=rng.choice(lengths))) for _ in range(count)]


def forms(texts):
    """Yields the same texts in each type of column."""
    plain = pa.array(texts, pa.string())
    yield "string", plain
    for name, kind in [("large", pa.large_string()), ("binary", pa.binary()), ("large binary", pa.large_binary()),
                       ("view", pa.string_view()), ("binary view", pa.binary_view())]:
        yield name, plain.cast(kind)
    yield "dictionary", plain.dictionary_encode()
    yield "large dictionary", pa.DictionaryArray.from_arrays(
        plain.dictionary_encode().indices.cast(pa.uint16()), plain.dictionary_encode().dictionary.cast(pa.large_string()))
    yield "sliced", pa.concat_arrays([pa.array(["skipped"]), plain])[1:]


def write_all(table):
    """Writes the table in every form; yields what was written and the path."""
    for codec in "none", "snappy", "gzip", "zstd", "brotli", "lz4":
        pa.parquet.write_table(table, "x", compression=codec, row_group_size=97, data_page_size=1000)
        yield "Parquet " + codec, "x"
    for version in "1.0", "2.4", "2.6":
        pa.parquet.write_table(table, "x", version=version, data_page_version="2.0", write_page_checksum=True)
        yield "Parquet " + version, "x"
    for codec in None, "lz4", "zstd":
        how = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
        for name, make in ("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream):
            with make("x", table.schema, options=how) as out:
                out.write_table(table, max_chunksize=89)
            yield f"Arrow {name} {codec}", "x"


def check_reading(rng):
    texts, titles = random_texts(rng, 700), random_texts(rng, 700)
    with open("lines.jsonl", "w", encoding="utf-8") as f:
        for text, title in zip(texts, titles):
            f.write(json.dumps({"text": text or "", "title": title or ""}) + "\n")
    run("tokenize", "train", "-q", "--vocab-size", "300", "-o", "vocab", "lines.jsonl")
    text_ids, both_ids = ids("lines.jsonl"), ids("lines.jsonl", "--field", "title,text")
    for kind, column in forms(texts):
        table = pa.table({"id": range(len(texts)), "text": column,
                          "meta": pa.array([{"page": {"title": t}} for t in titles])})
        for what, path in write_all(table):
            same(f"{kind}, {what}", ids(path), text_ids)
            if kind in ("string", "dictionary"):
                same(f"{kind}, {what}, fields", ids(path, "--field", "meta.page.title,text"), both_ids)
    check_datasets(texts, titles, text_ids, both_ids)


def check_datasets(texts, titles, text_ids, both_ids):
    d = datasets.Dataset.from_dict({"text": texts, "title": titles})
    d.save_to_disk("saved", num_shards=3)
    same("datasets: save_to_disk", ids("saved/*.arrow"), text_ids)
    same("datasets: save_to_disk, fields", ids("saved/*.arrow", "--field", "title,text"), both_ids)
    d.to_parquet("d.parquet", batch_size=50)
    same("datasets: to_parquet", ids("d.parquet"), text_ids)


def check_writing():
    """Compares wikiprep's Parquet file with its JSON lines."""
    dump = [SAMPLE] * 3
    for options in [], ["--fields", "id,revid,url,title,text,timestamp"], ["--sentences", "--fields", "title,text"]:
        fields = options[-1] if options else "id,url,title,text"
        run("wikiprep", "-q", "--force", *options, "-o", "wiki.parquet", *dump)
        lines = run("wikiprep", "-q", "--json", *[o for o in options if o == "--sentences"], "--fields", fields, *dump)
        want = [json.loads(line) for line in lines.splitlines()]
        same(f"pyarrow: {fields}", pa.parquet.read_table("wiki.parquet").to_pylist(), want)
        there = datasets.load_dataset("parquet", data_files="wiki.parquet", cache_dir="cache", split="train")
        same(f"datasets: {fields}", there.to_list(), want)
        same(f"types of {fields}", there.features, datasets.Features({f: datasets.Value("string") for f in fields.split(",")}))


def check_row_groups():
    """Reads a file with several row groups."""
    dump = [SAMPLE] * 120
    run("wikiprep", "-q", "-o", "large.parquet", *dump)
    lines = run("wikiprep", "-q", "--json", "--fields", "id,url,title,text", *dump)
    assert pa.parquet.ParquetFile("large.parquet").num_row_groups > 1
    same("row groups", pa.parquet.read_table("large.parquet").to_pylist(), [json.loads(line) for line in lines.splitlines()])
    with open("large.jsonl", "wb") as f:
        f.write(lines)
    same("row groups, read here", ids("large.parquet"), ids("large.jsonl"))


def main():
    programs = os.path.dirname(os.path.realpath(subprocess.check_output(["which", "tokenize"], text=True).strip()))
    if not os.path.exists(os.path.join(programs, "../lib/textmill/libtextmill-parquet.so")):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_reading(random.Random(1))
        check_writing()
        check_row_groups()
        os.chdir("/")
    print(f"Parquet and Arrow: {checks} comparisons with pyarrow {pa.__version__} and datasets {datasets.__version__}")


main()
