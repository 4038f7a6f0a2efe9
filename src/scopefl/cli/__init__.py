"""Thin commands: parse, call one function, print. One file a group."""
