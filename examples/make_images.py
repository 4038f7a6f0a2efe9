"""Write embeddings and scores of four clients, for both Flower examples: make_images.py FOLDER."""

import sys
from pathlib import Path

import numpy as np

from scopefl import score
from scopefl.core.fingerprint import fingerprint
from scopefl.data.scores_file import ScoresFile, write_scores

CLASSES = tuple("abcdef")


def main(folder: Path) -> None:
    """Draw unit vectors around each class's prototype; one label in ten of the clients is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    prototypes = np.linalg.qr(rng.standard_normal((32, 32)))[0][: len(CLASSES)]
    for name in ("0", "1", "2", "3", "test"):
        truth = rng.choice(len(CLASSES), 600, p=rng.dirichlet(np.full(len(CLASSES), 0.5)))
        if name == "test":
            truth = np.arange(len(CLASSES)).repeat(100)
        images = prototypes[truth] + 0.3 * rng.standard_normal((len(truth), 32))
        images /= np.linalg.norm(images, axis=1, keepdims=True)
        wrong = rng.random(len(truth)) < (0 if name == "test" else 0.1)
        labels = np.where(wrong, (truth + 1) % len(CLASSES), truth)
        np.savez(folder / f"{name}.npz", images=images, labels=labels)
        scores = score(images, prototypes, labels)
        file = ScoresFile.of(scores, labels, CLASSES, fingerprint(CLASSES, {}))
        write_scores(file, folder / f"{name}.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
