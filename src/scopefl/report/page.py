"""The report: one self-contained HTML file about one or more coresets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.balance import imbalance_ratio
from scopefl.core.policy import Agreement
from scopefl.data.files import write_bytes
from scopefl.report import charts, learning
from scopefl.report.collection import KEPT, SHOWN_FATES, Collection, Site
from scopefl.report.fitness import findings
from scopefl.report.gallery import galleries
from scopefl.report.gathering import MOST_DRAWN, MOST_QUARANTINED, Gathered, gather
from scopefl.report.html import render
from scopefl.report.ledger import received, sent
from scopefl.report.points import (
    MOST_MAPPED,
    Clients,
    cells,
    points,
    range_of,
)
from scopefl.report.provenance import commands, settings_of, versions
from scopefl.report.tally import Tally
from scopefl.report.words import balance, selected
from scopefl.train.curves import Curve
from scopefl.vision.map import layout

MOST_CLIENT_ROWS = 1000
MOST_SENT = 20
MOST_NAMED_ON_MAP = 30


@dataclass(frozen=True)
class Row:
    """One class or client of a table: its number, name and counts per fate."""

    number: int
    name: str
    kept: int
    anomalous: int
    redundant: int

    @property
    def total(self) -> int:
        """Count before selection."""
        return self.kept + self.anomalous + self.redundant


def write_report(
    sites: Sequence[Site],
    out: Path,
    *,
    agreement: Agreement | None = None,
    cache_in: Path | None = None,
    curves: Sequence[Curve] = (),
    command: str = "",
) -> int:
    """Write the report of some coresets and give its size in bytes."""
    page = report(sites, agreement=agreement, cache_in=cache_in, curves=curves, command=command)
    data = page.encode()
    write_bytes(out, data)
    return len(data)


def report(
    sites: Sequence[Site],
    *,
    agreement: Agreement | None = None,
    cache_in: Path | None = None,
    curves: Sequence[Curve] = (),
    command: str = "",
) -> str:
    """Give the whole page: `cache_in` keeps the map of embeddings for next time."""
    gathered = gather(sites)
    collection, tally = gathered.collection, gathered.tally
    clients = Clients.of(tally, collection.clients)
    drawn = gathered.to_draw(MOST_DRAWN)
    fitness = findings(
        {name: site.coreset.settings for name, site in zip(collection.clients, sites, strict=True)}
    )
    mapped = _map(gathered, clients, cache_in)
    curves = curves[: learning.MOST_CURVES]
    data = _chart_data(collection, tally, clients, drawn, mapped)
    if curves:
        data["charts"]["learning"] = learning.chart(curves)
        data["sets"]["learning"] = learning.points(curves)
    context: dict[str, Any] = {
        "collection": collection,
        "clients": clients,
        "tally": tally,
        "classes": _rows(tally.by_class, collection.classes),
        "client_rows": _rows(tally.by_client, collection.clients)[:MOST_CLIENT_ROWS],
        "n_drawn": len(drawn),
        "n_mapped": len(mapped["rows"]["id"]) if mapped else 0,
        "imbalance": _imbalance(tally),
        "selected": selected([site.coreset.settings for site in sites]),
        "catch": gathered.catch,
        "curves": curves,
        "galleries": galleries(collection),
        "fitness": fitness,
        "unfit": [one for one in fitness if not one.fit],
        "sent": [sent(site, agreement) for site in sites[:MOST_SENT]],
        "received": None if agreement is None else received(agreement, sites),
        "quarantined": collection.quarantined[:MOST_QUARANTINED],
        "n_quarantined": gathered.quarantined,
        "sites": sites,
        "settings": settings_of(sites),
        "commands": [*commands(sites), *([command] if command else [])],
        "versions": versions(),
        "whole": Row(0, "all", *tally.total.tolist()),
    }
    return render("page.html", context, data)


def _rows(table: NDArray[np.int64], names: Sequence[str]) -> list[Row]:
    order = np.argsort(-table.sum(axis=1), kind="stable").tolist()
    return [Row(place, names[place], *table[place].tolist()) for place in order]


def _imbalance(tally: Tally) -> Mapping[str, Any]:
    before = tally.by_class.sum(axis=1)
    present = before > 0
    ratios = imbalance_ratio(before, present), imbalance_ratio(tally.by_class[:, KEPT], present)
    return {"before": ratios[0], "after": ratios[1], "words": balance(*ratios)}


def _chart_data(
    collection: Collection,
    tally: Tally,
    clients: Clients,
    drawn: NDArray[np.intp],
    mapped: dict[str, Any] | None,
) -> dict[str, Any]:
    order = [row.name for row in _rows(tally.by_class, collection.classes) if row.total]
    specs = {
        "classes": charts.bars("class", "client", order, "classes"),
        "tail": charts.tail(),
        "clients": charts.bars("client", "class", clients.single, "clients"),
        "boundary": charts.boundary(range_of(collection.rs), range_of(collection.s_neg)),
    }
    sets = {"cells": cells(tally, clients), "points": points(collection, clients, drawn)}
    if mapped:
        specs["map-before"] = charts.neighbourhood(mapped["domain"], after=False)
        specs["map-after"] = charts.neighbourhood(mapped["domain"], after=True)
        sets |= {"map": mapped["rows"], "centres": mapped["centres"]}
    names = {"class": collection.classes, "client": clients.names, "fate": SHOWN_FATES}
    return {"names": names, "sets": sets, "charts": specs}


def _map(gathered: Gathered, clients: Clients, cache_in: Path | None) -> dict[str, Any] | None:
    collection = gathered.collection
    if collection.embeddings is None or not len(collection):
        return None
    rows = gathered.to_draw(MOST_MAPPED)
    placed = layout(collection.embeddings[rows], cache_in)
    columns = points(collection, clients, rows)
    x, y = np.round(placed.astype(np.float64), 2).T
    columns |= {"x": x.tolist(), "y": y.tolist()}
    label = collection.label[rows]
    present = np.unique(label)
    shown = present if len(present) <= MOST_NAMED_ON_MAP else present[:0]
    centres = {
        "class": shown.tolist(),
        "x": [float(np.median(x[label == c])) for c in shown],
        "y": [float(np.median(y[label == c])) for c in shown],
    }
    return {"rows": columns, "centres": centres, "domain": (*range_of(x), *range_of(y))}
