"""Profile rounds and empty query rounds in turn, timed."""
