"""What can go wrong, as a tree.

ScopeError            a sentence for the user: what must hold, what was given, what to do
├── FingerprintError  things scored with different kits met
├── RefusedError      a guard of the site or the coordinator said no
└── RunError          a federated run failed; the sentence is its cause
"""


class ScopeError(Exception):
    """A mistake the user can mend; its text is one sentence that says how."""

    exit_code = 2


class FingerprintError(ScopeError):
    """Scores or profiles of different kits, or of different class lists, were to be mixed."""

    exit_code = 4


class RefusedError(ScopeError):
    """A guard refused: too few sites, a limit of this site, a missing consent."""

    exit_code = 5


class RunError(ScopeError):
    """A federated run did not come to its end."""

    exit_code = 6
