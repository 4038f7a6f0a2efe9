"""The settings of one federated training, and the randomness and learning rates they imply."""

import math
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from scopefl.errors import ScopeError


class Purpose(IntEnum):
    """What a random stream is for; streams of different purposes never meet."""

    START = 0
    SAMPLE_CLIENTS = 1
    TRAIN = 2


@dataclass(frozen=True)
class Plan:
    """FedAvg with SGD: how long, how many clients a round, which steps."""

    rounds: int
    local_epochs: int = 1
    batch_size: int = 64
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    fraction: float = 1.0
    seed: int = 0
    lr_schedule: Literal["cosine", "constant"] = "cosine"

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        for name in ("rounds", "local_epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ScopeError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not (self.lr > 0 and math.isfinite(self.lr)):
            raise ScopeError(f"lr must be above 0, got {self.lr}")
        if not 0 <= self.momentum < 1:
            raise ScopeError(f"momentum must be at least 0 and below 1, got {self.momentum}")
        if not self.weight_decay >= 0:
            raise ScopeError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if not 0 < self.fraction <= 1:
            raise ScopeError(f"fraction must be above 0 and at most 1, got {self.fraction}")
        if self.seed < 0:
            raise ScopeError(f"seed must be at least 0, got {self.seed}")
        if self.lr_schedule not in ("cosine", "constant"):
            raise ScopeError(f"lr_schedule must be cosine or constant, got {self.lr_schedule!r}")

    def lr_at(self, number: int) -> float:
        """Give the learning rate of round `number`, counted from 1.

        >>> [round(Plan(rounds=2, lr=1.0).lr_at(number), 3) for number in (1, 2)]
        [1.0, 0.5]
        """
        if self.lr_schedule == "constant":
            return self.lr
        return self.lr / 2 * (1 + math.cos(math.pi * (number - 1) / self.rounds))

    def rng(self, purpose: Purpose, *place: int) -> np.random.Generator:
        """Give the random stream of one purpose at one place, such as a round and a client."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(purpose, *place)))

    def as_dict(self) -> dict[str, Any]:
        """Give the settings by name."""
        return asdict(self)
