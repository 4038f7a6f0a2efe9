"""A site that was given a call: what it signs over Flower, and its receipt for what it was told."""

from pathlib import Path

from flwr.app import Context

from scopefl.core.envelope import LARGEST
from scopefl.core.terms import Terms
from scopefl.data.files import read_bytes, write_bytes
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import RefusedError
from scopefl.federation import answering
from scopefl.federation.by_call import specimens
from scopefl.federation.call import Call, read_call
from scopefl.federation.flower.records import Asked, Order
from scopefl.federation.offers import read_roster
from scopefl.federation.site_keys import SiteKeys


def is_called(context: Context) -> bool:
    """Say whether this node's configuration names a call."""
    return "call" in context.node_config


def specimen(context: Context) -> str | None:
    """Give the pattern that finds the specimen in an image's id, if the node has one."""
    found = context.node_config.get("specimen")
    return None if found is None else str(found)


def reply(asked: Asked, file: ScoresFile, terms: Terms, context: Context) -> bytes:
    """Give a signed key offer or a signed profile, as a round by file would."""
    call, site = _opened(context)
    if asked.call != call.digest:
        raise RefusedError("the server asks under another call than this site was given")
    if call.terms.masked and not asked.roster:
        return site.offer(call, asked.attempt)
    roster = read_roster(asked.roster, call) if asked.roster else None
    named = specimens(file, specimen(context))
    return answering.answer(file, call, site, terms.mode, roster=roster, specimens=named)


def keep_receipt(order: Order, context: Context) -> None:
    """Check a policy against what this site sent; keep the signed receipt to compare by."""
    call, site = _opened(context)
    told = answering.Transcript.from_bytes(order.transcript)
    made = answering.receipt(order.policy, told, call, site)
    path = site.folder / f"{call.digest.hex()[:16]}.receipt"
    if not path.exists():
        write_bytes(path, made)
    elif read_bytes(path, LARGEST) != made:
        raise RefusedError("the server tells another policy than before; ask the coordinator why")


def _opened(context: Context) -> tuple[Call, SiteKeys]:
    config = context.node_config
    if "keys" not in config:
        raise RefusedError(
            "a call is answered with the site's keys: name the folder of scope keys new in this "
            "node's configuration as keys"
        )
    return read_call(Path(str(config["call"]))), SiteKeys(Path(str(config["keys"])))
