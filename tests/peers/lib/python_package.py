"""Installs python/ into a folder of its own, where this process and those that it starts find it."""
import os
import subprocess
import sys
import tempfile

from lib.paths import ROOT


def install():
    target = tempfile.mkdtemp()
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", target,
                    os.path.join(ROOT, "python")], check=True)
    sys.path.insert(0, target)
    os.environ["PYTHONPATH"] = os.pathsep.join([target, os.environ.get("PYTHONPATH", "")])
