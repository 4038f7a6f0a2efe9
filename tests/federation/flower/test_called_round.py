"""A round over Flower under a call: signed answers, checked rosters, one policy for all."""

import hashlib
import shutil
from dataclasses import replace

import pytest

pytest.importorskip("flwr")

from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp

from scopefl.core.policy import agree
from scopefl.core.terms import MODES, Terms
from scopefl.errors import RefusedError
from scopefl.federation import answering
from scopefl.federation import call as calls
from scopefl.federation.call import Call, Member
from scopefl.federation.flower import Rule, ScopeClient
from scopefl.federation.flower.profile_round import profile_round
from scopefl.federation.flower.records import RECORD, Asked, Order
from scopefl.federation.offers import gathered
from scopefl.federation.site_keys import SiteKeys

NAMES = ("north", "south", "west")
RECEIPTS = "*.receipt"
SECURE = Terms.of("secure-sum")


def app_of(file, terms) -> ClientApp:
    scope = ScopeClient(file, terms)
    app = ClientApp(mods=[scope.mod])
    app.query("scope")(scope.answer)

    @app.train()
    def train(message, context):
        return Message(RecordDict(), reply_to=message)

    return app


def called(federation, scored, folder, terms, names=NAMES):
    """Connect sites that hold a call and keys; give the federation, the call and the keys."""
    sites = {name: SiteKeys.new(folder / name, name) for name in names}
    members = {n: Member(calls.public_of(s.key).hex(), 100) for n, s in sites.items()}
    call = Call("run", 1, "00" * 16, scored(0).fingerprint.hex(), terms, members)
    (folder / "call.json").write_bytes(call.to_bytes())
    running = federation({n: app_of(scored(at), terms) for at, n in enumerate(names)})
    for name in names:
        config = running.contexts[name].node_config
        config.update(keys=str(folder / name), call=str(folder / "call.json"))
    return running, call, sites


def sent(running, name, content, kind):
    message = Message(content, dst_node_id=1, message_type=kind)
    message.metadata.__dict__["_message_id"] = "1"
    return running.apps[name](message, running.contexts[name])


def train(running, name, order):
    return sent(running, name, RecordDict({RECORD: order.to_record()}), "train")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_ends_with_receipts_of_one_policy(federation, scored, tmp_path, mode):
    running, call, sites = called(federation, scored, tmp_path, Terms.of(mode))
    agreement, coverage = profile_round(running.grid, 3, timeout=20, call=call)
    assert str(coverage) == "3 of 3 sites"
    assert agreement.terms == call.terms
    order = Order(agreement.to_bytes(), Rule(), coverage.transcript)
    for name in NAMES:
        assert not train(running, name, order).has_error()
    receipts = [next(site.folder.glob(RECEIPTS)).read_bytes() for site in sites.values()]
    assert (
        answering.compare(receipts, call)
        == answering.Transcript.from_bytes(coverage.transcript).policy
    )
    if mode == "secure-sum":
        opened = agree([scored(at).profile.to_bytes(b"kit-one!") for at in range(3)])
        assert agreement.profile == opened.profile


def test_a_site_is_not_told_another_policy_and_answers_a_call_once(federation, scored, tmp_path):
    running, call, sites = called(federation, scored, tmp_path, Terms())
    agreement, coverage = profile_round(running.grid, 3, timeout=20, call=call)
    other = replace(agreement, gamma=2.0)
    for order in (
        Order(other.to_bytes(), Rule(), coverage.transcript),
        Order(agreement.to_bytes(), Rule()),
    ):
        assert train(running, "north", order).has_error()
    assert list(sites["north"].folder.glob(RECEIPTS)) == []
    assert not train(
        running, "north", Order(agreement.to_bytes(), Rule(), coverage.transcript)
    ).has_error()
    # A coordinator that concludes the same answers otherwise cannot take the first policy back.
    told = answering.Transcript.from_bytes(coverage.transcript)
    again = replace(told, policy=hashlib.sha256(other.to_bytes()).hexdigest())
    changed = Order(other.to_bytes(), Rule(), again.to_bytes())
    assert train(running, "north", changed).has_error()
    with pytest.raises(RefusedError, match="0 of 3 sites"):
        profile_round(running.grid, 3, timeout=8, call=call)


@pytest.mark.parametrize("under_call", [True, False])
def test_sites_can_be_merged_by_their_median(federation, scored, tmp_path, under_call):
    running, call, _ = called(federation, scored, tmp_path, Terms())
    if not under_call:
        for context in running.contexts.values():
            del context.node_config["call"]
    agreement, _ = profile_round(
        running.grid, 3, timeout=8, robust=True, call=call if under_call else None
    )
    messages = [scored(at).profile.to_bytes(b"kit-one!") for at in range(3)]
    assert agreement.to_bytes() == agree(messages, rule="median").to_bytes()


def test_a_drop_out_costs_one_attempt(federation, scored, tmp_path):
    names = (*NAMES, "east")
    running, call, _ = called(federation, scored, tmp_path, SECURE, names)
    whole = running.apps["east"]
    running.apps["east"] = lambda message, context: (
        None if message.content[RECORD]["roster"] else whole(message, context)
    )
    agreement, coverage = profile_round(running.grid, 4, quorum=3, timeout=8, call=call)
    assert (agreement.sites, agreement.expected) == (3, 4)
    assert list(answering.Transcript.from_bytes(coverage.transcript).messages) == sorted(NAMES)


def test_keys_that_the_server_invents_unmask_nobody(federation, scored, tmp_path):
    running, call, sites = called(federation, scored, tmp_path, SECURE)
    offers = [sites["north"].offer(call)]
    offers += [SiteKeys.new(tmp_path / name, name).offer(call) for name in ("x", "y")]
    forged = Asked("token", call.digest, 1, gathered(offers)).to_records()
    reply = sent(running, "north", forged, "query.scope")
    assert reply.content[RECORD]["profile"] == b""
    assert "RefusedError" in reply.content[RECORD]["refusal"]
    assert sites["north"].spent == []


def test_a_site_whose_key_is_not_its_own_or_whose_call_is_another_is_absent(
    federation, scored, tmp_path
):
    running, call, _ = called(federation, scored, tmp_path, Terms())
    shutil.copytree(tmp_path / "south", tmp_path / "copied")
    running.contexts["north"].node_config["keys"] = str(tmp_path / "copied")
    (tmp_path / "other.json").write_bytes(replace(call, round=2).to_bytes())
    running.contexts["west"].node_config["call"] = str(tmp_path / "other.json")
    with pytest.raises(RefusedError, match=r"1 of 3 sites .*the call knows this key as 'south'"):
        profile_round(running.grid, 3, timeout=8, call=call)
