"""kit.json: all about an encoder kit but its arrays; strict to read, canonical to write."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from scopefl.core.fingerprint import canonical_json, digest, fingerprint
from scopefl.errors import ScopeError
from scopefl.vision.preprocess import Preprocessing
from scopefl.vision.prompts import CONTROL, check_classes, check_templates

FORMAT = 1
MAX_BYTES = 32 << 20
MAX_DIM = 65_536
MAX_SIZE = 4_096
FLOAT32 = "f32"
UNKNOWN = "unknown"
"""Stands for a revision or checksum that nobody stated; never a made-up one."""


@dataclass(frozen=True)
class Origin:
    """Where a kit's weights come from and under what terms."""

    backbone: str
    source: str
    revision: str
    licence: str
    weights_sha256: str
    tokenizer_sha256: str
    description: str = ""


@dataclass(frozen=True)
class Manifest:
    """What kit.json says."""

    origin: Origin
    classes: tuple[str, ...]
    prompts: tuple[str, ...]
    preprocessing: Preprocessing
    decoding: Mapping[str, str]
    """Rules that turn a file into pixels, by name; empty when the site declares none."""
    dim: int
    files: Mapping[str, str]
    """File name to SHA-256."""
    canary_rs: tuple[float, ...]
    canary_s_neg: tuple[float, ...]
    recipe: str = ""
    """SHA-256 of how the prototypes are made, for kits that every site makes itself; else empty."""
    warnings: tuple[str, ...] = ()
    """What a user of these classes should hear before scoring."""
    arithmetic: str = FLOAT32
    """Of the tower, as the site runs it."""

    def fingerprint(self) -> bytes:
        """Give the 8 bytes that name all that decides a score.

        Prototypes count by their bytes, or by their recipe where each site makes its own: the last
        bits of a text model differ between processors, and the canaries watch over those.
        """
        narrow = {} if self.arithmetic == FLOAT32 else {"arithmetic": self.arithmetic}
        return fingerprint(
            self.classes,
            {
                **narrow,
                "weights": self.files["image.onnx"],
                "prototypes": self.recipe or self.files["prototypes.npy"],
                "preprocessing": digest(asdict(self.preprocessing)),
                "decoding": digest(dict(self.decoding)),
                "prompts": digest(list(self.prompts)),
                "tokenizer": self.origin.tokenizer_sha256,
            },
        )

    def to_json(self) -> bytes:
        """Give the one spelling of this manifest."""
        return canonical_json({"format": FORMAT, **asdict(self)})


def read_manifest(raw: bytes, name: str) -> Manifest:
    """Give what kit.json says if it keeps every rule, else say which it breaks."""
    try:
        found = json.loads(raw)
        version = found.pop("format")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as broken:
        raise ScopeError(f"{name} must be a kit's JSON with a format number") from broken
    if version != FORMAT:
        raise ScopeError(
            f"{name} is a kit of format {version!r}, this scopefl reads format {FORMAT}; "
            "update scopefl or build the kit again"
        )
    try:
        manifest = _parse(found)
        _check(manifest, name)
    except (TypeError, KeyError, ValueError, AttributeError) as broken:
        raise ScopeError(f"{name} must have the fields of a kit: {broken}") from broken
    return manifest


def _parse(found: dict[str, Any]) -> Manifest:
    unknown = set(found) - {field.name for field in fields(Manifest)}
    if unknown:
        raise ValueError(f"unknown field {sorted(unknown)[0]!r}")
    preprocessing = dict(found["preprocessing"])
    for triple in ("mean", "std"):
        preprocessing[triple] = tuple(float(value) for value in preprocessing[triple])
    return Manifest(
        **{
            **found,
            "origin": Origin(**_texts(found["origin"])),
            "preprocessing": Preprocessing(**preprocessing),
            "decoding": _texts(found["decoding"]),
            "files": _texts(found["files"]),
            "classes": tuple(_texts(dict(enumerate(found["classes"]))).values()),
            "prompts": tuple(_texts(dict(enumerate(found["prompts"]))).values()),
            "warnings": tuple(_texts(dict(enumerate(found.get("warnings", ())))).values()),
            "canary_rs": tuple(float(value) for value in found["canary_rs"]),
            "canary_s_neg": tuple(float(value) for value in found["canary_s_neg"]),
        }
    )


def _texts(found: Mapping[Any, Any]) -> dict[Any, str]:
    if not all(isinstance(value, str) and not CONTROL.search(value) for value in found.values()):
        raise ValueError("a text without control characters was expected")
    return dict(found)


def _check(manifest: Manifest, name: str) -> None:
    rule = manifest.preprocessing
    rules = {
        f"the arithmetic of a kit must be {FLOAT32}": manifest.arithmetic == FLOAT32,
        f"dim must be 1 to {MAX_DIM}": 0 < manifest.dim <= MAX_DIM,
        f"the input size must be 1 to {MAX_SIZE}": 0 < rule.size <= MAX_SIZE,
        "resize must be shortest or squash": rule.resize in ("shortest", "squash"),
        "interpolation must be bicubic or bilinear": rule.interpolation in ("bicubic", "bilinear"),
        "mean and std must be three numbers, std above 0": len(rule.mean) == len(rule.std) == 3
        and all(map(math.isfinite, rule.mean))
        and min(rule.std) > 0,
        "it must list image.onnx, prototypes.npy and canaries.npy": set(manifest.files)
        == {"image.onnx", "prototypes.npy", "canaries.npy"},
        "classes must be in NFC and distinct": check_classes(manifest.classes) == manifest.classes,
        "prompts must be in NFC": check_templates(manifest.prompts) == manifest.prompts,
        "canary scores must be 16 numbers a kind": len(manifest.canary_rs)
        == len(manifest.canary_s_neg)
        == 16
        and all(map(math.isfinite, manifest.canary_rs + manifest.canary_s_neg)),
    }
    for rule_text, kept in rules.items():
        if not kept:
            raise ScopeError(f"{name}: {rule_text}")
