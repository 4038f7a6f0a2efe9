"""Learning curves: what is written is read back, and what is not a curve is refused."""

import re
from pathlib import Path

import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.train.curves import Curve, read_curves, write_curves
from scopefl.train.history import History, Round

CURVES = [Curve("all, of them", 30, (1, 2), (0.25, 0.5)), Curve("<b>", 3, (2,), (1.0,))]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_curves(CURVES, tmp_path / "curves.csv")
    assert read_curves(tmp_path / "curves.csv") == CURVES


def test_a_curve_holds_the_rounds_that_were_evaluated() -> None:
    rounds = (Round(1, (0,), 5, 0.1), Round(2, (0,), 5, 0.1, correct=(1, 2)))
    history = History(rounds, np.array([2, 2]), np.zeros(4, np.int64), [])
    assert Curve.of("all", 5, history) == Curve("all", 5, (2,), (0.75,))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("round,accuracy\n1,0.5\n", "must begin with the line trained on,images,round,accuracy"),
        ("trained on,images,round,accuracy\na,3,1\n", "line 2 must hold a name"),
        ("trained on,images,round,accuracy\na,3,x,0.5\n", "line 2 must hold a name"),
        ("trained on,images,round,accuracy\na,3,1,50\n", "accuracy from 0 to 1, got 50"),
        ("trained on,images,round,accuracy\na,3,1,nan\n", "accuracy from 0 to 1, got nan"),
        ("", "must begin with the line"),
    ],
)
def test_what_is_no_curve_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    path.write_text(text)
    with pytest.raises(ScopeError, match=re.escape(said)):
        read_curves(path)
