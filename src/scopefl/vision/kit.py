"""An encoder kit: the folder a coordinator gives to sites, and all they need to score images."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError
from scopefl.vision import canaries, runtimes
from scopefl.vision.cache_folder import whole_folder
from scopefl.vision.canaries import CanaryCheck, CanaryScores
from scopefl.vision.encoder import TowerEncoder
from scopefl.vision.manifest import MAX_BYTES, Manifest, Origin, read_manifest
from scopefl.vision.onnx_bytes import refuse_foreign
from scopefl.vision.preprocess import Preprocessing
from scopefl.vision.prompts import TEMPLATES, check_classes, check_templates

OFFLINE = "offline"
MAX_MODEL_BYTES = 2 << 30
"""ONNX itself ends here."""
_NPY_HEADER = 4_096


@dataclass(frozen=True)
class Draft:
    """What a kit is made of, before its canaries are run."""

    origin: Origin
    classes: Sequence[str]
    preprocessing: Preprocessing
    model: bytes
    prototypes: NDArray[np.float32]
    prompts: Sequence[str] = TEMPLATES
    recipe: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kit:
    """A checked kit: model bytes, prototypes (C, D), canary rows (16, D)."""

    manifest: Manifest
    model: bytes
    prototypes: NDArray[np.float32]
    canary_rows: NDArray[np.float32]

    @classmethod
    def load(
        cls,
        where: str | Path,
        classes: Sequence[str] | None = None,
        prompts: Sequence[str] = TEMPLATES,
    ) -> "Kit":
        """Give the kit in a folder, or the built-in one named `offline` for these classes."""
        if str(where) == OFFLINE:
            from scopefl.vision.offline.kit import offline_kit

            if classes is None:
                raise ScopeError("the kit 'offline' is made for your classes; name them")
            return offline_kit(classes, prompts)
        kit = read_kit(Path(where))
        if classes is not None and check_classes(classes) != kit.classes:
            raise ScopeError(
                f"the kit {where} was built for the classes {_listed(kit.classes)}, "
                f"not for {_listed(classes)}; build one for yours with scope kit build"
            )
        return kit

    @property
    def name(self) -> str:
        """The backbone's name."""
        return self.manifest.origin.backbone

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of the prototypes."""
        return self.manifest.classes

    @property
    def fingerprint(self) -> bytes:
        """The 8 bytes that name all that decides a score."""
        return self.manifest.fingerprint()

    @property
    def canary_scores(self) -> CanaryScores:
        """What the canaries must score."""
        return CanaryScores(np.array(self.manifest.canary_rs), np.array(self.manifest.canary_s_neg))

    def encoder(self, runtime: str = "auto", threads: int | None = None) -> TowerEncoder:
        """Give the image tower, run by the fastest float32 runtime or by the one named."""
        name = runtimes.chosen(runtime)
        tower = runtimes.started_when_needed(name, self.model, threads or runtimes.usable_cores())
        rows = runtimes.AT_ONCE.get(name, 1)
        return TowerEncoder(self.manifest.preprocessing, tower, self.manifest.dim, rows)

    def check(self, runtime: str = "auto", threads: int | None = None) -> CanaryCheck:
        """Run the canaries on this machine and compare."""
        name = runtimes.chosen(runtime)
        tolerance = runtimes.TOLERANCE[runtimes.precision(name)]
        return canaries.check(self, self.encoder(name, threads), tolerance)

    def used(self, decoding: Mapping[str, str], runtime: str) -> "Kit":
        """Give this kit as a site uses it: its rules and arithmetic are in the fingerprint."""
        arithmetic = runtimes.precision(runtimes.chosen(runtime))
        return replace(
            self,
            manifest=replace(self.manifest, decoding=dict(decoding), arithmetic=arithmetic),
        )

    def with_visual_prototypes(self, sha256: str) -> "Kit":
        """Give this kit as it is named when class means of that digest replace its texts."""
        return replace(self, manifest=replace(self.manifest, recipe=sha256))

    def save(self, folder: Path) -> None:
        """Write the kit as a new folder, whole or not at all."""
        if folder.exists():
            raise ScopeError(f"{folder} must not exist yet; choose another name or delete it")
        with whole_folder(folder) as draft:
            (draft / "kit.json").write_bytes(self.manifest.to_json())
            (draft / "image.onnx").write_bytes(self.model)
            (draft / "prototypes.npy").write_bytes(npy_bytes(self.prototypes))
            (draft / "canaries.npy").write_bytes(npy_bytes(self.canary_rows))


def make_kit(draft: Draft) -> Kit:
    """Give the kit of these parts, its canaries run by ONNX Runtime."""
    refuse_foreign(draft.model, "image.onnx")
    tower = runtimes.started_when_needed("onnxruntime", draft.model, runtimes.usable_cores())
    dim = draft.prototypes.shape[1]
    rows = canaries.embeddings(TowerEncoder(draft.preprocessing, tower, dim))
    scores = CanaryScores.of(rows, draft.prototypes)
    manifest = Manifest(
        origin=draft.origin,
        classes=check_classes(draft.classes),
        prompts=check_templates(draft.prompts),
        preprocessing=draft.preprocessing,
        decoding={},
        dim=dim,
        files={
            "image.onnx": hashlib.sha256(draft.model).hexdigest(),
            "prototypes.npy": hashlib.sha256(npy_bytes(draft.prototypes)).hexdigest(),
            "canaries.npy": hashlib.sha256(npy_bytes(rows)).hexdigest(),
        },
        canary_rs=tuple(map(float, scores.rs)),
        canary_s_neg=tuple(map(float, scores.s_neg)),
        recipe=draft.recipe,
        warnings=draft.warnings,
    )
    return Kit(manifest, draft.model, draft.prototypes, rows)


def read_kit(folder: Path) -> Kit:
    """Give the kit in a folder after checking every size, hash and shape."""
    if not folder.is_dir():
        raise ScopeError(f"{folder} must be a kit's folder or the word {OFFLINE}")
    manifest = read_manifest(_read(folder / "kit.json", MAX_BYTES), str(folder / "kit.json"))
    caps = {
        "image.onnx": MAX_MODEL_BYTES,
        "prototypes.npy": 4 * len(manifest.classes) * manifest.dim + _NPY_HEADER,
        "canaries.npy": 4 * canaries.COUNT * manifest.dim + _NPY_HEADER,
    }
    data = {name: _read(folder / name, cap) for name, cap in caps.items()}
    for name, sha256 in manifest.files.items():
        if hashlib.sha256(data[name]).hexdigest() != sha256:
            raise ScopeError(
                f"{folder / name} is not the file this kit was made with; get it again"
            )
    refuse_foreign(data["image.onnx"], str(folder / "image.onnx"))
    return Kit(
        manifest,
        data["image.onnx"],
        _array(data["prototypes.npy"], (len(manifest.classes), manifest.dim), folder),
        _array(data["canaries.npy"], (canaries.COUNT, manifest.dim), folder),
    )


def npy_bytes(values: NDArray[np.float32]) -> bytes:
    """Give an array as the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(values), (1, 0), allow_pickle=False)
    return buffer.getvalue()


def _read(path: Path, cap: int) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise ScopeError(f"{path} must be a plain file; the kit is incomplete")
    if path.stat().st_size > cap:
        raise ScopeError(f"{path} must be at most {cap} bytes, it has {path.stat().st_size}")
    return path.read_bytes()


def _array(raw: bytes, shape: tuple[int, int], folder: Path) -> NDArray[np.float32]:
    try:
        found = np.lib.format.read_array(io.BytesIO(raw), allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as broken:
        raise ScopeError(f"{folder} holds an array that does not read: {broken}") from broken
    if found.shape != shape or found.dtype != np.float32 or not np.isfinite(found).all():
        raise ScopeError(f"{folder} must hold finite float32 arrays of shape {shape}")
    if np.abs(np.linalg.norm(found, axis=1) - 1).max() > 1e-4:
        raise ScopeError(f"{folder} must hold rows of length 1")
    return np.asarray(found, np.float32)


def _listed(classes: Sequence[str]) -> str:
    return ", ".join(classes[:5]) + (f" and {len(classes) - 5} more" if len(classes) > 5 else "")
