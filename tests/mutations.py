"""Messages as a hostile or broken site would send them, and what must hold of any accepted one."""

import zlib
from fractions import Fraction

PATTERNS = [b"\x00" * 8, b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + b"\x00" * 7, b"\x01"]


def resealed(message):
    """Give the message with the checksum it would need."""
    return message[:-4] + zlib.crc32(message[:-4]).to_bytes(4, "big")


def mutated(message, others, rng):
    """Change a message in one of many ways; mostly mend its checksum so that the rest is read."""
    data = bytearray(message)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(6), int(rng.integers(4, max(len(data), 5)))
        if kind == 0:
            data[min(at, len(data) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 3:
            pattern = PATTERNS[rng.integers(len(PATTERNS))]
            data[at : at + len(pattern)] = pattern
        elif kind == 4:
            other = others[rng.integers(len(others))]
            data[at:] = other[int(rng.integers(len(other))) :]
        else:
            data[-12:] = rng.bytes(12)
        if len(data) < 8:
            data.extend(rng.bytes(8))
    return bytes(data) if rng.random() < 0.1 else resealed(bytes(data))


def invariants(profile):
    """List what is impossible about a profile, by exact fractions and apart from its own check."""
    wrong = []
    unit = 2**20
    for c, n in enumerate(profile.count.tolist()):
        sums, squares = profile.sums[:, c].tolist(), profile.squares[:, c].tolist()
        if n < 0 or n > 2**40:
            wrong.append((c, "count"))
        if n == 0 and any(sums + squares):
            wrong.append((c, "sums of nothing"))
        if n <= 0:
            continue
        for total, square in zip(sums, squares, strict=True):
            mean, mean_square = Fraction(total, n * unit), Fraction(square, n * unit)
            if abs(mean) > 1 or not 0 <= mean_square <= 1:
                wrong.append((c, "bounds"))
            # 2^-18: a few roundings of 2^-20 a sample
            if mean_square - mean**2 < -Fraction(1, 2**18):
                wrong.append((c, "variance"))
        if sums[1] < 0 or abs(Fraction(squares[0] + squares[1], n * unit) - 1) > Fraction(1, 2**18):
            wrong.append((c, "RS^2 + DS^2"))
    return wrong
