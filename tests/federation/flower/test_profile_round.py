"""The profile round on Flower's own messages: who is merged, and how the others are named."""

import copy
import re
import threading

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from scopefl.core.policy import Agreement, agree
from scopefl.core.profile import Profile
from scopefl.errors import FingerprintError, RefusedError
from scopefl.federation.flower import ScopeClient
from scopefl.federation.flower.admission import admit
from scopefl.federation.flower.asking import ask
from scopefl.federation.flower.profile_round import names_of, profile_round
from scopefl.federation.flower.records import RECORD


def app_of(file) -> ClientApp:
    scope = ScopeClient(file)
    app = ClientApp(mods=[scope.mod])
    app.query("scope")(scope.answer)
    return app


def altered(file, change):
    """An app whose reply is changed on its way out."""

    def app(message, context):
        reply = app_of(file)(message, context)
        change(reply.content[RECORD])
        return reply

    return app


def test_the_policy_is_the_same_bytes_as_by_file(federation, scored):
    files = {name: scored(seed) for seed, name in enumerate(("north", "south", "west"))}
    grid = federation({name: app_of(file) for name, file in files.items()}).grid
    agreement, coverage = profile_round(grid, expect=3, gamma=0.5, timeout=20)
    messages = [file.profile.to_bytes(file.fingerprint) for file in files.values()]
    assert agreement.to_bytes() == agree(messages, gamma=0.5).to_bytes()
    assert coverage.sites == ("north", "south", "west")
    assert str(coverage) == "3 of 3 sites"


def test_a_site_that_connects_late_is_waited_for(federation, scored):
    running = federation({"north": app_of(scored(0))})
    running.apps["south"] = app_of(scored(1))
    later = threading.Timer(0.3, running.connect, ["south"])
    later.start()
    _, coverage = profile_round(running.grid, expect=2, timeout=20)
    later.join()
    assert coverage.sites == ("north", "south")


def test_a_missing_site_is_refused_by_default_and_named(federation, scored):
    running = federation({"north": app_of(scored(0)), "south": lambda m, c: None}, names=True)
    with pytest.raises(
        RefusedError, match=r"at least 2 sites.*1 of 2.*south: no answer within 1 s"
    ):
        profile_round(running.grid, expect=2, timeout=1)


def test_a_site_that_never_connects_is_counted(federation, scored):
    running = federation({"north": app_of(scored(0))}, names=True)
    sentence = r"3 sites must be connected, 1 were within 0.5 s \(north\); start the others"
    with pytest.raises(RefusedError, match=sentence):
        profile_round(running.grid, expect=3, timeout=1)
    _, coverage = profile_round(running.grid, expect=3, quorum=1, timeout=1)
    assert str(coverage) == "1 of 3 sites (2 more: not connected within 0.5 s)"


def test_a_lower_quorum_goes_on_and_its_policy_says_so(federation, scored, caplog):
    running = federation({"north": app_of(scored(0)), "south": lambda m, c: None}, names=True)
    with caplog.at_level("WARNING", "flwr"):
        agreement, coverage = profile_round(running.grid, expect=2, quorum=1, timeout=1)
    decoded = Agreement.from_bytes(agreement.to_bytes())
    assert (decoded.sites, decoded.expected) == (1, 2)
    assert coverage.absent == {"south": "no answer within 1 s"}
    assert "ONLY 1 of 2 sites (south: no answer" in caplog.text


FAULTS = {
    "raises": (lambda file: lambda m, c: 1 / 0, "failed: .*division by zero"),
    "replays": (
        lambda file: altered(file, lambda r: r.update(token="0" * 16)),
        "a replayed answer",
    ),
    "sends garbage": (
        lambda file: altered(file, lambda r: r.update(profile=b"\x80\x04.")),
        "not a profile of scopefl",
    ),
    "sends a damaged profile": (
        lambda file: altered(file, lambda r: r.update(profile=r["profile"][:-1] + b"!")),
        "damaged on its way",
    ),
    "sends impossible sums": (
        lambda file: altered(file, lambda r: r.update(profile=impossible())),
        "cannot be true: class 0 has a mean beyond 1",
    ),
    "sends a number for a profile": (
        lambda file: altered(file, lambda r: r.update(profile=1.0)),
        "malformed answer",
    ),
    "adds a field": (
        lambda file: altered(file, lambda r: r.update(extra=1)),
        "malformed answer",
    ),
    "calls itself something endless": (
        lambda file: altered(file, lambda r: r.update(site="x" * 10_000)),
        "malformed site",
    ),
    "sends arrays instead": (
        lambda file: lambda m, c: Message(RecordDict({"a": ArrayRecord([])}), reply_to=m),
        "without our record",
    ),
    "sends another record beside": (
        lambda file: (
            lambda m, c: Message(
                RecordDict({RECORD: ConfigRecord(), "b": ConfigRecord()}), reply_to=m
            )
        ),
        "without our record",
    ),
    "uses another name": (
        lambda file: altered(file, lambda r: r.update(site="north")),
        "calls itself 'north', which is not its registered name",
    ),
    "scored with another kit": (
        lambda file: altered(file, lambda r: r.update(profile=file.profile.to_bytes(b"other"))),
        "scored with another kit .6f74686572 with 4 classes; the others 6b69742d6f6e6521",
    ),
    "has a NaN score": (lambda file: app_of(with_nan(file)), r"refused \(ScopeError\)"),
    "cannot read its file": (
        lambda file: app_of("/secret/patients.parquet"),
        r"refused \(ScopeError\); its own log says why",
    ),
}


