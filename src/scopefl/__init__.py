"""SCOPE: federated coresets from a few integers per class."""

__version__ = "0.1.0"

__all__ = ["__version__"]
