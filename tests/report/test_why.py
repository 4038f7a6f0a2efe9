from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scopefl.core.standard import z_scores
from scopefl.errors import FingerprintError, ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.report.why import find, why


@pytest.fixture(scope="module")
def site(played: Any) -> Any:
    round_ = played(300)
    return round_.sites[0].coreset, round_.files[0], round_.agreement


def ids_of(coreset: Any, fate: str) -> list[str]:
    return [row["id"] for row in coreset.table.to_pylist() if row["fate"] == fate]


def below(text: str) -> float:
    return float(text.split("below ")[1].split()[0])


@pytest.mark.parametrize("place", [0, 3, -1])
def test_the_named_p_l_is_where_an_anomaly_is_spared(site: Any, place: int):
    coreset, file, agreement = site
    image = ids_of(coreset, "anomalous")[place]
    row = file.ids.tolist().index(image)
    edge = below(why(coreset, image, agreement).spared)
    spared = choose(file, agreement, Rule(p_l=f"{edge - 1e-6:.6f}"), "site 0")
    struck = choose(file, agreement, Rule(p_l=f"{edge + 2e-6:.6f}"), "site 0")
    assert not spared.anomalous[row]
    assert struck.anomalous[row]


@pytest.mark.parametrize("place", [0, 3, -1])
def test_the_named_p_f_is_where_a_redundant_image_is_kept(site: Any, place: int):
    coreset, file, agreement = site
    image = ids_of(coreset, "redundant")[place]
    row = file.ids.tolist().index(image)
    edge = below(why(coreset, image, agreement).spared)
    assert choose(file, agreement, Rule(p_f=f"{edge - 1e-6:.6f}"), "site 0").kept[row]
    assert choose(file, agreement, Rule(p_f=f"{edge + 2e-6:.6f}"), "site 0").redundant[row]


def test_a_kept_image_needs_no_sparing(site: Any):
    coreset, _, agreement = site
    assert why(coreset, ids_of(coreset, "kept")[0], agreement).spared == ""


def test_the_named_keep_fraction_keeps_the_image(played: Any):
    round_ = played(300, rule=Rule(keep=0.3))
    coreset, file = round_.sites[0].coreset, round_.files[0]
    image = ids_of(coreset, "redundant")[0]
    said = why(coreset, image, round_.agreement).spared
    keep = said.split()[1]
    kept = choose(file, round_.agreement, Rule(keep=keep), "site 0").kept
    assert kept[file.ids.tolist().index(image)]
    assert "give the policy" in why(coreset, image).spared


def test_z_is_that_of_the_policy(site: Any):
    coreset, file, agreement = site
    z = z_scores(file.scores, file.labels, agreement.policy)
    found = why(coreset, file.ids[7], agreement)
    assert found.z == {name: getattr(z, name)[7] for name in ("rs", "ds", "s_neg")}
    assert why(coreset, file.ids[7]).z == {}


def test_ranks_count_those_above(site: Any):
    coreset, file, _ = site
    score = coreset.table["anomaly"].to_numpy()
    for row in (0, 5):
        ranks = {rank.name: rank for rank in why(coreset, file.ids[row]).ranks}
        assert ranks["anomaly, all images"].of == len(score)
        assert ranks["anomaly, all images"].place == 1 + int((score > score[row]).sum())
        alike = file.labels == file.labels[row]
        inside = ranks["anomaly, its class"]
        assert (inside.place, inside.of) == (1 + (score[alike] > score[row]).sum(), alike.sum())


def test_an_image_is_found_by_id_path_or_the_end_of_its_path(site: Any):
    coreset, file, _ = site
    paths = [f"folder/{name}" for name in coreset.table["id"].to_pylist()]
    moved = replace(coreset, table=coreset.table.set_column(1, "path", [paths]))
    assert find(moved, file.ids[4]) == find(moved, paths[4]) == 4
    assert find(moved, f"/data/images/{paths[4]}") == 4
    renamed = replace(
        moved, table=moved.table.set_column(0, "id", [[str(i) for i in range(len(paths))]])
    )
    assert find(renamed, file.ids[4]) == 4


def test_an_unknown_image_is_said_to_be_unknown(site: Any):
    with pytest.raises(ScopeError, match="no image of the coreset's .* rows"):
        find(site[0], "nowhere.png")


def test_a_policy_of_another_kit_is_refused(site: Any):
    coreset, file, agreement = site
    with pytest.raises(FingerprintError):
        why(coreset, file.ids[0], replace(agreement, fingerprint=bytes(8)))


def test_auto_has_no_threshold(played: Any):
    coreset = played(300, rule=Rule(p_l="auto")).sites[0].coreset
    assert "no threshold" in why(coreset, ids_of(coreset, "anomalous")[0]).spared


def test_ranks_with_and_without_the_policy_agree(site: Any):
    coreset, file, agreement = site
    apart = [
        abs(one.place - other.place)
        for name in file.ids[:20]
        for one, other in zip(
            why(coreset, name).ranks, why(coreset, name, agreement).ranks, strict=True
        )
    ]
    assert np.mean(apart) < 1