def impossible() -> bytes:
    profile = Profile(np.array([1, 0, 0, 0]), *(np.full((3, 4), 1 << 40) for _ in range(2)))
    return profile.to_bytes(b"kit-one!")


def with_nan(file):
    rs = file.scores.rs.copy()
    rs[7] = np.nan
    table = file.table.set_column(file.table.column_names.index("rs"), "rs", pa.array(rs))
    return type(file)(table, file.classes, file.fingerprint)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_site_is_named_with_its_cause_and_not_merged(federation, scored, fault, caplog):
    build, cause = FAULTS[fault]
    apps = {"north": app_of(scored(0)), "south": build(scored(1)), "west": app_of(scored(2))}
    grid = federation(apps, names=True).grid
    agreement, coverage = profile_round(grid, expect=3, quorum=2, timeout=20)
    assert coverage.sites == ("north", "west")
    assert agreement.profile == scored(0).profile + scored(2).profile
    assert re.search(cause, coverage.absent["south"])
    assert "/secret" not in str(coverage)


def test_a_site_that_answers_twice_is_merged_once_or_not_at_all(federation, scored):
    def twice(message, context):
        reply = app_of(scored(1))(message, context)
        with running.state.lock:  # so that the server finds both at once
            running.store(copy.deepcopy(reply))
            running.store(reply)

    running = federation({"north": app_of(scored(0)), "south": twice}, names=True)
    agreement, _ = profile_round(running.grid, expect=2, timeout=20)
    assert agreement.profile == scored(0).profile + scored(1).profile  # Flower gives us one
    questions = ask(names_of(running.grid))
    replies = list(running.grid.send_and_receive([one.message for one in questions], timeout=20))
    outcome = admit(questions, [*replies, *replies[:1]], 2, silent="", max_count=1000)
    assert list(outcome.absent.values()) == ["answered 2 times"]
    assert len(outcome.heard) == 1


def test_a_late_answer_is_no_answer(federation, scored):
    late = []

    def slow(message, context):
        late.append(app_of(scored(1))(message, context))

    running = federation({"north": app_of(scored(0)), "south": slow}, names=True)
    _, coverage = profile_round(running.grid, expect=2, quorum=1, timeout=1)
    running.store(late[0])
    assert coverage.absent == {"south": "no answer within 1 s"}
    running.apps["south"] = app_of(scored(2))
    agreement, coverage = profile_round(running.grid, expect=2, timeout=20)
    assert coverage.sites == ("north", "south")
    assert agreement.profile == scored(0).profile + scored(2).profile


def test_without_registered_names_the_site_is_named_by_its_answer(federation, scored):
    apps = {"north": app_of(scored(0)), "south": FAULTS["replays"][0](scored(1))}
    _, coverage = profile_round(federation(apps).grid, expect=2, quorum=1, timeout=20)
    assert "site south: a replayed answer" in str(coverage)


def test_two_clients_of_one_name_are_both_left_out(federation, scored):
    apps = {"north": app_of(scored(0)), "south#1": app_of(scored(1)), "south#2": app_of(scored(2))}
    _, coverage = profile_round(federation(apps).grid, expect=3, quorum=1, timeout=20)
    assert coverage.sites == ("north",)
    assert coverage.absent["south"] == "two call themselves so"


def test_the_same_images_under_two_names_are_left_out(federation, scored):
    apps = {"north": app_of(scored(0)), "south": app_of(scored(1)), "west": app_of(scored(1))}
    with pytest.raises(RefusedError, match="its very profile came from two"):
        profile_round(federation(apps).grid, expect=3, timeout=20)


def test_two_empty_sites_are_merged(federation, scored):
    apps = {"north": app_of(scored(0)), "a": app_of(scored(1, n=0)), "b": app_of(scored(2, n=0))}
    agreement, coverage = profile_round(federation(apps).grid, expect=3, timeout=20)
    assert coverage.sites == ("a", "b", "north")
    assert agreement.profile == scored(0).profile


def test_kits_without_a_majority_are_refused(federation, scored):
    apps = {"north": app_of(scored(0)), "south": app_of(scored(1, kit=b"kit-two!"))}
    with pytest.raises(FingerprintError, match=r"north 6b.* south 6b.*score again"):
        profile_round(federation(apps).grid, expect=2, timeout=20)


def test_more_sites_than_expected_are_refused(federation, scored):
    apps = {"north": app_of(scored(0)), "south": app_of(scored(1))}
    with pytest.raises(RefusedError, match=r"1 sites were expected and 2 answered .north, south"):
        profile_round(federation(apps).grid, expect=1, timeout=20)


def test_a_site_that_is_not_among_the_expected_names_is_left_out(federation, scored):
    apps = {"north": app_of(scored(0)), "south": app_of(scored(1)), "mars": app_of(scored(2))}
    _, coverage = profile_round(federation(apps).grid, ["north", "south", "west"], quorum=2)
    assert coverage.sites == ("north", "south")
    assert coverage.absent["mars"] == "is not among the expected"


def test_a_site_that_claims_too_many_samples_is_named(federation, scored):
    apps = {"north": app_of(scored(0, n=8)), "south": app_of(scored(1, n=4000))}
    grid = federation(apps, names=True).grid
    _, coverage = profile_round(grid, expect=2, quorum=1, timeout=20, max_count=100)
    assert "more than 100 samples" in coverage.absent["south"]
