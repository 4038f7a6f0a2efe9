"""Weights of a backbone: from a local safetensors file or from the hub, hashed, never unpickled."""

import hashlib
import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path

from scopefl.errors import ScopeError
from scopefl.vision.backbones import Backbone
from scopefl.vision.manifest import UNKNOWN

FILE = "open_clip_model.safetensors"
_HEADER_CAP = 100 << 20


@dataclass(frozen=True)
class Weights:
    """A safetensors file on this disk, with what we know of where it came from."""

    path: Path
    source: str
    revision: str
    sha256: str


def local_weights(path: Path, backbone: Backbone) -> Weights:
    """Give a local file if it is safetensors and, where the hash is written down, the right one."""
    _refuse_pickle(path)
    return _checked(Weights(path, "a local file", UNKNOWN, _sha256(path)), backbone)


def hub_weights(backbone: Backbone, revision: str | None = None) -> Weights:
    """Download a backbone's weights, with progress, from its hub repository."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RemoteEntryNotFoundError,
    )

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    wanted = revision or (backbone.revision if backbone.pinned else "main")
    try:
        path = Path(hf_hub_download(backbone.source, FILE, revision=wanted))
    except RemoteEntryNotFoundError as missing:
        raise ScopeError(
            f"{backbone.source} has no {FILE} at {wanted}, and pickled weights are refused; "
            "convert them to safetensors where you trust them and pass --weights FILE"
        ) from missing
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as unreachable:
        raise ScopeError(
            f"the hub gave no {backbone.source} at {wanted} ({type(unreachable).__name__}); "
            f"either download {FILE} elsewhere and pass --weights FILE, or use the built-in "
            "kit 'offline', which is not a CLIP"
        ) from unreachable
    commit = path.parent.name if len(path.parent.name) == 40 else wanted
    _refuse_pickle(path)
    found = Weights(path, backbone.source, commit, _sha256(path))
    _check_arrived(found)
    return _checked(found, backbone)


def _check_arrived(weights: Weights) -> None:
    """Compare a download with the SHA-256 that the hub states, which names the file it is kept in.

    The hub's own client compares nothing but the length.
    """
    stated = weights.path.resolve().name
    if re.fullmatch("[0-9a-f]{64}", stated) and stated != weights.sha256:
        raise ScopeError(
            f"{weights.path} must have SHA-256 {stated} as the hub states, it has "
            f"{weights.sha256}; delete it and download again"
        )


def _checked(weights: Weights, backbone: Backbone) -> Weights:
    if backbone.sha256 not in (UNKNOWN, weights.sha256):
        raise ScopeError(
            f"{weights.path} must have SHA-256 {backbone.sha256} to be {backbone.name}, "
            f"it has {weights.sha256}"
        )
    return weights


def _refuse_pickle(path: Path) -> None:
    """Check that the file starts as safetensors do: a length and then a JSON object."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if 2 <= length <= _HEADER_CAP else b""
        well_formed = isinstance(json.loads(header), dict)
    except OSError as missing:
        raise ScopeError(f"{path} cannot be read: {missing.strerror}") from missing
    except (ValueError, RecursionError):
        well_formed = False
    if not well_formed:
        raise ScopeError(
            f"{path} must be a safetensors file; pickled weights (.pt, .bin, .ckpt) can run code "
            "and are refused, convert them where you trust them"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
