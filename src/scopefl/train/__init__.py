"""Models and their federated training: what a coreset is worth."""
