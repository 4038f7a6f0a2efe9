"""The round by file for tables of any size: in memory where they fit, on disk where they do not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from scopefl.core.coreset import Selection
from scopefl.core.policy import Agreement, check_same_kit
from scopefl.data.batches import ScoresTable, ahead, open_scores
from scopefl.data.coreset_file import (
    CORESET_COLUMNS,
    FATES,
    CoresetFile,
    coreset_of,
    write_coreset,
)
from scopefl.data.fates_on_disk import FatesOnDisk
from scopefl.data.files import scratch
from scopefl.data.scores_file import writing
from scopefl.federation.by_file import Rule, coreset, decide, refuse_chance, settings_of
from scopefl.federation.limits import Limits


def select(
    scores: Path,
    out: Path,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None = None,
) -> dict[str, int]:
    """Write the coreset of a scores file; give how many samples met each fate."""
    file = open_scores(scores)
    if isinstance(file, ScoresTable):
        return _select_on_disk(file, out, agreement, rule, client, limits)
    result = coreset(file, agreement, rule, client, limits)
    write_coreset(result, out)
    return result.fates


def _select_on_disk(
    table: ScoresTable,
    out: Path,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None,
) -> dict[str, int]:
    refuse_chance(table.settings, rule)
    settings = {**table.settings, **settings_of(agreement, rule, client, limits)}
    with decided(table, agreement, rule, client, limits, beside=out) as fates:
        about = (out, "coreset", table.classes, table.fingerprint, settings)
        found = dict.fromkeys(FATES, 0)
        with writing(pa.schema(list(CORESET_COLUMNS.items())), *about) as writer:
            for part in ahead(_coresets(fates)):
                writer.write_table(part.table)
                found = {fate: found[fate] + count for fate, count in part.fates.items()}
    return found


@contextmanager
def decided(
    table: ScoresTable,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None = None,
    *,
    beside: Path | None = None,
) -> Iterator[FatesOnDisk]:
    """Lend the fates of a table's rows under a rule, kept in a folder that goes away again."""
    check_same_kit(table.fingerprint, agreement.fingerprint, "the scores", "the policy")
    with scratch(beside) as folder:
        fates = FatesOnDisk(table, agreement.policy, folder)
        decide(fates, agreement, rule, client, limits)
        yield fates


def _coresets(fates: FatesOnDisk) -> Iterator[CoresetFile]:
    for here in fates.stretches():
        yield coreset_of(here.file, Selection.of(np.array(here.fate)), fates.policy, {})
