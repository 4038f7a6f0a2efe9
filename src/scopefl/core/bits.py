"""Whole numbers as a string of bits, short where they are as small as expected."""

from scopefl.errors import ScopeError

LONGEST = 64


class BitWriter:
    """Collects numbers; `to_bytes` pads with zeros to whole bytes."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def bits(self, value: int, width: int) -> None:
        """Append `value` as exactly `width` bits."""
        if width:
            self._parts.append(format(value, f"0{width}b"))

    def golomb(self, value: int, k: int) -> None:
        """Append value >= 0 in the exponential Golomb code of order k: best near 2^k."""
        high = (value >> k) + 1
        self.bits(0, high.bit_length() - 1)
        self.bits(high, high.bit_length())
        self.bits(value & ((1 << k) - 1), k)

    def to_bytes(self) -> bytes:
        """Give all that was written."""
        text = "".join(self._parts)
        length = -(-len(text) // 8)
        return int(text.ljust(8 * length, "0") or "0", 2).to_bytes(length, "big")


class BitReader:
    """Reads back what a BitWriter wrote, and never past the end.

    >>> writer = BitWriter()
    >>> writer.golomb(1000, k=9)
    >>> BitReader(writer.to_bytes()).golomb(k=9)
    1000
    """

    def __init__(self, data: bytes) -> None:
        self._text = format(int.from_bytes(data, "big"), f"0{8 * len(data)}b") if data else ""
        self._at = 0

    def bits(self, width: int) -> int:
        """Take the next `width` bits as a number."""
        start, self._at = self._at, self._at + width
        if self._at > len(self._text):
            raise ScopeError("the message ends in the middle of a number; ask for it again")
        return int(self._text[start : self._at], 2) if width else 0

    def golomb(self, k: int) -> int:
        """Take the next number written by `golomb` with the same k."""
        one = self._text.find("1", self._at, self._at + LONGEST)
        if one < 0:
            raise ScopeError("the message holds a number of over 64 bits; ask for it again")
        width = one - self._at + 1
        self._at = one
        return (self.bits(width) - 1 << k) + self.bits(k)

    def end(self) -> None:
        """Insist that only the padding is left."""
        rest = self._text[self._at :]
        if len(rest) >= 8 or "1" in rest:
            raise ScopeError("the message goes on after its last number; ask for it again")
