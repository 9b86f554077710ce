"""Runs our side of a comparison of models: a C program beside the comparison, built with the library."""
import os
import subprocess

import numpy as np
import torch

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
    """Checks the largest difference, relative to the largest value."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape, (what, ours.shape, theirs.shape)
    worst = float(np.abs(ours - theirs).max() / max(1e-30, float(np.abs(theirs).max())))
    print(f"{what}: {worst:.1e} (at most {tolerance:.0e})")
    assert worst <= tolerance, what


def stir(model):
    """Changes all parameters a little, so that no bias is 0 and no gain is 1."""
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.05)
    return model.eval()


def their_logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor(ids.astype(np.int64))[None]).logits[0].float().numpy()


def our_logits(program, folder, ids):
    ids.astype(np.uint32).tofile(folder + ".ids")
    subprocess.check_call([program, "logits", folder, folder + ".ids", folder + ".logits"])
    return np.fromfile(folder + ".logits", np.float32).reshape(len(ids), -1)
