"""Measurements of speed and memory, both sides of every comparison in one run."""
