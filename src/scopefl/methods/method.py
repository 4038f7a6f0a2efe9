"""What a coreset method is: three verbs over what one client holds."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import Decimal, Ids, Rows, check_ids, exact, highest
from scopefl.core.scores import Floats, Labels, Scores, check_labels
from scopefl.errors import ScopeError

Uses = Literal["labels", "scores", "visual scores", "embeddings", "warm-up"]
Matches = Literal["client", "all", "nothing"]


@dataclass(frozen=True)
class WarmUp:
    """Federated training on all data before anything is chosen: rounds of local epochs.

    `watched` means that after every round the model looks at all the data it was trained on.
    """

    rounds: int = 4
    epochs: int = 5
    watched: bool = False


@dataclass(frozen=True)
class Trained:
    """What the warmed-up model says: features (N, F), logits (N, C), times forgotten (N,)."""

    features: NDArray[np.float32]
    logits: NDArray[np.float32]
    forgotten: NDArray[np.int64]

    def __getitem__(self, rows: Rows) -> "Trained":
        """Take some of the samples."""
        return Trained(self.features[rows], self.logits[rows], self.forgotten[rows])


@dataclass(frozen=True)
class Client:
    """N samples of one client in the order of their ids, and all a method may look at.

    `warm` holds one model a repeat of the warm-up; `embeddings` are unit rows (N, D).
    """

    name: str
    ids: Ids
    labels: Labels
    n_classes: int
    scores: Scores
    embeddings: NDArray[np.float32]
    warm: tuple[Trained, ...] = ()
    fingerprint: bytes = b""
    seed: int = 0

    @classmethod
    def of(
        cls,
        name: str,
        ids: Sequence[Any] | Ids,
        labels: Labels,
        n_classes: int,
        scores: Scores,
        embeddings: NDArray[np.float32],
        *,
        warm: Sequence[Trained] = (),
        fingerprint: bytes = b"",
        seed: int = 0,
    ) -> "Client":
        """Put the samples in the order of their ids, so that no method can depend on another."""
        labels = check_labels(labels, len(scores), n_classes)
        ids = check_ids(ids, len(scores))
        rows = np.argsort(ids, kind="stable")
        return cls(
            name,
            ids[rows],
            labels[rows],
            n_classes,
            scores[rows],
            embeddings[rows],
            tuple(trained[rows] for trained in warm),
            fingerprint,
            seed,
        )

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.labels)

    def rng(self) -> np.random.Generator:
        """Give random numbers that depend on the seed and the client's name alone."""
        name = hashlib.sha256(self.name.encode()).digest()[:8]
        return np.random.default_rng([self.seed, int.from_bytes(name, "big")])

    @property
    def trained(self) -> Trained:
        """Give the first model of the warm-up."""
        if not self.warm:
            raise ScopeError("this method needs a warm-up; train the clients' model first")
        return self.warm[0]


@dataclass(frozen=True)
class Budget:
    """How much to keep: by the method's own rule, or exactly `count` of the client's samples.

    `keep` is the share of all clients' samples together that the budget rule keeps.
    """

    p_l: Decimal = 0.1
    p_f: Decimal = 0.5
    beta: float = 0.5
    keep: Decimal | None = None
    count: int | None = None
    run: str = ""

    def of(self, n: int) -> int:
        """Give how many of n samples stay: the count asked for, or all but floor(p_f * n).

        >>> Budget(p_f=0.7).of(90), Budget(count=5).of(90)
        (27, 5)
        """
        if self.count is None:
            return n - int(exact("p_f", self.p_f) * n)
        return min(max(self.count, 0), n)


def says_nothing(client: Client) -> bytes:  # noqa: ARG001
    """Give the message of a method whose clients decide alone."""
    return b""


def agrees_on_nothing(messages: Sequence[bytes]) -> bytes:  # noqa: ARG001
    """Give the answer of a coordinator that was told nothing."""
    return b""


@dataclass(frozen=True)
class Method:
    """The three verbs, what they look at, and the training they need first.

    `matches` says whose number of kept samples can be asked for: each client's, or all together.
    `weigh` gives what each kept sample counts in training; without it all count alike.
    """

    select: Callable[[Client, bytes, Budget], Selection]
    summarize: Callable[[Client], bytes] = says_nothing
    agree: Callable[[Sequence[bytes]], bytes] = agrees_on_nothing
    uses: Uses = "labels"
    warm_up: WarmUp | None = None
    matches: Matches = "client"
    weigh: Callable[[Client, Selection], Floats] | None = None


def ranker(value: Callable[[Client], Floats], uses: Uses, warm_up: WarmUp | None = None) -> Method:
    """Give the method that keeps the samples of highest value, lowest id first among equals."""

    def select(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
        rows = highest(budget.of(len(client)), [value(client)], client.ids, np.arange(len(client)))
        return keeping(rows, len(client))

    return Method(select, uses=uses, warm_up=warm_up)


def keeping(rows: Rows, n: int) -> Selection:
    """Give the selection that keeps these rows of n and calls the others redundant.

    >>> keeping(np.array([0, 2]), 3).redundant
    array([False,  True, False])
    """
    kept = np.zeros(n, bool)
    kept[rows] = True
    return Selection.dropping(np.zeros(n, bool), ~kept)


def shared_out(total: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Share a total among groups in proportion to their sizes, largest remainders first.

    >>> shared_out(5, np.array([6, 3, 0, 1]))
    array([3, 2, 0, 0])
    """
    whole = max(int(sizes.sum()), 1)
    share = total * sizes // whole
    rest = total * sizes % whole
    first = np.argsort(-rest, kind="stable")[: total - int(share.sum())]
    share[first] += 1
    return share
