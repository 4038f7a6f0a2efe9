"""What a client shares: integers per class that add up exactly in any order."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.cells import METRICS, UNIT, decode_cells, encode_cells
from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.scores import Floats, Labels, Scores, check_labels
from scopefl.errors import ScopeError

MAX_CLASSES = 1 << 20
MAX_COUNT = 1 << 40
MAX_FINGERPRINT = 32
CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Profile:
    """Per class: count (C,), and for RS, DS, S_neg sums and squares (3, C), int64 in 2^-20 units.

    >>> scores = Scores(np.array([0.5, 0.25]), np.array([0.5, 0.5]), np.array([0.0, 0.25]))
    >>> profile = Profile.of(scores, np.array([0, 0]), n_classes=2)
    >>> profile.mean[0, 0], (profile + profile).count
    (np.float64(0.375), array([4, 0]))
    """

    count: NDArray[np.int64]
    sums: NDArray[np.int64]
    squares: NDArray[np.int64]

    @classmethod
    def empty(cls, n_classes: int) -> "Profile":
        """Give the profile of no samples, which adds nothing."""
        return cls(
            np.zeros(n_classes, np.int64),
            np.zeros((3, n_classes), np.int64),
            np.zeros((3, n_classes), np.int64),
        )

    @classmethod
    def of(cls, scores: Scores, labels: Labels, n_classes: int) -> "Profile":
        """Sum up scores (N,) by their labels (N,)."""
        labels = check_labels(labels, len(scores), n_classes)
        profile = cls.empty(n_classes)
        for start in range(0, len(scores), CHUNK):
            rows = slice(start, start + CHUNK)
            here = np.asarray(labels[rows], np.intp)
            profile.count[:] += np.bincount(here, minlength=n_classes)
            for m, metric in enumerate(METRICS):
                x = np.asarray(getattr(scores, metric)[rows], np.float64)
                check_scores(x, metric, start)
                x = np.clip(x, -1.0, 1.0)
                profile.sums[m] += _class_sums(x, here, n_classes)
                profile.squares[m] += _class_sums(x * x, here, n_classes)
        return profile

    @classmethod
    def of_parts(cls, parts: Iterable[tuple[Scores, Labels]], n_classes: int) -> "Profile":
        """Sum up scores and labels that come in parts."""
        return sum((cls.of(*part, n_classes) for part in parts), cls.empty(n_classes))

    @property
    def n_classes(self) -> int:
        """Count the classes of the vocabulary, present or not."""
        return len(self.count)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of RS, DS, S_neg per class, (3, C); 0 where a class is absent."""
        return self.sums / (np.maximum(self.count, 1) * float(UNIT))

    @property
    def sigma(self) -> NDArray[np.float64]:
        """Population standard deviation per class, (3, C); 0 where rounding alone explains it."""
        mean = self.mean
        variance = self.squares / (np.maximum(self.count, 1) * float(UNIT)) - mean**2
        resolution = (0.5 + np.abs(mean)) / UNIT
        return np.sqrt(np.where((self.count > 1) & (variance > resolution), variance, 0.0))

    def __add__(self, other: "Profile") -> "Profile":
        """Merge: the profile of both collections together, exactly."""
        self._check_same_classes(other)
        return Profile(
            self.count + other.count, self.sums + other.sums, self.squares + other.squares
        )

    def __sub__(self, other: "Profile") -> "Profile":
        """Take data back out, exactly."""
        self._check_same_classes(other)
        if (other.count > self.count).any():
            c = int(np.argmax(other.count > self.count))
            raise ScopeError(
                f"only samples that are in a profile can be taken out of it, but class {c} holds "
                f"{self.count[c]} and {other.count[c]} are to go"
            )
        return Profile(
            self.count - other.count, self.sums - other.sums, self.squares - other.squares
        )

    def __eq__(self, other: object) -> bool:
        """Two profiles are equal when every integer is."""
        return isinstance(other, Profile) and all(
            np.array_equal(a, b) for a, b in zip(self.arrays, other.arrays, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal, but not hashable

    def to_bytes(self, fingerprint: bytes = b"") -> bytes:
        """Encode losslessly, with the fingerprint of the kit that scored."""
        return seal(b"P", self.to_body(fingerprint))

    @classmethod
    def from_bytes(cls, data: bytes, max_count: int = MAX_COUNT) -> "Profile":
        """Decode what `to_bytes` wrote; refuse what no collection of samples can have."""
        return cls.from_body(unseal(b"P", data), max_count)[0]

    def to_body(self, fingerprint: bytes) -> bytes:
        """Encode without the envelope, as part of another message."""
        if len(fingerprint) > MAX_FINGERPRINT:
            raise ScopeError(
                f"a fingerprint has at most {MAX_FINGERPRINT} bytes, got {len(fingerprint)}"
            )
        head = varint(self.n_classes) + varint(len(fingerprint)) + fingerprint
        return head + encode_cells(*self.arrays)

    @classmethod
    def from_body(cls, body: bytes, max_count: int = MAX_COUNT) -> "tuple[Profile, bytes]":
        """Decode `to_body`: the profile and the fingerprint it came with."""
        fields = Body(body)
        n_classes = fields.varint(MAX_CLASSES)
        fingerprint = fields.take(fields.varint(MAX_FINGERPRINT))
        profile = cls(*decode_cells(fields.rest(), n_classes))
        profile.check(max_count)
        return profile, fingerprint

    def check(self, max_count: int = MAX_COUNT) -> None:
        """Refuse integers that no scores of unit vectors can add up to."""
        n, ds, squares = self.count, self.sums[1], self.squares
        total = n * UNIT
        rounding = 2 * n  # each sample's square and sum were rounded on their own
        means = self.sums / np.maximum(n, 1)
        broken = {
            "a negative count": n < 0,
            f"more than {max_count} samples": n > max_count,
            "a mean beyond 1": np.abs(self.sums).max(axis=0) > total,
            "a mean square outside 0..1": (squares.min(axis=0) < 0) | (squares.max(axis=0) > total),
            "a negative variance": (means * self.sums > (squares + rounding) * float(UNIT)).any(0),
            "a negative DS": ds < 0,
            "RS^2 + DS^2 that is not 1": np.abs(squares[0] + squares[1] - total) > rounding,
        }
        for what, classes in broken.items():
            if classes.any():
                raise ScopeError(
                    f"this profile cannot be true: class {int(classes.argmax())} has {what}; "
                    "make it again from the scores"
                )

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Give count, sums and squares."""
        return self.count, self.sums, self.squares

    def _check_same_classes(self, other: "Profile") -> None:
        if self.n_classes != other.n_classes:
            raise ScopeError(
                "profiles must speak of the same class list, got "
                f"{self.n_classes} and {other.n_classes} classes; score again with one kit"
            )


def check_scores(x: Floats, metric: str, start: int = 0) -> None:
    """Refuse scores that no unit vectors can have."""
    possible = np.abs(x) <= 1 + 1e-6
    if not possible.all():
        row = int(np.argmin(possible))
        raise ScopeError(
            f"{metric} must be a number between -1 and 1, got {x[row]} at row {start + row}; "
            "score the image again or leave it out"
        )


def _class_sums(x: Floats, labels: Labels, n_classes: int) -> NDArray[np.int64]:
    # float64 holds these integers exactly: at most CHUNK of them, each at most 2^20.
    return np.bincount(labels, np.rint(x * UNIT), minlength=n_classes).astype(np.int64)
