"""The noise of whole messages, against what the terms claim; the audit must see half of it gone."""

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("opendp")
pytest.importorskip("scipy")

from benchmarks import privacy_audit
from scopefl.core.terms import Terms
from scopefl.federation import noise

DRAWS, DELTA = 10_000, 1e-6


def audited(mode, epsilon):
    terms = Terms.of(mode, epsilon=epsilon, delta=DELTA)
    sides = privacy_audit.nothing(), privacy_audit.images(DRAWS, terms)
    rows = [privacy_audit.seen(held, DRAWS, terms) for held in sides]
    (without, length), (with_one, _) = (privacy_audit.along(one, terms) for one in rows)
    return privacy_audit.lower_epsilon(without, with_one, length, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["local-dp", "secure-sum+dp"])
def test_the_claimed_epsilon_holds_and_half_the_noise_is_noticed(monkeypatch, mode):
    # One audit in ten thousand errs; half the noise lies five deviations beyond what it allows.
    monkeypatch.setattr(privacy_audit, "LEVEL", 1e-4)
    assert audited(mode, 1.0) <= 1.0
    doubled = noise.epsilon_of(4 * noise.rho_for(1.0, DELTA), DELTA)
    assert doubled > 1.9
    assert audited(mode, doubled) > 1.0
