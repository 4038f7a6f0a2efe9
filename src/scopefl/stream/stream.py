"""A stream of images into a state: each is scored once, decided at once, and revisited exactly."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from scopefl.core.policy import Agreement, agree
from scopefl.core.terms import MIN_CELL, OPEN, Terms
from scopefl.data.coreset_file import FATES, write_coreset
from scopefl.data.rules import DecodingRules
from scopefl.data.source import Item
from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.by_file import Rule, coreset
from scopefl.federation.limits import Limits
from scopefl.stream.arrivals import Arriving
from scopefl.stream.books import publish
from scopefl.stream.deciding import KEPT, QUARANTINED, Cuts, fates_of
from scopefl.stream.events import NS, Arrival, Checkpoint, Clock
from scopefl.stream.exact import revise, scores_file_of
from scopefl.stream.forgetting import Window, slide
from scopefl.stream.ledger import Row, check_sums, enter, labels_of, stored_rows, withheld
from scopefl.stream.noticing import notice, write_drift
from scopefl.stream.policy_file import PolicyFile
from scopefl.stream.rows import in_groups, of_a_class, rows_of
from scopefl.stream.state import Owner, State
from scopefl.stream.store import members, trim
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.embedding import Cache, Outcome, embed_waiting
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import with_rules


@dataclass(frozen=True)
class Plan:
    """How a stream selects, what it holds, and where its files go."""

    rule: Rule = field(default_factory=Rule)
    client: str = ""
    limits: Limits | None = None
    coreset: Path | None = None
    policy: Path | None = None
    """The sites' policy; without it the stream agrees with itself alone."""
    window: Window | None = None
    """Forget what lies behind it, or hold all."""
    store: int | None = None
    """Select from at most so many images, a level sample of all that came, or from all."""
    profile: Path | None = None
    """Where to publish, on `terms`, classes of which at least `least` images came or left."""
    terms: Terms = OPEN
    least: int = MIN_CELL
    drift: Path | None = None
    recent: int = 100
    """So many of the last images, a class on average, are held against those before them."""

    def __post_init__(self) -> None:
        """Refuse a store without the rule whose sample it is."""
        if self.store is None:
            return
        if self.store < 1 or self.rule.keep is None or self.window is not None:
            raise ScopeError(
                "a store must be of at least 1 image, under the budget rule (--keep), and not "
                f"beside a window (--hold); got a store of {self.store} under "
                f"{self.rule.settings['rule']}"
            )


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
        self._opened = self.clock.wall(), self.clock.steady()
        self.state = State(state, Owner(self.kit.fingerprint, self.kit.classes))
        check_sums(self.state)
        policy = self.plan.policy
        followed = self.state.about("policy", 1)
        self._policy = PolicyFile(policy, self.kit.fingerprint, followed) if policy else None
        self._agreement: Agreement | None = None
        self.follow_policy()
        self._untrimmed = 0
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
                if withheld(self.state, one.item.id):
                    continue
                looks[one.item.id] = one.look
                yield of_a_class(one.item, self.kit.classes)

        outcomes = embed_waiting(items(), self._encoder, self.rules, self._cache)
        for group in in_groups(outcomes, self._cache):
            yield self._enter(group, looks)

    def follow_policy(self) -> bool:
        """Say whether the policy's file has changed; from now on what it says decides."""
        changed = self._policy.changed() if self._policy else None
        if changed is not None:
            with self.state.change():
                self.state.set_about("policy", changed.version)
        self._agreement = changed or self._agreement
        return changed is not None

    def let_go(self) -> int:
        """Let go of what the window leaves behind, and say how many images that are."""
        if self.plan.window is None:
            return 0
        with self.state.change():
            return slide(self.state, self.plan.window, self._now())

    def checkpoint(self) -> Checkpoint:
        """Select exactly over all that is stored, revise what was decided, write the files."""
        self._cache.flush()
        rows, profile = stored_rows(self.state), self.state.profile
        agreement = self._agreement or self._alone()
        done = self._selected(self._members(rows), agreement)
        drift = self._noticed(rows, agreement)
        published = self._published()
        self._trim()
        return replace(done, counted=int(profile.count.sum()), drift=drift, published=published)

    def _selected(self, rows: list[Row], agreement: Agreement) -> Checkpoint:
        file, _ = scores_file_of(rows, self.kit, self.rules)
        plan, seen = self.plan, self.state.profile.count if self.plan.store else None
        found = Checkpoint(len(rows), 0, agreement.version)
        try:
            chosen = coreset(file, agreement, plan.rule, plan.client, plan.limits, seen)
        except RefusedError as refused:
            return replace(found, refused=str(refused))
        self._cuts = Cuts.of(chosen, agreement.policy, plan.rule, seen)
        changed = revise(self.state, rows, fates_of(chosen))
        if plan.coreset is not None:
            write_coreset(chosen, plan.coreset)
        return replace(found, fates=chosen.fates, revised=len(changed), revisions=changed)

    def _members(self, rows: list[Row]) -> list[Row]:
        """Leave out what is stored only because it is recent."""
        if self.plan.store is None:
            return rows
        scored = [row for row in rows if row.key is not None]
        seen, ids = self.state.profile.count, [row.id for row in scored]
        member = iter(members(ids, labels_of(scored), seen, self.plan.store).tolist())
        return [row for row in rows if row.key is None or next(member)]

    def _noticed(self, rows: list[Row], agreement: Agreement) -> tuple[str, ...]:
        against = None if self._agreement is None else agreement.profile
        after, classes = self.state.about("number", 0) - self._recent, self.kit.classes
        found, alarms = notice(rows, after, agreement.policy, against, classes)
        if self.plan.drift is not None:
            write_drift(self.plan.drift, found, alarms, classes)
        return tuple(alarm.sentence for alarm in alarms)

    def _published(self) -> tuple[str, ...]:
        if self.plan.profile is None:
            return ()
        renewed = publish(self.state, self.plan.profile, self.plan.terms, self.plan.least)
        return tuple(self.kit.classes[c] for c in renewed)

    def _trim(self) -> None:
        self._untrimmed = 0
        if self.plan.store is not None:
            with self.state.change():
                trim(self.state, self.plan.store, self._recent)

    def _now(self) -> int:
        """Give the wall's time at opening and the steady clock's since: a jump would forget all."""
        wall, steady = self._opened
        return wall + int((self.clock.steady() - steady) * NS)

    @property
    def _recent(self) -> int:
        return self.plan.recent * len(self.kit.classes)

    def _alone(self) -> Agreement:
        return agree([self.state.profile.to_bytes(self.kit.fingerprint)])

    def _enter(self, group: list[Outcome], looks: dict[str, bytes]) -> list[Arrival]:
        rows = self._decided(rows_of(group, self._cache, self.kit))
        seen = self._now()
        rows = [row._replace(look=looks.pop(row.id, b""), seen=seen) for row in rows]
        with self.state.change():
            fresh = enter(self.state, rows)
            if self.plan.window is not None:
                slide(self.state, self.plan.window, seen)
        self._untrimmed += len(fresh)
        if self._untrimmed > max(self.plan.store or 0, self._recent):
            self._trim()
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
