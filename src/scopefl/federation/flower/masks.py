"""A site's reply to a question on its own terms: a profile, a masking key, or a masked profile."""

import hashlib
from pathlib import Path

from flwr.app import ConfigRecord, Context

from scopefl.core.terms import Terms
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import RefusedError
from scopefl.federation.by_call import share, specimens
from scopefl.federation.flower import under_call
from scopefl.federation.flower.records import Asked
from scopefl.federation.flower.under_call import is_called

STATE = "scope-masks"


def reply(asked: Asked, file: ScoresFile, terms: Terms, context: Context) -> bytes:
    """Give what leaves the site; the server's question never weakens the site's terms."""
    if is_called(context):
        return under_call.reply(asked, file, terms, context)
    if terms.masked != bool(asked.call):
        wanted = "a masked profile" if asked.call else "a profile without masks"
        raise RefusedError(f"this site shares on {terms} and the server asks for {wanted}")
    if asked.call and not asked.roster:
        return _new_key(asked, context)
    message = (
        _masked(asked, file, terms, context)
        if asked.call
        else share(file, terms, under_call.specimen(context))
    )
    if terms.noisy:
        _enter(asked, terms, message, context)
    return message


def _enter(asked: Asked, terms: Terms, message: bytes, context: Context) -> None:
    """Spend the epsilon: a server that may ask again and again averages any noise away."""
    from scopefl.federation.site_keys import SiteKeys

    folder = context.node_config.get("keys")
    if folder is None:
        raise RefusedError(
            "noise is only worth what its ledger forbids: make a folder with scope keys new "
            "--epsilon, and name it in this node's configuration as keys"
        )
    call = asked.call or hashlib.sha256(asked.token.encode()).digest()
    SiteKeys(Path(str(folder))).spend(call, terms, message, asked.attempt or 1)


def _new_key(asked: Asked, context: Context) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from scopefl.federation.secure_sum import MAX_ATTEMPTS, public_of

    kept = context.state.get(STATE)
    last = 0
    if isinstance(kept, ConfigRecord) and kept["call"] == asked.call:
        last = int(str(kept["attempt"]))
    if not last < asked.attempt <= MAX_ATTEMPTS:
        raise RefusedError(f"attempt {asked.attempt} is not one that may follow attempt {last}")
    key = X25519PrivateKey.generate()
    own: dict[str, bytes | int] = {"call": asked.call, "attempt": asked.attempt}
    context.state[STATE] = ConfigRecord({**own, "key": key.private_bytes_raw()})
    return public_of(key)


def _masked(asked: Asked, file: ScoresFile, terms: Terms, context: Context) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from scopefl.federation.answering import share_file
    from scopefl.federation.secure_sum import Roster

    roster, kept = Roster.from_bytes(asked.roster), context.state.get(STATE)
    key = kept.get("key") if isinstance(kept, ConfigRecord) else None
    if not isinstance(kept, ConfigRecord) or not isinstance(key, bytes) or not key:
        raise RefusedError("this site has no unused masking key; a key masks one profile only")
    if (roster.call, roster.attempt) != (kept["call"], kept["attempt"]):
        raise RefusedError("the roster is of another attempt than this site's masking key")
    context.state[STATE] = ConfigRecord({**kept, "key": b""})
    named = specimens(file, under_call.specimen(context))
    own = X25519PrivateKey.from_private_bytes(key)
    return share_file(file, terms, named, key=own, roster=roster)
