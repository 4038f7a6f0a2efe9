"""For tests of a lab's own: the conformance suite for sources, and the zoo of hostile files."""
