"""The outside of every message: what it is, which version, and whether it arrived whole."""

import zlib

from scopefl.errors import ScopeError

MAGIC = b"SC"
VERSION = 1
KINDS = {
    b"P": "profile",
    b"O": "policy",
    b"C": "centroids",
    b"M": "class means",
    b"R": "release",
    b"K": "roster of key offers",
    b"L": "roster",
    b"S": "signed message",
    b"V": "masked centroids",
}
LARGEST = 64 << 20


def seal(kind: bytes, body: bytes) -> bytes:
    """Wrap a body: magic, kind, version, body, CRC-32 of all before it."""
    message = MAGIC + kind + bytes([VERSION]) + body
    return message + zlib.crc32(message).to_bytes(4, "big")


def unseal(kind: bytes, message: bytes) -> bytes:
    """Give the body of a whole message of the wanted kind, or say why it is not one.

    >>> unseal(b"P", seal(b"P", b"body"))
    b'body'
    """
    wanted = KINDS[kind]
    if len(message) > LARGEST:
        raise ScopeError(f"a {wanted} is at most {LARGEST >> 20} MiB, got {len(message) >> 20} MiB")
    if len(message) < 8 or message[:2] != MAGIC or message[2:3] not in KINDS:
        raise ScopeError(f"this is not a {wanted} of scopefl; give a file that scope wrote")
    if message[3] != VERSION:
        raise ScopeError(
            f"this {wanted} has format version {message[3]} and this scopefl reads {VERSION}; "
            "install the same scopefl at every site"
        )
    if message[2:3] != kind:
        raise ScopeError(f"a {wanted} is wanted here, got a {KINDS[message[2:3]]}")
    if zlib.crc32(message[:-4]).to_bytes(4, "big") != message[-4:]:
        raise ScopeError(f"this {wanted} was damaged on its way (checksum differs); send it again")
    return message[4:-4]


class Body:
    """Reads the fields of a body one by one, and never past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        """Take the next `length` bytes."""
        if self._at + length > len(self._data):
            raise ScopeError("the message ends in the middle of a field; ask for it again")
        self._at += length
        return self._data[self._at - length : self._at]

    def varint(self, largest: int) -> int:
        """Take a whole number of at most `largest`, seven bits a byte, shortest form only."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if value > largest or (byte == 0 and shift > 7):
                raise ScopeError(f"the message holds a number above its limit of {largest}")
            if byte < 128:
                return value

    def rest(self) -> bytes:
        """Take all that is left."""
        return self.take(len(self._data) - self._at)


def varint(value: int) -> bytes:
    r"""Write a whole number, seven bits a byte, low bits first.

    >>> varint(300)
    b'\xac\x02'
    """
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
