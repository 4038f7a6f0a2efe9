"""The round by file under a call: signed answers in, a policy and its transcript out."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scopefl.core.envelope import LARGEST
from scopefl.core.merging import Influence
from scopefl.core.merging import influence as leave_one_out
from scopefl.core.policy import Agreement, read_release
from scopefl.core.profile import MAX_COUNT
from scopefl.core.terms import Terms
from scopefl.data.batches import ScoresTable, open_scores
from scopefl.data.files import read_bytes
from scopefl.data.scores_file import ScoresFile, read_scores
from scopefl.errors import ScopeError

if TYPE_CHECKING:
    from scopefl.federation.answering import Transcript


def opened(scores: Path, specimen: str | None) -> ScoresFile | ScoresTable:
    """Open a scores file; to cap specimens takes the ids of all its rows, and so all of it."""
    return open_scores(scores) if specimen is None else read_scores(scores)


def share(file: ScoresFile | ScoresTable, terms: Terms, specimen: str | None = None) -> bytes:
    """Give a site's unsigned message on these terms."""
    if terms.mode == "open":
        return file.profile.to_bytes(file.fingerprint)
    from scopefl.federation.answering import share_file

    return share_file(file, terms, specimens(file, specimen))


def answer(
    file: ScoresFile | ScoresTable,
    call: Path,
    site: Path,
    mode: str,
    roster: Path | None = None,
    specimen: str | None = None,
) -> bytes:
    """Give a site's signed answer to a call."""
    from scopefl.federation import answering
    from scopefl.federation.call import read_call
    from scopefl.federation.offers import read_roster
    from scopefl.federation.site_keys import SiteKeys

    asked = read_call(call)
    masks = None if roster is None else read_roster(read_bytes(roster, LARGEST), asked)
    return answering.answer(
        file,
        asked,
        SiteKeys(site),
        mode,
        roster=masks,
        specimens=specimens(file, specimen),
    )


def conclude(
    paths: Sequence[Path], call: Path, gamma: float = 1.0, rule: str = "sum"
) -> "tuple[Agreement, Transcript]":
    """Merge signed answers to a call."""
    from scopefl.federation import answering
    from scopefl.federation.call import read_call

    messages = [read_bytes(path, LARGEST) for path in paths]
    return answering.conclude(messages, read_call(call), gamma=gamma, rule=rule)


def influence(paths: Sequence[Path], call: Path | None = None) -> list[Influence]:
    """Say what each site's file moves when it is left out."""
    messages = {str(path): read_bytes(path, LARGEST) for path in paths}
    if call is not None:
        from scopefl.federation.call import admit, read_call

        messages = admit(list(messages.values()), read_call(call))
    read = [read_release(message, MAX_COUNT, name) for name, message in messages.items()]
    return leave_one_out(read, list(messages))


def specimens(file: ScoresFile | ScoresTable, pattern: str | None) -> list[str] | None:
    """Name the specimen of each scored image: the first group of the pattern in its id."""
    if pattern is None:
        return None
    assert isinstance(file, ScoresFile), "a specimen is capped over all ids: see `opened`"
    try:
        rule = re.compile(pattern)
    except re.error as error:
        raise ScopeError(f"--specimen must be a regular expression: {error}") from None
    found = [rule.search(str(name)) for name in file.ids]
    if rule.groups < 1 or not all(found):
        raise ScopeError(
            f"--specimen must have a group and match every id; {pattern!r} does not: "
            "an image of no known specimen would go uncapped"
        )
    return [match[1] for match in found if match]
