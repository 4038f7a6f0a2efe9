"""From a stream's state to the scores file that the batch writes over the same images."""

from collections.abc import Sequence

import numpy as np

from scopefl.core.scores import Labels, Scores
from scopefl.data.coreset_file import FATES
from scopefl.data.rules import DecodingRules
from scopefl.data.scores_file import ScoresFile
from scopefl.stream.deciding import KEPT, Fates
from scopefl.stream.events import Revision
from scopefl.stream.ledger import Row, labels_of, scores_of
from scopefl.stream.state import State
from scopefl.vision.embedding import Outcome
from scopefl.vision.fitness import Fitness, fitness, wrong_labels
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import scores_file


def scores_file_of(
    rows: Sequence[Row], kit: Kit, rules: DecodingRules
) -> tuple[ScoresFile, Fitness]:
    """Give the scores file of these rows, and how well the encoder reads their classes."""
    scored = [row for row in rows if row.key is not None]
    labels = labels_of(scored)
    scores, fit = scores_of(scored), fitness_of(scored, labels, kit)
    outcomes = [
        Outcome(
            row.id,
            row.path or row.id,
            None if row.label is None else kit.classes[row.label],
            row.key,
            row.reason,
        )
        for row in rows
    ]
    return scores_file(outcomes, scores, labels, fit, kit, rules), fit


def fitness_of(scored: Sequence[Row], labels: Labels, kit: Kit) -> Fitness:
    """Judge the encoder by the margins that were remembered, true and under a wrong label."""
    margins = np.array([row.chance for row in scored], np.float32)
    nothing = np.zeros_like(margins)
    wrong = wrong_labels([row.key or b"" for row in scored], labels, len(kit.classes))
    by_chance = Scores(margins, nothing, nothing)
    return fitness(scores_of(scored), labels, by_chance, wrong, kit.classes)


def revise(state: State, rows: Sequence[Row], fates: Fates) -> tuple[Revision, ...]:
    """Write down, in one change, the fates that differ from what was decided, and give them."""
    changed = [
        (fate, row) for row, fate in zip(rows, fates.tolist(), strict=True) if fate != row.fate
    ]
    with state.change():
        state.tell(
            "update images set fate = ? where id = ?", [(fate, row.id) for fate, row in changed]
        )
    return tuple(Revision(row.id, FATES[fate], FATES[row.fate or KEPT]) for fate, row in changed)
