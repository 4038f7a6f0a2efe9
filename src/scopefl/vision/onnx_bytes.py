"""ONNX files without the onnx package: write the few messages we need, and judge those we get."""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import varint
from scopefl.errors import ScopeError

Attribute = int | str | Sequence[int]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DTYPES = {"float32": 1, "uint8": 2, "int64": 7}
_PLAIN_DOMAINS = {b"", b"ai.onnx", b"ai.onnx.ml"}

# What may hold nodes or tensors, by message and field number; everything else is skipped unread.
_GRAPH_IN_MODEL, _FUNCTION_IN_MODEL = 7, 25
_IN_GRAPH = {1: "node", 5: "tensor", 15: "sparse"}
_IN_NODE = {5: "attribute"}
_IN_ATTRIBUTE = {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"}
_CHILDREN = {
    "model": {_GRAPH_IN_MODEL: "graph", _FUNCTION_IN_MODEL: "function"},
    "graph": _IN_GRAPH,
    "function": {7: "node", 11: "attribute"},
    "node": _IN_NODE,
    "attribute": _IN_ATTRIBUTE,
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_NODE_DOMAIN, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 7, 13, 14


def refuse_foreign(model: bytes, name: str) -> None:
    """Refuse a model that reads other files or needs operators beyond the ONNX standard."""
    try:
        for message, field, value in _walk(memoryview(model), "model"):
            if message == "tensor" and (
                field == _TENSOR_EXTERNAL or (field, value) == (_TENSOR_LOCATION, 1)
            ):
                raise ScopeError(f"{name} must hold all its weights, it points to another file")
            if message == "node" and field == _NODE_DOMAIN and bytes(value) not in _PLAIN_DOMAINS:
                raise ScopeError(
                    f"{name} must use standard ONNX operators only, it uses those of "
                    f"{bytes(value)[:60].decode(errors='replace')!r}"
                )
    except (IndexError, struct.error) as broken:
        raise ScopeError(f"{name} must be an ONNX model, its bytes do not read as one") from broken


def _walk(data: memoryview, message: str) -> Iterator[tuple[str, int, Any]]:
    """Give every field of the messages that can hold operators or tensors, depth first."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        field, wire = key >> 3, key & 7
        value: Any
        if wire == _VARINT:
            value, at = _read_varint(data, at)
        elif wire == _BYTES:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                raise IndexError("a field ends after its message")
            value, at = data[at : at + size], at + size
        elif wire in (_FIXED64, _FIXED32):
            width = 8 if wire == _FIXED64 else 4
            value, at = bytes(data[at : at + width]), at + width
        else:
            raise IndexError("no such wire type")
        yield message, field, value
        child = _CHILDREN[message].get(field)
        if child and wire == _BYTES:
            yield from _walk(value, child)


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
    raise IndexError("a number of more than ten bytes")


def _number(field: int, value: int) -> bytes:
    return varint(field << 3 | _VARINT) + varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | _BYTES) + varint(len(raw)) + raw


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return _bytes(1, name) + _bytes(4, value) + _number(20, 3)
    return _bytes(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def node(operator: str, inputs: Sequence[str], output: str, **attributes: Attribute) -> bytes:
    """Give one operator of a graph, with one output."""
    return (
        b"".join(_bytes(1, name) for name in inputs)
        + _bytes(2, output)
        + _bytes(4, operator)
        + b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
    )


def tensor(name: str, values: NDArray[np.generic]) -> bytes:
    """Give one weight of a graph."""
    dims = b"".join(_number(1, size) for size in values.shape)
    kind = _number(2, _DTYPES[values.dtype.name])
    return dims + kind + _bytes(8, name) + _bytes(9, np.ascontiguousarray(values).tobytes())


def port(name: str, dtype: str, shape: Sequence[int | str]) -> bytes:
    """Give one input or output of a graph; a word in its shape is a free dimension."""
    dims = b"".join(
        _bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    kind = _number(1, _DTYPES[dtype]) + _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, kind))


def model(
    name: str,
    nodes: Sequence[bytes],
    tensors: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opset: int = 13,
) -> bytes:
    """Give a whole model file (format version 8)."""
    graph = (
        b"".join(_bytes(1, item) for item in nodes)
        + _bytes(2, name)
        + b"".join(_bytes(5, item) for item in tensors)
        + b"".join(_bytes(11, item) for item in inputs)
        + b"".join(_bytes(12, item) for item in outputs)
    )
    version = _bytes(8, _bytes(1, "") + _number(2, opset))
    return _number(1, 8) + _bytes(2, "scopefl") + _bytes(7, graph) + version
