"""Weights out of an old torch file by reading it as data: nothing in the file is ever executed.

Such a file is five opcode streams (magic, version, system, contents, storage keys) and then the
raw storages. The walk below knows the two dozen opcodes that plain state dicts use, builds only
dicts, tuples and records of them, and refuses every other opcode and every other name.
"""

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_DTYPES: dict[str, np.dtype[np.generic]] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
_CALLS = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2"}
_MARK = object()

_CONSTANTS = {b")": (), b"N": None, b"\x88": True, b"\x89": False, b"(": _MARK}
_NUMBERS = {b"K": "<B", b"M": "<H", b"J": "<i"}
_TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}


class _Name(NamedTuple):
    name: str


class _Storage(NamedTuple):
    key: str
    dtype: np.dtype[np.generic]
    length: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Walk:
    """One reader over the bytes of the file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ScopeError("the weights file ends too early; install its package again")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, kind: str) -> int:
        value: int = struct.unpack(kind, self.take(struct.calcsize(kind)))[0]
        return value

    def stream(self) -> Any:
        """Read one opcode stream and give the plain value it describes."""
        self.stack, self.memo = [], {}
        if self.take(2) != b"\x80\x02":
            raise ScopeError("the weights file must be of protocol 2")
        while (code := self.take(1)) != b".":
            self.step(code)
        return self.stack.pop()

    def step(self, code: bytes) -> None:
        """Apply one opcode of the allow-list."""
        if code in _CONSTANTS:
            self.stack.append(_CONSTANTS[code])
        elif code in _NUMBERS:
            self.stack.append(self.number(_NUMBERS[code]))
        elif code in _TUPLES:
            count = _TUPLES[code]
            self.stack[-count:] = [tuple(self.stack[-count:])]
        else:
            steps = {
                b"}": lambda: self.stack.append({}),
                b"]": lambda: self.stack.append([]),
                b"X": lambda: self.stack.append(self.take(self.number("<I")).decode()),
                b"\x8a": lambda: self.stack.append(
                    int.from_bytes(self.take(self.take(1)[0]), "little")
                ),
                b"q": lambda: self.memo.update({self.number("<B"): self.stack[-1]}),
                b"r": lambda: self.memo.update({self.number("<I"): self.stack[-1]}),
                b"h": lambda: self.stack.append(self.memo[self.number("<B")]),
                b"j": lambda: self.stack.append(self.memo[self.number("<I")]),
                b"t": lambda: self.stack.append(tuple(self.since_mark())),
                b"s": lambda: self.set_items(self.pop(2)),
                b"u": lambda: self.set_items(self.since_mark()),
                b"a": lambda: self.extend(self.pop(1)),
                b"e": lambda: self.extend(self.since_mark()),
                b"b": lambda: self.pop(1),
                b"c": self.name,
                b"Q": self.storage,
                b"R": self.call,
            }
            if code not in steps:
                raise ScopeError(f"the weights file uses the opcode {code!r}, which is refused")
            steps[code]()

    def pop(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def since_mark(self) -> list[Any]:
        start = max(i for i, item in enumerate(self.stack) if item is _MARK)
        items = self.stack[start + 1 :]
        del self.stack[start:]
        return items

    def extend(self, items: list[Any]) -> None:
        self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def line(self) -> str:
        end = self.data.index(b"\n", self.at)
        return self.take(end + 1 - self.at)[:-1].decode()

    def name(self) -> None:
        name = f"{self.line()} {self.line()}"
        if name not in _CALLS and name not in _DTYPES:
            raise ScopeError(f"the weights file names {name!r}, which is refused")
        self.stack.append(_Name(name))

    def storage(self) -> None:
        _, kind, key, _, count, *_ = self.stack.pop()
        self.stack.append(_Storage(key, _DTYPES[kind.name], count))

    def call(self) -> None:
        called, arguments = self.pop(2)
        if called == _Name("collections OrderedDict"):
            self.stack.append({})
        elif called == _Name("torch._utils _rebuild_tensor_v2"):
            self.stack.append(_Tensor(*arguments[:4]))
        else:
            raise ScopeError(f"the weights file calls {called!r}, which is refused")


def read_torch_file(data: bytes) -> dict[str, NDArray[np.generic]]:
    """Give the arrays of a state dict that torch wrote before its zip format (version 1.6)."""
    walk = _Walk(data)
    if walk.stream() != _MAGIC or walk.stream() != _VERSION or not walk.stream()["little_endian"]:
        raise ScopeError("the weights file must be torch's old format, little endian")
    tensors: dict[str, _Tensor] = walk.stream()
    keys: list[str] = walk.stream()
    kinds = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    storages = {key: _read_storage(walk, kinds[key]) for key in keys}
    return {name: _view(tensor, storages) for name, tensor in tensors.items()}


def _read_storage(walk: _Walk, kind: _Storage) -> NDArray[np.generic]:
    if walk.number("<q") != kind.length:
        raise ScopeError("the weights file must state one length for each storage")
    return np.frombuffer(walk.take(kind.length * kind.dtype.itemsize), kind.dtype)


def _view(tensor: _Tensor, storages: dict[str, NDArray[np.generic]]) -> NDArray[np.generic]:
    base = storages[tensor.storage.key][tensor.offset :]
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride, strict=True))
    if tensor.offset < 0 or min(tensor.stride, default=0) < 0 or last >= base.size:
        raise ScopeError("the weights file must keep every tensor inside its storage")
    strides = [step * base.itemsize for step in tensor.stride]
    return np.lib.stride_tricks.as_strided(base, tensor.shape, strides).copy()
