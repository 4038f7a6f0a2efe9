"""Collections that grow and shrink: watching, publishing, and noticing drift."""
