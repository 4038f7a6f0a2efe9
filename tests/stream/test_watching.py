"""What a stream ends with is what the batch gives over the same images, whatever came between."""

import os
import shutil

import numpy as np
import pytest

from scopefl.errors import FingerprintError
from scopefl.federation.by_file import Rule
from scopefl.stream.events import Arrival, Checkpoint
from scopefl.stream.state import Owner, State
from tests.stream.sites import KIT, RULE, batch, put, stream, watched
from tests.vision import small

RULES = {
    "paper": RULE,
    "auto": Rule(p_l="auto", p_f="0.3", prune_anyway=True),
    "budget": Rule(keep="0.4", prune_anyway=True),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A site with unreadable files, copies of one content and odd names among its pictures."""
    root = tmp_path_factory.mktemp("whole") / "site"
    for number in range(90):
        put(root, f"{small.CLASSES[number % 9 // 4]}/{number:03}.png", number)
    shutil.copy(root / "cat/000.png", root / "eel/copy of 0.png")
    (root / "dog/half.png").write_bytes((root / "cat/000.png").read_bytes()[:100])
    (root / "beside.png").write_bytes((root / "cat/000.png").read_bytes())
    shutil.copy(root / "cat/001.png", root / "cat" / os.fsdecode(b"caf\xe9.png"))
    return root


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_stream_in_any_order_ends_with_the_batch_s_coreset(whole, tmp_path, rule, seed):
    arriving = tmp_path / "site"
    rng = np.random.default_rng(seed)
    files = [path for path in sorted(whole.rglob("*")) if path.is_file()]
    order = rng.permutation(len(files)).tolist()
    while order:
        for _ in range(min(len(order), int(rng.integers(1, 40)))):
            source = files[order.pop()]
            target = arriving / source.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        watched(arriving, tmp_path, rule=rule)
    assert (tmp_path / "stream.parquet").read_bytes() == batch(whole, tmp_path, rule)


def test_every_image_is_told_of_once_and_the_sums_are_those_of_the_batch(whole, tmp_path):
    events = watched(whole, tmp_path)
    told = [event.id for event in events if isinstance(event, Arrival)]
    assert len(told) == len(set(told)) == 94
    assert not [one for one in watched(whole, tmp_path) if isinstance(one, Arrival)]
    with stream(tmp_path) as opened:
        assert opened.state.profile.count.sum() == 92


def test_the_first_decisions_are_revised_and_later_ones_are_made_at_once(whole, tmp_path):
    first = watched(whole, tmp_path)
    assert {one.fate for one in first if isinstance(one, Arrival)} == {"kept", "quarantined"}
    last = [one for one in first if isinstance(one, Checkpoint)][-1]
    assert last.revised == last.fates["anomalous"] + last.fates["redundant"] > 0
    more = tmp_path / "more"
    for number in range(60):
        put(more, f"{small.CLASSES[number % 3]}/more{number:03}.png", 1000 + number)
    later = [one for one in watched(more, tmp_path) if isinstance(one, Arrival)]
    assert {one.fate for one in later} == {"kept", "anomalous", "redundant"}


def test_a_state_belongs_to_one_kit(tmp_path):
    with State(tmp_path / "state", Owner(b"kit one", KIT.classes)):
        pass
    with pytest.raises(FingerprintError, match="different kits"):
        State(tmp_path / "state", Owner(b"kit two", KIT.classes))
