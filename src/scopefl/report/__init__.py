"""The HTML report of one or more coresets, and what else a coreset is turned into."""
