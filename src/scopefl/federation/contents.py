"""What is in a file of ours, as plain names and numbers."""

from collections import Counter
from pathlib import Path
from typing import Any

from scopefl.core.cells import METRICS
from scopefl.core.envelope import KINDS, LARGEST, MAGIC, unseal
from scopefl.core.policy import Agreement
from scopefl.core.profile import MAX_COUNT, Profile
from scopefl.core.release import Release
from scopefl.data.batches import open_coreset, open_scores
from scopefl.data.coreset_file import FATES
from scopefl.data.files import read_bytes
from scopefl.data.scores_file import read_about
from scopefl.errors import ScopeError


def contents(path: Path) -> dict[str, Any]:
    """Describe a scores, coreset, profile or policy file; `classes` has a row a class."""
    start = read_start(path)
    if start[:4] == b"PAR1":
        return _of_scores(path) if read_about(path)["kind"] == "scores" else _of_coreset(path)
    if start[:2] == MAGIC and start[2:3] == b"P":
        return _of_profile(read_bytes(path, LARGEST))
    if start[:2] == MAGIC and start[2:3] == b"O":
        return _of_policy(read_bytes(path, LARGEST))
    if start[:2] == MAGIC and start[2:3] == b"R":
        return _of_release(read_bytes(path, LARGEST))
    if start[:1] == b"{":
        return _of_call(read_bytes(path, LARGEST))
    known = ", ".join(["scores", "coreset", *KINDS.values()])
    raise ScopeError(f"{path} must be a file that scope wrote ({known}), it is none of them")


def read_start(path: Path) -> bytes:
    """Give the first bytes, by which files are told apart."""
    with path.open("rb") as opened:
        return opened.read(8)


def _of_profile(message: bytes) -> dict[str, Any]:
    profile, fingerprint = Profile.from_body(unseal(b"P", message), MAX_COUNT)
    return {
        "kind": "profile",
        "bytes": len(message),
        "fingerprint": fingerprint.hex(),
        "images": int(profile.count.sum()),
        "classes": _statistics(profile),
    }


def _of_release(message: bytes) -> dict[str, Any]:
    release = Release.from_bytes(message)
    about = {
        "kind": "release",
        "bytes": len(message),
        "fingerprint": release.fingerprint.hex(),
        "terms": str(release.terms),
    }
    if release.terms.masked or release.terms.noisy:
        return {**about, "sites": release.sites or 1, "classes": []}
    return {**about, "classes": _statistics(release.profile)}


def _of_call(data: bytes) -> dict[str, Any]:
    from scopefl.federation.call import Call

    call = Call.from_bytes(data)
    return {
        "kind": "call",
        "digest": call.digest.hex(),
        "run": call.run,
        "round": call.round,
        "fingerprint": call.fingerprint,
        "terms": str(call.terms),
        "sites": {name: member.key for name, member in call.sites.items()},
        "classes": [],
    }


def _of_policy(message: bytes) -> dict[str, Any]:
    agreement = Agreement.from_bytes(message)
    rows = _statistics(agreement.profile)
    for row, weight, holders in zip(
        rows, agreement.policy.weight.tolist(), agreement.holders.tolist(), strict=True
    ):
        row.update(weight=weight, sites=holders)
    return {
        "kind": "policy",
        "version": agreement.version,
        "bytes": len(message),
        "fingerprint": agreement.fingerprint.hex(),
        "sites": agreement.sites,
        "sites_expected": agreement.expected,
        "terms": str(agreement.terms),
        "merged_by": agreement.rule,
        "gamma": agreement.gamma,
        "images": int(agreement.profile.count.sum()),
        "classes": rows,
    }


def _of_scores(path: Path) -> dict[str, Any]:
    file = open_scores(path)
    lost = file.quarantined.select(["path", "reason"])
    return {
        "kind": "scores",
        "fingerprint": file.fingerprint.hex(),
        "settings": dict(file.settings),
        "rows": file.rows,
        "quarantined": lost.num_rows,
        "reasons": lost.to_pylist(),
        "classes": _named(file.classes, _statistics(file.profile)),
    }


def _of_coreset(path: Path) -> dict[str, Any]:
    file = open_coreset(path)
    found = Counter[tuple[str, str]]()
    for part in file.batches("label", "fate"):
        cells = part.table.group_by(["label", "fate"]).aggregate([([], "count_all")])
        for row in cells.to_pylist():
            found[row["label"], row["fate"]] += row["count_all"]
    rows = [{"class": name, **{fate: found[name, fate] for fate in FATES}} for name in file.classes]
    return {
        "kind": "coreset",
        "fingerprint": file.fingerprint.hex(),
        "settings": dict(file.settings),
        **file.fates,
        "classes": rows,
    }


def _statistics(profile: Profile) -> list[dict[str, Any]]:
    mean, sigma = profile.mean.T.tolist(), profile.sigma.T.tolist()
    return [
        {
            "class": c,
            "images": count,
            **{f"{metric}_mean": m for metric, m in zip(METRICS, mean[c], strict=True)},
            **{f"{metric}_sigma": s for metric, s in zip(METRICS, sigma[c], strict=True)},
        }
        for c, count in enumerate(profile.count.tolist())
    ]


def _named(classes: tuple[str, ...], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "class": name} for name, row in zip(classes, rows, strict=True)]
