"""A secure sum under a call, by real processes: the policy of open, and receipts that agree."""

import hashlib

import pytest

from scopefl.core.policy import Agreement, agree
from scopefl.core.terms import Terms
from scopefl.data.scores_file import read_scores
from scopefl.federation import answering
from scopefl.federation import call as calls
from scopefl.federation.call import Call, Member, read_call
from scopefl.federation.site_keys import SiteKeys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
SITES = ("north", "south", "west")


def called(folder, site):
    """Open the call as the first site joins; give what each site joins with."""
    path = folder / "call.json"
    if not path.exists():
        keys = {name: SiteKeys.new(folder / f"{name}-keys", name).key for name in SITES}
        members = {name: Member(calls.public_of(key).hex(), 1000) for name, key in keys.items()}
        kit = read_scores(folder / "north.parquet").fingerprint.hex()
        call = Call("run", 1, "11" * 16, kit, Terms.of("secure-sum"), members)
        path.write_bytes(call.to_bytes())
    return "--mode", "secure-sum", "--keys", folder / f"{site}-keys", "--call", path


@pytest.mark.parametrize("deployment", [called], indirect=True)
def test_a_secure_sum_of_three_sites_is_the_open_one_and_all_hold_its_receipt(
    deployment, scope_run
):
    given = ("expect=north,south,west", "rounds=1", "classes=10", "masked=true",
             f"call={deployment.folder / 'call.json'}")  # fmt: skip
    settings = [part for pair in given for part in ("-c", pair)]
    ended = scope_run.run("--server", str(deployment.coordinator), *settings)
    assert ended.code == 0, ended.text
    told = Agreement.from_bytes(ended.policy)
    files = [read_scores(deployment.scores(site)) for site in SITES]
    opened = agree([file.profile.to_bytes(file.fingerprint) for file in files])
    assert told.terms.mode == "secure-sum"
    assert told.profile == opened.profile
    call = read_call(deployment.folder / "call.json")
    found = sorted(deployment.folder.glob("*-keys/*.receipt"))
    assert len(found) == 3
    policy = answering.compare([path.read_bytes() for path in found], call)
    assert policy == hashlib.sha256(ended.policy).hexdigest()
