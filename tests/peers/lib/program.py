"""Our side of a comparison of models: a C program beside the comparison, built against the library."""
import os
import subprocess

import numpy as np

from lib.paths import ROOT

LIBRARY = os.environ.get("TEXTMILL_LIBRARY") or os.path.join(ROOT, "build/release/libtextmill.a")


def build(name, folder):
    program = os.path.join(folder, name)
    with open(os.path.join(ROOT, "Makefile")) as makefile:
        packages = next(line for line in makefile if line.startswith("PACKAGES = ")).split()[2:]
    libs = subprocess.check_output(["pkg-config", "--libs", *packages], text=True).split()
    subprocess.check_call(["cc", "-std=gnu11", "-O2", "-I" + ROOT, os.path.join(ROOT, f"tests/peers/{name}.c"),
                           LIBRARY, *libs, "-ldl", "-lm", "-lpthread", "-o", program])
    return program


def close(what, ours, theirs, tolerance=1e-4):
    """Largest difference, relative to the largest value."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape, (what, ours.shape, theirs.shape)
    worst = float(np.abs(ours - theirs).max() / max(1e-30, float(np.abs(theirs).max())))
    print(f"{what}: {worst:.1e} (at most {tolerance:.0e})")
    assert worst <= tolerance, what
