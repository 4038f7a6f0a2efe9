"""Hypothesis without deadlines: the machine that runs the tests is shared."""

from hypothesis import settings

settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")
