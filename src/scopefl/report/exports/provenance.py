"""Descriptions of a coreset for catalogues: Croissant and RO-Crate, both JSON-LD."""

import json
from collections.abc import Iterator
from typing import Any

from scopefl import __version__
from scopefl.data.batches import Coreset
from scopefl.data.coreset_file import CORESET_COLUMNS
from scopefl.report.exports.target import Target

NAME = "scopefl coreset"
FORMAT = "application/x-parquet"
MEANING = {
    "id": "id of the sample at its site",
    "path": "where the image is at its site",
    "label": "class the sample was given",
    "rs": "RS, cosine to the prototype of its class",
    "ds": "DS, sqrt(1 - RS^2)",
    "s_neg": "S_neg, cosine to the nearest other prototype",
    "rival": "the class that attains S_neg",
    "anomaly": "AS, clipped z of S_neg less clipped z of RS",
    "redundancy": "R, clipped z of RS less those of S_neg and DS",
    "fate": "kept, anomalous, redundant or quarantined",
    "why": "the fate in words",
}
CROISSANT_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(coreset: Coreset, target: Target) -> Iterator[str]:
    """Describe the coreset file and its columns for machine-learning tools."""
    table = {
        "@type": "cr:FileObject",
        "@id": "coreset",
        "name": target.file,
        "contentUrl": target.file,
        "contentSize": f"{target.size} B",
        "encodingFormat": FORMAT,
        "sha256": target.sha256,
    }
    samples = {
        "@type": "cr:RecordSet",
        "@id": "samples",
        "name": "samples",
        "description": "One record for every input of the site.",
        "field": [_field(name) for name in CORESET_COLUMNS],
    }
    described = {
        "@context": CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": NAME,
        "description": _description(coreset),
        "version": "1.0.0",
        "datePublished": target.made,
        "distribution": [table],
        "recordSet": [samples],
        "rai:dataPreprocessingProtocol": _settings(coreset),
        **_licence(target),
    }
    yield json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def ro_crate(coreset: Coreset, target: Target) -> Iterator[str]:
    """Describe which program made the coreset file, with which settings."""
    graph: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": NAME,
            "description": _description(coreset),
            "datePublished": target.made,
            "hasPart": [{"@id": target.file}],
            "mentions": [{"@id": "#selection"}],
            **_licence(target),
        },
        {
            "@id": target.file,
            "@type": "File",
            "name": target.file,
            "encodingFormat": FORMAT,
            "contentSize": str(target.size),
            "sha256": target.sha256,
        },
        {
            "@id": "#selection",
            "@type": "CreateAction",
            "name": "scope select",
            "description": _settings(coreset),
            "instrument": {"@id": "#scopefl"},
            "result": {"@id": target.file},
        },
        {
            "@id": "#scopefl",
            "@type": "SoftwareApplication",
            "name": "scopefl",
            "softwareVersion": __version__,
        },
    ]
    crate = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    yield json.dumps(crate, ensure_ascii=False, indent=2) + "\n"


def _field(name: str) -> dict[str, Any]:
    number = name in {"rs", "ds", "s_neg", "anomaly", "redundancy"}
    return {
        "@type": "cr:Field",
        "@id": f"samples/{name}",
        "name": name,
        "description": MEANING[name],
        "dataType": "sc:Float" if number else "sc:Text",
        "source": {"fileObject": {"@id": "coreset"}, "extract": {"column": name}},
    }


def _licence(target: Target) -> dict[str, str]:
    return {"license": target.license} if target.license else {}


def _description(coreset: Coreset) -> str:
    counts = ", ".join(f"{count} {fate}" for fate, count in coreset.fates.items())
    return f"A coreset selected by scopefl {__version__}: {counts}."


def _settings(coreset: Coreset) -> str:
    settings = {**coreset.settings, "fingerprint": coreset.fingerprint.hex()}
    return json.dumps(settings, ensure_ascii=False, sort_keys=True)
