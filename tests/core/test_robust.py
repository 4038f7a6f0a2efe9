"""The weighted median by hand, what one bad member can do to it, and groups as members."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import Profile, RefusedError, Scores, agree
from scopefl.core.groups import agree_groups
from scopefl.core.policy import Agreement
from scopefl.core.robust import CAP, weighted_median

KIT = b"12345678"


def held(rs, n=4, n_classes=2, label=0):
    rs = np.full(n, rs)
    return Profile.of(Scores(rs, np.sqrt(1 - rs**2), rs / 2), np.full(n, label), n_classes)


def test_the_middle_site_gives_the_means_and_all_give_the_count():
    told = weighted_median([held(0.2), held(0.9), held(0.3)])
    np.testing.assert_allclose(told.mean[[0, 2], 0], [0.3, 0.15], atol=2e-3)
    # Squares of the distances to .3: .01, .36, 0; the middle one is .01.
    assert told.sigma[0, 0] == pytest.approx(0.1, abs=1e-3)
    assert told.count.tolist() == [12, 0]


def test_the_middle_is_where_half_of_the_images_are_reached():
    sizes = {0.2: 6, 0.3: 2, 0.4: 2, 0.5: 3, 0.6: 3}
    told = weighted_median([held(rs, n) for rs, n in sizes.items()])
    # 6 and 2 are half of 16; by sites alone the middle would be .4.
    assert told.mean[0, 0] == pytest.approx(0.3, abs=1e-3)


def test_a_site_counts_ten_times_the_middle_one_at_most():
    told = weighted_median([held(0.2, n=10), held(0.3, n=10), held(0.9, n=10_000)])
    assert told.count.tolist() == [10 + 10 + CAP * 10, 0]


def test_one_of_three_that_inflates_its_count_does_not_decide():
    told = weighted_median([held(0.2), held(0.3), held(0.9, n=10_000)])
    assert told.mean[0, 0] == pytest.approx(0.3, abs=2e-3)


def test_one_of_ten_that_inflates_its_count_does_not_decide():
    honest = [held(x, n=10) for x in np.linspace(0.2, 0.28, 9)]
    told = weighted_median([*honest, held(0.9, n=10_000)])
    # It weighs 30 of 120: half is reached in the sixth honest site, at .25.
    assert told.mean[0, 0] == pytest.approx(0.25, abs=2e-3)


@given(st.floats(-0.9, 0.9), st.lists(st.floats(0.1, 0.4), min_size=2, max_size=5))
def test_one_site_of_no_more_images_leaves_the_mean_among_the_honest(bad, honest):
    told = weighted_median([held(bad), *map(held, honest)])
    assert min(honest) - 2e-3 <= told.mean[0, 0] <= max(honest) + 2e-3


def group(*rs):
    return agree([held(x).to_bytes(KIT) for x in rs]).to_bytes()


def test_a_bad_group_of_three_does_not_move_the_means():
    groups = [group(0.2, 0.21, 0.22), group(0.2, 0.2, 0.9), group(0.23, 0.24, 0.22)]
    told = agree_groups(groups, "abc", gamma=2.0)
    assert told.profile.mean[0, 0] == pytest.approx(0.23, abs=2e-3)
    assert (told.sites, told.expected, told.gamma) == (9, 9, 2.0)
    assert told.holders.tolist() == [9, 0]
    again = Agreement.from_bytes(told.to_bytes())
    assert (again.rule, again.profile) == ("median of groups", told.profile)


def test_what_is_no_median_of_groups_is_refused():
    one, two, three = group(0.2, 0.3, 0.4), group(0.3, 0.3, 0.4), group(0.4, 0.3, 0.4)
    with pytest.raises(RefusedError, match="at least 3 groups that are not the same, got 2"):
        agree_groups([one, two], "ab")
    with pytest.raises(RefusedError, match="groups that are not the same, got 3"):
        agree_groups([one, two, two], "abc")
    median = agree_groups([one, two, three], "abc").to_bytes()
    with pytest.raises(RefusedError, match="c is a median of groups already"):
        agree_groups([one, two, median], "abc")
