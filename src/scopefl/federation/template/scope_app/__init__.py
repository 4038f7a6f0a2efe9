"""A Flower app that trains on coresets."""
