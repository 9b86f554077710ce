"""The order in which training takes samples: common/base/rng.h and train/samples/batches.h, rewritten in Python."""

M64 = (1 << 64) - 1


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
    return z ^ z >> 31


def key(k, part):
    return mix((k * 0x9E3779B97F4A7C15 + mix(part + 0x632BE59BD9B4E019 & M64)) & M64)


def at(k, i):
    return mix(k + (i + 1) * 0x9E3779B97F4A7C15 & M64)


def permute(k, i, n):
    """Swap or not, 64 rounds (Hoang, Morris, Rogaway 2012)."""
    for turn in range(64):
        pivot = at(k, turn) * n >> 64
        other = (pivot - i) % n
        if at(key(k, turn), max(i, other)) >> 63:
            i = other
    return i


def sample(k, count, seed):
    """Returns the sample at place k of a run over `count` samples, over several epochs."""
    return permute(key(key(key(0, seed), 0x6F72646572), k // count), k % count, count)
