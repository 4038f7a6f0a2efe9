"""The settings a spec can hold: sections, names, types, defaults, and a sentence for each slip."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from scopefl.errors import ScopeError


@dataclass(frozen=True)
class Data:
    """What images, how many of each class, of what side (0: all, as they are); which encoder.

    `encoder` is `offline`, a kit, or a folder with a kit for each data set, named like it.
    """

    name: str = "cifar10"
    folder: str = ""
    samples: int = 0
    test_samples: int = 0
    side: int = 0
    held_out: str = "test"
    encoder: str = "offline"


@dataclass(frozen=True)
class Division:
    """How the collection is made long-tailed and noisy, and divided among clients.

    `kind` is `dirichlet`, or one of Flower Datasets' partitioners: iid, linear, square,
    exponential, flower-dirichlet, shard and pathological, the last two with `classes_each` shards
    or classes a client.
    """

    kind: str = "dirichlet"
    clients: int = 10
    alpha: float = 0.1
    imbalance_ratio: float = 1.0
    noise: float = 0.0
    min_size: int = 1
    classes_each: int = 2


@dataclass(frozen=True)
class Training:
    """What is trained on the coresets, and how; `features` are the probe's axes, 0 for all.

    `runner` is `here`, one process, or `flower`, its simulation engine: to the same numbers.
    `pretrained` is a .safetensors file, or a folder with one of each model's name; networks see
    images of side `image_size` (0: as they are), on `device` (auto: the first GPU, if any).
    """

    model: str = "probe"
    features: int = 128
    pretrained: str = ""
    rounds: int = 200
    local_epochs: int = 1
    batch_size: int = 64
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    fraction: float = 1.0
    evaluate_every: int = 10
    runner: str = "here"
    image_size: int = 0
    device: str = "auto"
    threads: int = 1


@dataclass(frozen=True)
class Pruning:
    """What chooses the coresets, and how much it may keep.

    `native` lets each method follow its own rule at p_f (the budget rule keeps 1 - p_f);
    `matched` has each keep as many samples of each client as the method named by `reference`.
    A method that must train first trains `warm_up_model`, or where that is empty the model that
    is trained on its coreset.
    """

    method: str = "scope"
    p_l: float = 0.1
    p_f: float = 0.5
    beta: float = 0.5
    mode: str = "native"
    reference: str = "scope"
    warm_up_repeats: int = 1
    warm_up_model: str = ""


SECTIONS: dict[str, type] = {
    "data": Data,
    "partition": Division,
    "training": Training,
    "pruning": Pruning,
}

Value = str | int | float | bool


def check_name(known: Mapping[str, Any] | list[str], name: str, where: str) -> None:
    """Refuse a name that is not known, and guess what was meant.

    >>> check_name(["beta", "p_l"], "betta", "[pruning]")
    Traceback (most recent call last):
    scopefl.errors.ScopeError: [pruning] has no setting 'betta'; did you mean 'beta'?
    """
    if name in known:
        return
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    raise ScopeError(f"{where} has no setting {name!r}; {hint}")


def types_of(section: type) -> dict[str, type]:
    """Name the settings of a section and their types."""
    hints = get_type_hints(section)
    return {field.name: hints[field.name] for field in fields(section)}


def typed(value: Any, wanted: type, where: str) -> Value:
    """Give a value of the wanted type; a whole number may stand for a decimal one."""
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        raise ScopeError(f"{where} must be {_ENGLISH[wanted]}, got {value!r}")
    assert isinstance(value, str | int | float)
    return value


_ENGLISH = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
