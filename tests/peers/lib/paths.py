"""The paths of the tree and of the real data; tests/peers/run may set others."""
import os
import sys

ROOT = os.environ.get("ROOT") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
DATA = os.environ.get("DATA") or os.path.join(ROOT, "../shared/data")


def need_data():
    """Skips the comparison if the real data is missing."""
    if not os.path.isdir(DATA):
        sys.exit(77)
