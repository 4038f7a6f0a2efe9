"""For tests of a lab's own: `check_source` for sources, and the zoo of hostile files."""

from scopefl.testing.conformance import check_source

__all__ = ["check_source"]
