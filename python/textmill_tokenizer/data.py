"""What the programs of textmill write, as objects of Python: shards of tfwrite(1), documents of wikiprep(1)."""
import bisect
import json
import mmap
import os
import subprocess
import tempfile
import warnings

import numpy

from . import _core


class Shards:
    """The records in a folder of tfwrite, or in a TFRecord file, as a sequence: each is a dict of arrays. Records of layout gpt have
    "input_ids" and, if only some of the ids are to be learned, "labels": the same ids, and -100 where there is no loss. As with
    transformers, the label of a position is for the position before it. The files are mapped into memory; the checksums of a record are
    checked when it is read. A PyTorch DataLoader takes a Shards as its data set, also with workers."""

    def __init__(self, path):
        self.path = os.path.abspath(os.fsdecode(path))  # a worker may read the files anew, after a change of folder
        names = [self.path]
        if os.path.isdir(self.path):
            names = [os.path.join(self.path, name) for name in sorted(os.listdir(self.path)) if name.endswith(".tfrecord")]
        if not names and not _is_empty_set(self.path):
            raise _core.TokenizerError(f"{self.path}: no file here ends in .tfrecord")
        self._files = [(name, *_mapped(name)) for name in names]
        self._ends = numpy.cumsum([len(offsets) for _, _, offsets in self._files]).tolist()

    def __len__(self):
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, i):
        i = range(len(self))[i]
        if isinstance(i, range):  # a slice
            return [self[k] for k in i]
        k = bisect.bisect_right(self._ends, i)
        name, mapped, offsets = self._files[k]
        number = i - (self._ends[k - 1] if k else 0)
        row = _core.record(mapped, os.fsencode(name), number, int(offsets[number]))
        if "loss_mask" in row:
            row["labels"] = numpy.where(row.pop("loss_mask"), row["input_ids"], -100)
        return row

    def __reduce__(self):
        return type(self), (self.path,)


def _is_empty_set(folder):
    """Whether tfwrite --allow-empty finished the folder without a record."""
    manifest = os.path.join(folder, "manifest")
    if not os.path.exists(manifest):
        return False
    with open(manifest, encoding="utf-8", errors="replace") as f:
        return "records=0\n" in f


def _mapped(name):
    """The file's bytes, and where its records begin."""
    with open(name, "rb") as f:
        mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(f.fileno()).st_size else b""
    index = os.path.splitext(name)[0] + ".index"
    if mapped and not os.path.exists(index):
        raise _core.TokenizerError(f"{name}: it has no index {index}: tfwrite index makes one, unless the file is compressed")
    return mapped, numpy.loadtxt(index, numpy.uint64, usecols=0, ndmin=1) if mapped else ()


def documents(*paths, **options):
    """Yields the pages of MediaWiki dumps, in any form that wikiprep(1) reads, as dicts: id, revid, url, title, text. The program wikiprep
    must be on the PATH; `options` are its own: language="lv", min_length=100, lists=False; one that is None is not given. Its errors are
    raised, and its warnings given, when the pages before them have been yielded. If the iterator is closed or forgotten, wikiprep ends."""
    flags = [[f"--no-{name}"] if value is False else [f"--{name}"] if value is True else [f"--{name}", str(value)]
             for name, value in ((name.replace("_", "-"), value) for name, value in options.items() if value is not None)]
    with tempfile.TemporaryFile() as errors:
        command = ["wikiprep", "--json", *sum(flags, []), "--", *map(os.fspath, paths)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as program:
            try:
                for line in program.stdout:
                    if line.endswith(b"\n"):  # else the program ended within a page
                        yield json.loads(line)
                program.wait()
            finally:
                program.terminate()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace").strip()
        if program.returncode:
            raise RuntimeError(said or f"wikiprep ended with status {program.returncode}")
        warned = "\n".join(line for line in said.splitlines() if line.startswith("wikiprep: warning: "))
        if warned:  # what else it says, such as how many pages there were, is no warning
            warnings.warn(warned, stacklevel=2)
