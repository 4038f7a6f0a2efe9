"""What our Flower messages hold: a question, an answer or a refusal, and the order to select."""

from dataclasses import dataclass

from flwr.app import ConfigRecord, RecordDict

from scopefl.core.order import Decimal
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule

RECORD = "scope"
"""The key of our one record in a message, and the name of our query."""
QUERY = f"query.{RECORD}"
LONGEST_NAME = 200


@dataclass(frozen=True)
class Answer:
    """A site's reply to the question that carried `token`: its profile, or why it sends none."""

    site: str
    token: str
    profile: bytes = b""
    refusal: str = ""

    def to_records(self) -> RecordDict:
        """Pack into one record, so that it travels as one object."""
        return RecordDict({RECORD: ConfigRecord(dict(vars(self)))})


@dataclass(frozen=True)
class Asked:
    """A question: plain, or one step of a masked round of `call`.

    Without a roster it asks for a new masking key, with one for a profile under its masks.
    """

    token: str
    call: bytes = b""
    attempt: int = 0
    roster: bytes = b""

    def to_records(self) -> RecordDict:
        """Pack into one record."""
        return RecordDict({RECORD: ConfigRecord(dict(vars(self)))})


def read_question(content: RecordDict) -> Asked:
    """Unpack a question."""
    record = _record(content)
    token, call, attempt = _text(record, "token"), record.get("call"), record.get("attempt")
    roster = record.get("roster")
    if not (isinstance(call, bytes) and isinstance(attempt, int) and isinstance(roster, bytes)):
        raise ScopeError("a malformed question: install the same scopefl at every site")
    return Asked(token, call, attempt, roster)


def read_answer(content: RecordDict) -> Answer:
    """Unpack a site's reply, or say what is wrong with its form."""
    record = _record(content)
    profile = record.get("profile")
    if set(record) != set(Answer.__dataclass_fields__) or not isinstance(profile, bytes):
        raise ScopeError("a malformed answer: install the same scopefl at every site")
    return Answer(_text(record, "site"), _text(record, "token"), profile, _text(record, "refusal"))


@dataclass(frozen=True)
class Order:
    """What goes with every train message: the sites' agreement in bytes, and the rule to apply.

    Under a call there is a transcript, too.
    """

    policy: bytes
    rule: Rule
    transcript: bytes = b""

    def to_record(self) -> ConfigRecord:
        """Pack into a record; decimals go as the text the user wrote."""
        rule = self.rule
        return ConfigRecord(
            {
                "policy": self.policy,
                "transcript": self.transcript,
                "p_l": str(rule.p_l),
                "p_f": str(rule.p_f),
                "beta": float(rule.beta),
                "keep": "" if rule.keep is None else str(rule.keep),
                "run": rule.run,
            }
        )


def read_order(record: ConfigRecord) -> Order:
    """Unpack an order."""
    policy, beta, transcript = (record.get(key) for key in ("policy", "beta", "transcript"))
    if not (
        isinstance(policy, bytes) and isinstance(beta, float) and isinstance(transcript, bytes)
    ):
        raise ScopeError(
            "the server's order to select is malformed; install the same scopefl at every site"
        )
    keep: Decimal | None = _text(record, "keep") or None
    rule = Rule(_text(record, "p_l"), _text(record, "p_f"), beta, keep, _text(record, "run"))
    return Order(policy, rule, transcript)


def _record(content: RecordDict) -> ConfigRecord:
    record = content.get(RECORD)
    if len(content) != 1 or not isinstance(record, ConfigRecord):
        raise ScopeError("a message without our record: install the same scopefl at every site")
    return record


def _text(record: ConfigRecord, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        raise ScopeError(f"a malformed {key}: install the same scopefl at every site")
    return value
