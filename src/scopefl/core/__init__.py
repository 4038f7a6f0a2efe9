"""The paper in numpy: scores, profile, policy, coreset, budget, wire."""
