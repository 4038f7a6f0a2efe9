"""Made-up collections of labelled unit vectors, and hypothesis strategies of scores."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scopefl import Scores


def unit(rows):
    rows = np.asarray(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cloud(n=300, n_classes=7, dimension=24, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    prototypes = unit(rng.standard_normal((n_classes, dimension)))
    labels = rng.integers(0, n_classes, n)
    images = unit(prototypes[labels] + spread * rng.standard_normal((n, dimension)))
    return images, prototypes, labels


# Few distinct values make the ties that clipping makes; the odd ones make the rest.
LEVELS = st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.25, 0.3, 0.5, 1.0]) | st.floats(
    -1, 1, width=32
).map(lambda x: round(x, 3))


@st.composite
def scored(draw, max_samples=40, max_classes=6):
    n_classes = draw(st.integers(2, max_classes))
    n = draw(st.integers(0, max_samples))
    rs, s_neg = (draw(hnp.arrays(np.float32, n, elements=LEVELS.map(_f32))) for _ in "ab")
    ds = np.sqrt(np.maximum(0, 1 - np.float64(rs) ** 2)).astype(np.float32)
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    step = draw(hnp.arrays(np.int64, n, elements=st.integers(1, n_classes - 1)))
    rival = ((labels + step) % n_classes).astype(np.int32)
    return Scores(rs, ds, s_neg, rival), labels, n_classes


def _f32(x):
    return float(np.float32(x))
