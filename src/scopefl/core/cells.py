"""The integers of a profile as few bits as they are worth: each predicted from those before it.

A client's class means resemble each other, a sum of squares is nearly the square of the sum, and
RS^2 + DS^2 = 1 leaves DS with little to say. Only what the prediction misses is written. All
arithmetic is on whole numbers, so that every machine predicts the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scopefl.core.bits import BitReader, BitWriter
from scopefl.errors import ScopeError

UNIT = 1 << 20
LARGEST = 1 << 62
METRICS = ("rs", "ds", "s_neg")

COLUMNS = ("count", "rs", "rs2", "ds2", "ds", "s_neg", "s_neg2")
EXPECTED_BITS = {
    # Bits of what is missed, beyond the bits of n, for n = 1, n = 2..3 and more:
    # read off CLIP-like scores (means within 0.05, sigma 0.03); they adapt within a profile.
    "count": (3, 3, 3),
    "rs": (16, 15, 14),
    "rs2": (0, 8, 8),
    "ds2": (1, 1, 0),
    "ds": (0, 1, 1),
    "s_neg": (16, 15, 14),
    "s_neg2": (0, 8, 8),
}


class Residuals(Protocol):
    """Either side of the wire: give it a prediction, get the number back."""

    def number(self, column: str, n: int, prediction: int) -> int:
        """Write the number that is due, or read it."""
        ...


@dataclass
class _Expectation:
    """How many bits the misses of a column took lately, in sixteenths, for small and large n."""

    sixteenths: dict[tuple[str, int], int] = field(
        default_factory=lambda: {
            (column, size): 16 * bits
            for column, by_size in EXPECTED_BITS.items()
            for size, bits in enumerate(by_size)
        }
    )

    def order(self, column: str, n: int) -> int:
        """Give the order k of the code for the next miss."""
        return max(0, self.sixteenths[column, _size(n)] // 16 + _growth(column, n))

    def learn(self, column: str, n: int, miss: int) -> None:
        """Move a quarter of the way to what was just seen."""
        key = column, _size(n)
        seen = 16 * (max(miss.bit_length() - 1, 0) - _growth(column, n))
        self.sixteenths[key] += (seen - self.sixteenths[key]) // 4


def _size(n: int) -> int:
    return 0 if n == 1 else 1 if n < 4 else 2


def _growth(column: str, n: int) -> int:
    return 0 if column == "count" else n.bit_length() - 1


class _Writing:
    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers, self.out, self.expected = numbers, BitWriter(), _Expectation()

    def number(self, column: str, n: int, prediction: int) -> int:
        value = next(self.numbers)
        miss = _zigzag(value - prediction) if column != "count" else value - 1
        self.out.golomb(miss, self.expected.order(column, n))
        self.expected.learn(column, n, miss)
        return value


class _Reading:
    def __init__(self, data: bytes) -> None:
        self.bits, self.expected = BitReader(data), _Expectation()

    def number(self, column: str, n: int, prediction: int) -> int:
        miss = self.bits.golomb(self.expected.order(column, n))
        self.expected.learn(column, n, miss)
        value = _unzigzag(miss) + prediction if column != "count" else miss + 1
        if abs(value) >= LARGEST:
            raise ScopeError("the message holds a sum no collection can reach; ask for it again")
        return value


def _zigzag(x: int) -> int:
    return 2 * x if x >= 0 else -2 * x - 1


def _unzigzag(z: int) -> int:
    return z // 2 if z % 2 == 0 else -(z + 1) // 2


@dataclass
class _Typical:
    """Mean and spread of one metric over the classes passed so far, as whole-number ratios."""

    count: int = 1
    total: int = UNIT // 4
    pairs: int = 1
    excess: int = UNIT // 1024

    def sum_of(self, n: int) -> int:
        return n * self.total // self.count

    def square_of(self, n: int, total: int) -> int:
        return total * total // (n * UNIT) + (n - 1) * self.excess // self.pairs

    def pass_by(self, n: int, total: int, square: int) -> None:
        # Every class counts about alike: a large one is scaled down to 16 samples.
        share = min(n, 16)
        self.count, self.total = self.count + share, self.total + total * share // n
        if n > 1:
            spread = max(0, square - total * total // (n * UNIT))
            self.pairs += share
            self.excess += spread * share // (n - 1)


def _cell(wire: Residuals, rs: _Typical, s_neg: _Typical) -> tuple[int, ...]:
    """Pass one class over the wire, its numbers in the order in which they predict each other."""
    n = wire.number("count", 1, 0)
    rs_sum = wire.number("rs", n, rs.sum_of(n))
    rs_square = wire.number("rs2", n, rs.square_of(n, rs_sum))
    ds_square = wire.number("ds2", n, n * UNIT - rs_square)
    ds_sum = wire.number("ds", n, _ds_sum(n, rs_sum, rs_square, ds_square))
    s_sum = wire.number("s_neg", n, s_neg.sum_of(n))
    s_square = wire.number("s_neg2", n, s_neg.square_of(n, s_sum))
    rs.pass_by(n, rs_sum, rs_square)
    s_neg.pass_by(n, s_sum, s_square)
    return n, rs_sum, ds_sum, s_sum, rs_square, ds_square, s_square


def _ds_sum(n: int, rs_sum: int, rs_square: int, ds_square: int) -> int:
    """Predict the sum of DS: its variance is about (RS/DS)^2 times that of RS (delta method)."""
    if ds_square <= 0:
        return 0
    rs_excess = max(0, rs_square - rs_sum * rs_sum // (n * UNIT))
    ds_excess = rs_excess * rs_sum * rs_sum // (n * UNIT * ds_square)
    return isqrt(n * UNIT * max(0, ds_square - ds_excess))


def encode_cells(
    count: NDArray[np.int64], sums: NDArray[np.int64], squares: NDArray[np.int64]
) -> bytes:
    """Code count (C,), sums and squares (3, C): a bit for each class, then the classes present."""
    present = np.flatnonzero(count)
    table = np.concatenate([count[None], sums, squares])[:, present].T.tolist()
    order = (0, 1, 4, 5, 2, 3, 6)
    wire = _Writing(row[i] for row in table for i in order)
    rs, s_neg = _Typical(), _Typical()
    for _ in present:
        _cell(wire, rs, s_neg)
    return np.packbits(count > 0).tobytes() + wire.out.to_bytes()


def decode_cells(
    data: bytes, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Read back what `encode_cells` wrote for a known number of classes."""
    width = -(-n_classes // 8)
    if len(data) < width:
        raise ScopeError("the message ends before its list of classes does; ask for it again")
    bitmap = np.unpackbits(np.frombuffer(data, np.uint8, width))
    if bitmap[n_classes:].any():
        raise ScopeError("the message names classes beyond its own list; ask for it again")
    present = np.flatnonzero(bitmap)
    wire = _Reading(data[width:])
    rs, s_neg = _Typical(), _Typical()
    rows = [_cell(wire, rs, s_neg) for _ in present]
    wire.bits.end()
    table = np.zeros((7, n_classes), np.int64)
    if rows:
        table[:, present] = np.array(rows, np.int64).T
    return table[0], table[1:4], table[4:7]
