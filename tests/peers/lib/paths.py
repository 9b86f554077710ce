"""Where the tree and the real data are; tests/peers/run may name others."""
import os
import sys

ROOT = os.environ.get("ROOT") or os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
DATA = os.environ.get("DATA") or os.path.join(ROOT, "../shared/data")


def need_data():
    """Ends the comparison as skipped where there is no real data."""
    if not os.path.isdir(DATA):
        sys.exit(77)
