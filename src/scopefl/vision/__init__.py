"""Encoder kits, prompts, encoders, embedding with its cache."""
