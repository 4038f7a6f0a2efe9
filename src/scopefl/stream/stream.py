"""A stream of images into a state: each is scored once, decided at once, and revisited exactly."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scopefl.core.policy import Agreement, agree
from scopefl.data.coreset_file import FATES, write_coreset
from scopefl.data.rules import DecodingRules
from scopefl.data.source import Item
from scopefl.errors import RefusedError
from scopefl.federation.by_file import Rule, coreset
from scopefl.federation.limits import Limits
from scopefl.stream.arrivals import Arriving
from scopefl.stream.deciding import KEPT, QUARANTINED, Cuts, fates_of
from scopefl.stream.events import Arrival, Checkpoint, Clock
from scopefl.stream.exact import revise, scores_file_of
from scopefl.stream.forgetting import Window, slide
from scopefl.stream.ledger import Row, all_rows, check_sums, enter
from scopefl.stream.policy_file import PolicyFile
from scopefl.stream.rows import in_groups, of_a_class, rows_of
from scopefl.stream.state import Owner, State
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.embedding import Cache, Outcome, embed_waiting
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import with_rules


@dataclass(frozen=True)
class Plan:
    """How a stream selects, and where its coreset goes."""

    rule: Rule = field(default_factory=Rule)
    client: str = ""
    limits: Limits | None = None
    coreset: Path | None = None
    policy: Path | None = None
    """The sites' policy; without it the stream agrees with itself alone."""
    window: Window | None = None


class Stream:
    """An open stream. `take` what comes, `checkpoint` for the exact selection over all of it."""

    def __init__(
        self,
        state: Path,
        kit: Kit,
        plan: Plan | None = None,
        *,
        rules: DecodingRules | None = None,
        cache: Path | None = None,
        runtime: str = "auto",
        clock: Clock | None = None,
    ) -> None:
        """Open or begin the state; it stays with this kit and these rules for good."""
        self.rules, self.plan = rules or DecodingRules(), plan or Plan()
        self.kit, self.clock = with_rules(kit, self.rules, runtime), clock or Clock()
        self.state = State(state, Owner(self.kit.fingerprint, self.kit.classes))
        check_sums(self.state)
        policy = self.plan.policy
        self._policy = PolicyFile(policy, self.kit.fingerprint) if policy else None
        self._agreement: Agreement | None = None
        self.follow_policy()
        self._cache = Cache.of(cache or cache_folder(), self.kit, self.rules, runtime)
        self._encoder = self.kit.encoder(runtime)
        self._cuts: Cuts | None = None

    def close(self) -> None:
        """Put what is in memory on disk and let go of the state."""
        self._cache.flush()
        self.state.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def changes(self) -> int:
        """Count the changes of what is held: where it stands, a checkpoint finds nothing new."""
        return int(self.state.about("changes", 0))

    def take(self, arriving: Iterable[Arriving | Item]) -> Iterator[Arrival]:
        """Score what arrives and tell each image's fate; what was told of is in the state."""
        for group in self.groups(arriving):
            yield from group

    def groups(self, arriving: Iterable[Arriving | Item]) -> Iterator[list[Arrival]]:
        """Do what `take` does; a list for every change of the state."""
        looks: dict[str, bytes] = {}

        def items() -> Iterator[Item]:
            for one in arriving:
                one = one if isinstance(one, Arriving) else Arriving(one)
                looks[one.item.id] = one.look
                yield of_a_class(one.item, self.kit.classes)

        outcomes = embed_waiting(items(), self._encoder, self.rules, self._cache)
        for group in in_groups(outcomes, self._cache):
            yield self._enter(group, looks)

    def follow_policy(self) -> bool:
        """Say whether the policy's file has changed; from now on what it says decides."""
        changed = self._policy.changed() if self._policy else None
        self._agreement = changed or self._agreement
        return changed is not None

    def let_go(self) -> int:
        """Let go of what the window leaves behind, and say how many images that are."""
        if self.plan.window is None:
            return 0
        with self.state.change():
            return slide(self.state, self.plan.window, self.clock.wall())

    def checkpoint(self) -> Checkpoint:
        """Select exactly over all that is held, revise what was decided, write the coreset."""
        self._cache.flush()
        rows = list(all_rows(self.state))
        file, _ = scores_file_of(rows, self.kit, self.rules)
        agreement, plan = self._agreement or self._alone(), self.plan
        try:
            chosen = coreset(file, agreement, plan.rule, plan.client, plan.limits)
        except RefusedError as refused:
            return Checkpoint(len(rows), refused=str(refused))
        self._cuts = Cuts.of(chosen, agreement.policy, plan.rule)
        revised = revise(self.state, rows, fates_of(chosen))
        if plan.coreset is not None:
            write_coreset(chosen, plan.coreset)
        return Checkpoint(len(rows), chosen.fates, revised)

    def _alone(self) -> Agreement:
        return agree([self.state.profile.to_bytes(self.kit.fingerprint)])

    def _enter(self, group: list[Outcome], looks: dict[str, bytes]) -> list[Arrival]:
        rows = self._decided(rows_of(group, self._cache, self.kit))
        seen = self.clock.wall()
        rows = [row._replace(look=looks.pop(row.id, b""), seen=seen) for row in rows]
        with self.state.change():
            fresh = enter(self.state, rows)
            if self.plan.window is not None:
                slide(self.state, self.plan.window, seen)
        return [self._told(row) for row in fresh]

    def _told(self, row: Row) -> Arrival:
        label = None if row.label is None else self.kit.classes[row.label]
        return Arrival(row.id, label, FATES[row.fate or KEPT], row.reason)

    def _decided(self, rows: list[Row]) -> list[Row]:
        """Give the rows with the fates they have until the next checkpoint."""
        scored = [row for row in rows if row.key is not None]
        fates = iter(self._cuts.fates(scored) if self._cuts else [KEPT] * len(scored))
        return [
            row._replace(fate=QUARANTINED if row.key is None else int(next(fates))) for row in rows
        ]
