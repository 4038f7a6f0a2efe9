"""Files that other programs read: EXPORTS names each form and the function that makes its text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scopefl.data.batches import Coreset
from scopefl.report.exports.labelling import fiftyone, label_studio
from scopefl.report.exports.lists import csv_list, index_list, text_list
from scopefl.report.exports.provenance import croissant, ro_crate
from scopefl.report.exports.target import Target


@dataclass(frozen=True)
class Export:
    """A form: how its text is made, piece by piece, and what is said of it."""

    make: Callable[[Coreset, Target], Iterator[str]]
    about: str


EXPORTS: dict[str, Export] = {
    "txt": Export(text_list, "paths of the kept images, one a line"),
    "csv": Export(csv_list, "id, path and label of the kept images"),
    "hf-indices": Export(index_list, "row numbers for Dataset.select of Hugging Face"),
    "torch-subset-indices": Export(index_list, "row numbers for torch.utils.data.Subset"),
    "fiftyone": Export(fiftyone, "anomalies as a FiftyOneImageClassificationDataset, to relabel"),
    "label-studio": Export(label_studio, "anomalies as Label Studio tasks, to relabel"),
    "croissant": Export(croissant, "what the coreset file holds, as Croissant JSON-LD"),
    "ro-crate": Export(ro_crate, "how the coreset was made, as RO-Crate JSON-LD"),
}
