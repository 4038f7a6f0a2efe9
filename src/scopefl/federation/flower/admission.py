"""Which answers are merged: each of the others is named, with its cause."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flwr.app import Message

from scopefl.core.release import Release
from scopefl.errors import FingerprintError, RefusedError, ScopeError
from scopefl.federation import call as calls
from scopefl.federation.call import Call
from scopefl.federation.flower.records import Answer, read_answer

FLOWERS_WORDS = "Exception ClientAppException occurred. Message: "
Expected = int | Sequence[str]
Judge = Callable[["Sequence[Heard]", Expected], Mapping[str, str]]


@dataclass(frozen=True)
class Question:
    """One message to one node; `name` is what the coordinator registered the node as, or empty."""

    message: Message
    name: str
    token: str

    @property
    def label(self) -> str:
        """Name the node as well as the server can before it has answered."""
        return self.name or f"node {self.message.metadata.dst_node_id}"


@dataclass(frozen=True)
class Heard:
    """A site's profile that can be true, as it came and decoded."""

    node: int
    site: str
    data: bytes
    release: Release
    signed: bytes = b""

    @property
    def kit(self) -> str:
        """Name what must be equal at all sites: the fingerprint and the number of classes."""
        return f"{self.release.fingerprint.hex() or 'none'} with {self.release.n_classes} classes"


@dataclass
class Outcome:
    """Of one exchange: the sites to merge, why each other one is absent, and the nodes refused.

    A node is refused for what it answered; one that was only silent may take part later.
    """

    heard: list[Heard] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)


def admit(
    questions: Sequence[Question],
    replies: Iterable[Message],
    expect: Expected,
    *,
    silent: str,
    max_count: int,
    call: Call | None = None,
) -> Outcome:
    """Part the sites to merge, in the order of their names, from the absent with their causes."""
    by_question = grouped(replies)
    outcome = Outcome()
    for asked in questions:
        got = by_question.get(asked.message.metadata.message_id, [])
        try:
            outcome.heard.append(_hear(asked, got, silent, max_count, call))
        except ScopeError as error:
            outcome.absent[asked.label] = str(error)
            if any(reply.has_content() for reply in got):
                outcome.refused.add(asked.message.metadata.dst_node_id)
    outcome.heard.sort(key=lambda one: one.site)
    for judge in JUDGES:
        refused = judge(outcome.heard, expect)
        outcome.absent.update(refused)
        outcome.refused.update(one.node for one in outcome.heard if one.site in refused)
        outcome.heard = [one for one in outcome.heard if one.site not in refused]
    return outcome


def _hear(
    asked: Question, replies: Sequence[Message], silent: str, max_count: int, call: Call | None
) -> Heard:
    answer = answered(asked, replies, silent)
    try:
        data = answer.profile
        if call is not None:
            signed_by(answer, "profile", call)
            data = calls.admit([answer.profile], call)[answer.site]
        release = Release.from_bytes(data, max_count)
    except ScopeError as error:
        raise _of_site(answer, asked, error) from error
    node = asked.message.metadata.dst_node_id
    return Heard(node, answer.site, data, release, answer.profile)


def signed_by(answer: Answer, purpose: str, call: Call) -> None:
    """Refuse what no site of the call signed, or another than it says it is."""
    site = calls.verify(answer.profile, purpose, call).site
    if site != answer.site:
        raise RefusedError(f"the call knows this key as {site!r}")


def answered(asked: Question, replies: Sequence[Message], silent: str) -> Answer:
    """Give the one answer to a question, or say why there is none."""
    if not replies:
        raise ScopeError(silent)
    if len(replies) > 1:
        raise ScopeError(f"answered {len(replies)} times")
    if replies[0].has_error():
        raise ScopeError(f"failed: {cause(replies[0])}")
    answer = read_answer(replies[0].content)
    if asked.name and answer.site != asked.name:
        raise ScopeError(f"calls itself {answer.site!r}, which is not its registered name")
    if answer.token != asked.token:
        raise _of_site(answer, asked, "a replayed answer, to a question of another run")
    if answer.refusal:
        raise _of_site(answer, asked, answer.refusal)
    return answer


def _of_site(answer: Answer, asked: Question, why: object) -> ScopeError:
    return ScopeError(str(why) if asked.name else f"site {answer.site}: {why}")


def grouped(replies: Iterable[Message]) -> dict[str, list[Message]]:
    """Give the replies to each question, by the question's message id."""
    by_question: dict[str, list[Message]] = {}
    for reply in replies:
        by_question.setdefault(reply.metadata.reply_to_message_id, []).append(reply)
    return by_question


def cause(reply: Message) -> str:
    """Give the last line that says something of an error reply: the exception, not its trace."""
    text = (reply.error.reason or "").removesuffix("'>")
    lines = (line.strip() for line in reversed(text.splitlines()))
    last = next((line for line in lines if line), "no reason given")
    return last.removeprefix(FLOWERS_WORDS)[:300]


def _strangers(heard: Sequence[Heard], expect: Expected) -> dict[str, str]:
    if isinstance(expect, int):
        return {}
    return {one.site: "is not among the expected" for one in heard if one.site not in expect}


def _twice(heard: Sequence[Heard], expect: Expected) -> dict[str, str]:  # noqa: ARG001
    names = Counter(one.site for one in heard)
    profiles = Counter(one.data for one in heard if one.release.rows.any())
    copied = {one.site: "its very profile came from two" for one in heard if profiles[one.data] > 1}
    return copied | {site: "two call themselves so" for site, times in names.items() if times > 1}


def _of_another_kit(heard: Sequence[Heard], expect: Expected) -> dict[str, str]:  # noqa: ARG001
    """Refuse the sites whose kit is not that of most; where no kit has most, raise."""
    kits = Counter(one.kit for one in heard)
    if len(kits) < 2:
        return {}
    usual, sites = kits.most_common(1)[0]
    if 2 * sites <= len(heard):
        raise FingerprintError(
            "the sites must score with one kit, and no kit has most of them: "
            f"{', '.join(f'{one.site} {one.kit}' for one in heard)}; "
            "score again with the coordinator's kit"
        )
    return {
        one.site: f"scored with another kit ({one.kit}; the others {usual})"
        for one in heard
        if one.kit != usual
    }


JUDGES: tuple[Judge, ...] = (_strangers, _twice, _of_another_kit)
