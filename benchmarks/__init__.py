"""What scopefl costs, measured on this machine: every figure a ratio of two sides in one run."""
