"""One site on many machines: Ray Data's actors hold the encoder and fill one shared cache."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path

import pyarrow as pa

from scopefl.data.rules import DecodingRules
from scopefl.data.source import Item, Source
from scopefl.errors import ScopeError
from scopefl.vision.embedding import Cache, Outcome, embed
from scopefl.vision.kit import Kit
from scopefl.vision.ray_cluster import Fleet, room_for, started
from scopefl.vision.runtimes import chosen
from scopefl.vision.scoring import Embedded, check_labels_known, labelled

MOST = 1024
"""Images a task embeds: long beside what a task costs, short beside a run."""
TASKS_EACH = 8
OUTCOMES = pa.schema(
    [
        ("part", pa.int64()),
        ("id", pa.string()),
        ("path", pa.string()),
        ("label", pa.string()),
        ("key", pa.binary()),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class Task:
    """What every actor must know; `mark` is a file that only a shared cache folder shows it."""

    source: Source
    kit: Kit
    rules: DecodingRules
    folder: Path
    runtime: str
    threads: int
    size: int
    mark: Path

    @property
    def parts(self) -> int:
        """Count the stretches the collection is cut into."""
        return max(1, ceil(len(self.source) / self.size))


class Embedder:
    """An actor: it embeds one stretch of the collection after another into the cache."""

    def __init__(self, fetch: Callable[[], Task]) -> None:
        self._fetch, self._at = fetch, 0
        self._task: Task | None = None

    def __call__(self, asked: pa.Table) -> pa.Table:
        """Embed the stretches with these numbers; give what became of each item."""
        found = [
            (part, one.id, one.path, one.label, one.key, one.reason)
            for part in asked["item"].to_pylist()
            for one in self._outcomes(part)
        ]
        rows = [dict(zip(OUTCOMES.names, row, strict=True)) for row in found]
        return pa.Table.from_pylist(rows, OUTCOMES)

    def _outcomes(self, part: int) -> Iterator[Outcome]:
        task = self._task or self._start()
        items = map(labelled, self._stretch(task, part * task.size))
        return embed(items, self._encoder, task.rules, self._cache, threads=task.threads)

    def _start(self) -> Task:
        """Set up in the first task, whose errors reach the user as they are."""
        task = self._fetch()
        if not task.mark.exists():
            raise ScopeError(
                f"{task.folder} must be one folder for all machines, and {os.uname().nodename} "
                "does not see what was just written there; put --cache on shared storage"
            )
        self._encoder = task.kit.encoder(task.runtime, task.threads)
        self._cache = Cache.of(task.folder, task.kit, task.rules, task.runtime)
        self._items = iter(task.source)
        self._task = task
        return task

    def _stretch(self, task: Task, start: int) -> Iterator[Item]:
        """Give the items from a place on: tasks come in order, but for those given again."""
        if start < self._at:
            self._items, self._at = iter(task.source), 0
        ahead, self._at = start - self._at, start + task.size
        return islice(self._items, ahead, ahead + task.size)


def embed_by_ray(
    source: Source,
    kit: Kit,
    rules: DecodingRules,
    folder: Path,
    *,
    runtime: str = "auto",
    fleet: Fleet | None = None,
    passed: Callable[[Outcome], None] = lambda _: None,
) -> Embedded:
    """Do what `embed_source` does, by many processes; a lost one's work is given to another."""
    check_labels_known(source, kit.classes)
    name, fleet, folder = chosen(runtime), fleet or Fleet(), folder.absolute()
    with started() as there, marked(folder) as mark:
        workers = room_for(fleet, there)
        size = min(MOST, max(1, ceil(len(source) / (TASKS_EACH * workers))))
        task = Task(source, kit, rules, folder, name, fleet.cpus, size, mark)
        found: dict[int, list[Outcome]] = {}
        for part, outcome in outcomes(task, workers, fleet):
            found.setdefault(part, []).append(outcome)
            passed(outcome)
    in_order = tuple(outcome for part in sorted(found) for outcome in found[part])
    return Embedded(in_order, Cache.of(folder, kit, rules, name), kit)


def outcomes(task: Task, workers: int, fleet: Fleet) -> Iterator[tuple[int, Outcome]]:
    """Run the task on Ray; give every item's outcome with its part, in any order of parts."""
    import ray

    # Blocks that lie ready need no reading tasks, which would wait for the cores of the actors.
    parts = ray.data.from_items(list(range(task.parts)), override_num_blocks=task.parts)
    done = parts.map_batches(
        Embedder,
        fn_constructor_args=(partial(ray.get, ray.put(task)),),
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=fleet.cpus,
        num_gpus=fleet.gpus,
    )
    try:
        for table in done.iter_batches(batch_size=None, batch_format="pyarrow"):
            for row in table.to_pylist():
                yield row.pop("part"), Outcome(**row)
    except ray.exceptions.RayError as error:
        raise _told(error) from error


@contextmanager
def marked(folder: Path) -> Iterator[Path]:
    """Lend a file in a folder by which another machine can tell that it sees the same one."""
    mark = folder / f".seen-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError as error:
        raise ScopeError(f"{folder} must be writable: {error.strerror}") from error
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _told(error: BaseException) -> ScopeError:
    """Find our own sentence among the causes of Ray's error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ScopeError):
        cause = getattr(cause, "cause", None) or cause.__cause__
    return cause or ScopeError(f"Ray could not finish: {str(error).splitlines()[-1]}")
