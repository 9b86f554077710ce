"""Each character beside Hugging Face's tokenizers and Python: normalization forms, lower case, marks, the classes of
regular expressions, and the case of letters. tests/peers/unicode.c runs our side."""
import os
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
try:
    from program import build
    from tokenizers import Regex, normalizers
except ImportError:
    sys.exit(77)
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(CHARACTERS)
failures = compared = 0


def compare(program, rule, theirs, except_for=""):
    """Compares each character's values."""
    global failures, compared
    ours = subprocess.run([program, rule], check=True, capture_output=True).stdout
    at, differ = 0, []
    for character, text in zip(CHARACTERS, theirs):
        end = at + 1 + ours[at]
        if ours[at + 1:end] != text.encode() and character not in except_for:
            differ.append(f"U+{ord(character):04X}")
        at = end
    assert at == len(ours), rule
    compared += len(CHARACTERS)
    failures += len(differ)
    if differ:
        print(f"unicode: {rule}: {len(differ)} characters differ: {' '.join(differ[:8])}")


def members(pattern):
    """Returns the characters that a regular expression of Hugging Face's tokenizers matches, and an empty string for the
    others."""
    kept = set(ALL) - set(normalizers.Replace(Regex(pattern), "").normalize_str(ALL))
    return [c if c in kept else "" for c in CHARACTERS]


with tempfile.TemporaryDirectory() as folder:
    ours = build("unicode", folder)
    peers = {"nfd": normalizers.NFD(), "nfkd": normalizers.NFKD(), "nfc": normalizers.NFC(), "nfkc": normalizers.NFKC(),
             "lower": normalizers.Lowercase(), "strip-marks": normalizers.StripAccents(), "nmt": normalizers.Nmt()}
    for rule, peer in peers.items():
        compare(ours, rule, [peer.normalize_str(c) for c in CHARACTERS])
    categories = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn L M N P S Z C"
    for category in categories.split():
        compare(ours, category, members(rf"\p{{{category}}}"))
    for rule in (r"\w", r"[\w]", r"\s"):
        compare(ours, rule, members(rule))
    compare(ours, "str.isspace", [c if c.isspace() else "" for c in CHARACTERS])
    if unicodedata.unidata_version == "14.0.0":
        compare(ours, "str.lower", map(str.lower, CHARACTERS))
        compare(ours, "lower-one", map(str.lower, CHARACTERS), except_for="\u0130")
        several = {c for c in CHARACTERS if len(c.upper()) > 1}  # a title begins with only one of them
        compare(ours, "upper", map(str.upper, CHARACTERS), except_for=several)
print(f"unicode: {compared} characters compared, {failures} differ")
sys.exit(failures > 0)
