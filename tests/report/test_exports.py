import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scopefl.cli.export import FORMS
from scopefl.report.exports import EXPORTS
from scopefl.report.exports.lists import indices
from scopefl.report.exports.target import Target


@pytest.fixture(scope="module")
def coreset(played: Any) -> Any:
    return played(200, clients=1).sites[0].coreset


def rows_of(coreset: Any, fate: str) -> list[dict[str, Any]]:
    return [row for row in coreset.table.to_pylist() if row["fate"] == fate]


def made(coreset: Any, form: str, target: Target | None = None) -> str:
    return "".join(EXPORTS[form].make(coreset, target or Target()))


def test_the_command_offers_every_form():
    assert tuple(EXPORTS) == FORMS


def test_the_text_list_has_the_paths_of_the_kept(coreset: Any):
    assert made(coreset, "txt").splitlines() == [row["path"] for row in rows_of(coreset, "kept")]


def test_the_csv_survives_commas_and_quotes(coreset: Any):
    odd = [f'a,"{i}".png' for i in range(200)]
    moved = replace(coreset, table=coreset.table.set_column(1, "path", [odd]))
    table = list(csv.DictReader(io.StringIO(made(moved, "csv"))))
    kept = rows_of(moved, "kept")
    assert [row["path"] for row in table] == [row["path"] for row in kept]
    assert [row["label"] for row in table] == [row["label"] for row in kept]


def test_indices_pick_the_kept_rows_of_any_sequence(coreset: Any):
    fates = np.array(coreset.table["fate"].to_pylist())
    kept = np.flatnonzero(fates == "kept").tolist()
    for form in ("hf-indices", "torch-subset-indices"):
        assert made(coreset, form) == json.dumps(kept) + "\n"
    assert np.concatenate(list(indices(coreset))).tolist() == kept


def test_a_torch_subset_of_the_indices_is_the_coreset(coreset: Any):
    torch = pytest.importorskip("torch")
    (kept,) = indices(coreset)
    subset = torch.utils.data.Subset(coreset.table["id"].to_pylist(), kept.tolist())
    assert list(subset) == [row["id"] for row in rows_of(coreset, "kept")]


def test_fiftyone_gets_the_anomalies_with_their_rival_as_label(coreset: Any, tmp_path: Path):
    labels = json.loads(made(coreset, "fiftyone", Target(images=tmp_path)))
    assert labels["classes"] is None
    worst = rows_of(coreset, "anomalous")
    assert set(labels["labels"]) == {str(tmp_path / row["path"]) for row in worst}
    for row in worst:
        one = labels["labels"][str(tmp_path / row["path"])]
        assert one["label"] == row["rival"]
        assert 0 <= one["confidence"] <= 1
        assert one["attributes"]["label_now"] == row["label"]


def test_label_studio_gets_tasks_with_a_prediction(coreset: Any):
    tasks = json.loads(made(coreset, "label-studio", Target(prefix="/data/local-files/?d=")))
    worst = sorted(rows_of(coreset, "anomalous"), key=lambda row: -row["anomaly"])
    assert [task["data"]["id"] for task in tasks] == [row["id"] for row in worst]
    for task, row in zip(tasks, worst, strict=True):
        assert task["data"]["image"] == f"/data/local-files/?d={row['path']}"
        (choice,) = task["predictions"][0]["result"]
        assert choice["value"] == {"choices": [row["rival"]]}
        assert (choice["from_name"], choice["to_name"]) == ("label", "image")


def test_croissant_describes_every_column_of_the_file(coreset: Any):
    described = json.loads(made(coreset, "croissant", Target("c.parquet", "ab" * 32, 10)))
    assert described["distribution"][0]["sha256"] == "ab" * 32
    columns = [field["source"]["extract"]["column"] for field in described["recordSet"][0]["field"]]
    assert columns == coreset.table.column_names


def test_the_crate_says_how_the_file_was_made(coreset: Any):
    crate = json.loads(made(coreset, "ro-crate", Target("c.parquet", "ab" * 32, 10)))
    by_id = {entity["@id"]: entity for entity in crate["@graph"]}
    action = by_id["#selection"]
    assert json.loads(action["description"])["p_l"] == 0.1
    assert by_id[action["result"]["@id"]]["sha256"] == "ab" * 32
    named = {
        value["@id"]
        for entity in crate["@graph"]
        for values in entity.values()
        for value in (values if isinstance(values, list) else [values])
        if isinstance(value, dict)
    }
    assert {name for name in named if not name.startswith("https:")} <= set(by_id)


@pytest.mark.parametrize("form", ["croissant", "ro-crate"])
def test_a_catalogue_is_told_the_licence_where_it_is_known(coreset: Any, form: str):
    address = "https://creativecommons.org/licenses/by/4.0/"
    assert f'"license": "{address}"' in made(coreset, form, Target(license=address))
    assert "license" not in made(coreset, form)


def test_an_id_stands_in_for_a_path_that_is_missing(coreset: Any):
    bare = replace(coreset, table=coreset.table.set_column(1, "path", [[None] * 200]))
    assert made(bare, "txt").splitlines() == [row["id"] for row in rows_of(coreset, "kept")]
