import numpy as np
import pytest

from scopefl.core.scores import Scores
from scopefl.methods import Client, Trained


@pytest.fixture
def trained_client():
    """A client with given features, logits and labels; the other fields are of no account."""

    def make(labels, features, logits=None, forgotten=None, *, n_classes=2):
        labels = np.asarray(labels, np.int64)
        features = np.asarray(features, np.float32).reshape(len(labels), -1)
        logits = np.zeros((len(labels), n_classes)) if logits is None else logits
        forgotten = np.zeros(len(labels), np.int64) if forgotten is None else forgotten
        trained = Trained(features, np.asarray(logits, np.float32), np.asarray(forgotten))
        blank = Scores(*[np.zeros(len(labels))] * 3)
        return Client.of(
            "a", np.arange(len(labels)), labels, n_classes, blank, features, warm=[trained]
        )

    return make
