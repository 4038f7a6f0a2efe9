"""Why one input gets no score: the two reasons for quarantine."""

import re

from scopefl.errors import ScopeError


class Unreadable(ScopeError):
    """One input cannot be scored; the text is the reason written into its row."""

    exit_code = 3

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Ambiguous(Unreadable):
    """One input can be read in several ways; the reason names the flag that decides."""


def plain(error: BaseException) -> str:
    r"""Return a library's message as one short line that is the same on every run.

    >>> plain(OSError("cannot read <_io.BytesIO object at 0x7f01>\n  at all"))
    'cannot read the file at all'
    """
    text = re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "the file", str(error))
    text = " ".join(re.sub(r"0x[0-9a-f]{6,}", "", text).split())
    return (text or type(error).__name__)[:160]
