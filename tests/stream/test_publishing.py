"""What is told of a changing collection parts no few images, however the tellings are combined."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Profile, RefusedError, ScopeError, Scores
from scopefl.core import attacks
from scopefl.core.release import Release
from scopefl.core.terms import Terms
from scopefl.stream.publishing import Leaving, message, next_publication

N_CLASSES = 2


@dataclass
class Image:
    label: int
    rs: float
    held: bool = True
    told_since: int | None = None
    still_told: bool = False
    history: list[bool] = field(default_factory=list)


def profile_of(images):
    rs = np.array([image.rs for image in images])
    labels = np.array([image.label for image in images], np.int64)
    return Profile.of(Scores(rs, np.sqrt(1 - rs**2), rs / 2), labels, N_CLASSES)


class Site:
    """Keeps the books that a site must keep to publish, image by image."""

    def __init__(self, least):
        self.least, self.images, self.told = least, [], []

    def add(self, label, n, seed=None):
        rng = np.random.default_rng(len(self.images) if seed is None else seed)
        self.images += [Image(label, rs) for rs in rng.uniform(0.1, 0.4, n)]

    def forget(self, chosen):
        held = [image for image in self.images if image.held]
        for place in sorted({place % len(held) for place in chosen} if held else ()):
            held[place].held = False

    def publish(self):
        held = [image for image in self.images if image.held]
        untold = [image for image in held if not image.still_told]
        came = np.bincount([image.label for image in untold], minlength=N_CLASSES)
        groups = Counter((i.label, i.told_since) for i in self.images if i.still_told)
        left = Counter((i.label, i.told_since) for i in held if i.still_told)
        leaving = [
            Leaving(label, n - left[label, since], left[label, since])
            for (label, since), n in groups.items()
            if n > left[label, since]
        ]
        before = self.told[-1] if self.told else None
        now = next_publication(before, profile_of(held), came, leaving, self.least)
        for image in self.images:
            if now.renewed[image.label]:
                if image.held and not image.still_told:
                    image.told_since = len(self.told)
                image.still_told = image.held
            image.history.append(image.still_told)
        self.told.append(now.profile)
        return now

    def histories(self):
        """Count the images of each class that were told in exactly the same publications."""
        length = len(self.told)
        padded = [
            (i.label, *[False] * (length - len(i.history)), *i.history)
            for i in self.images
            if any(i.history)
        ]
        return Counter(padded)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, N_CLASSES - 1), st.integers(1, 9)),
        st.tuples(st.just("forget"), st.lists(st.integers(0, 60), min_size=1, max_size=12)),
        st.tuples(st.just("publish")),
    ),
    max_size=25,
)


def walked(steps, least):
    site = Site(least)
    for name, *arguments in steps:
        getattr(site, name)(*arguments)
    site.publish()
    return site


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_images_are_told_and_taken_back_in_groups_of_at_least_five(steps):
    site = walked(steps, 5)
    assert all(n >= 5 for n in site.histories().values())


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_every_class_is_told_as_it_is_or_as_it_was(steps):
    site = walked(steps, 5)
    told = profile_of([image for image in site.images if image.still_told])
    assert site.told[-1] == told


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_telling_everything_at_once_is_the_collection_as_it_is(steps):
    site = walked(steps, 1)
    assert site.told[-1] == profile_of([image for image in site.images if image.held])


def stream(least, removals):
    """Grow a class image by image, publish after each; at last let some images leave."""
    site = Site(least)
    site.add(0, 6)
    site.publish()
    for _ in range(9):
        site.add(0, 1)
        site.publish()
    for place in removals:
        site.forget([place])
        site.publish()
    return site


@pytest.mark.parametrize("removals", [[], [0], [0, 0, 0]])
def test_the_differencing_attack_succeeds_on_naive_publication_and_fails_on_ours(removals):
    def recovered(site):
        found = [float(rs) for one in attacks.between(site.told) for rs in one.rs]
        return [i for i in site.images if np.isclose(found, i.rs, rtol=0, atol=1e-5).any()]

    naive, ours = stream(1, removals), stream(5, removals)
    assert len(recovered(naive)) >= 9 + len(removals)
    assert recovered(ours) == []
    assert ours.told[-1].count[0] == 11


def test_two_steps_that_are_each_large_enough_may_part_few_images_together():
    # Five come; then four of them leave and one more comes: five changes, but two apart from before
    # the first step. Looking at the last step alone would let it pass.
    site = Site(5)
    site.add(0, 20)
    site.publish()
    site.add(0, 5)
    assert site.publish().renewed[0]
    site.forget([20, 21, 22, 23])
    site.add(0, 1)
    assert not site.publish().renewed[0]
    assert attacks.between(site.told) == []


def test_an_image_that_came_and_went_between_two_publications_helps_no_other_through():
    site = Site(5)
    site.add(0, 20)
    site.publish()
    site.add(0, 5)
    site.forget(range(21, 25))
    assert not site.publish().renewed[0]


def test_a_group_may_leave_as_a_whole():
    site = Site(5)
    site.add(0, 7)
    site.publish()
    site.forget(range(7))
    assert site.publish().renewed[0]
    assert site.told[-1] == Profile.empty(N_CLASSES)


def test_classes_do_not_wait_for_each_other():
    site = Site(5)
    site.add(0, 3)
    site.add(1, 8)
    assert site.publish().renewed.tolist() == [False, True]
    assert site.told[-1].count.tolist() == [0, 8]


def test_books_that_do_not_explain_the_change_are_refused():
    with pytest.raises(ScopeError, match="class 1 was told with 0 images, holds 6, and 5 are acc"):
        next_publication(None, profile_of([Image(1, 0.2)] * 6), np.array([0, 5]))
    with pytest.raises(ScopeError, match="least must be at least 1 image, got 0"):
        next_publication(None, Profile.empty(2), np.zeros(2, int), least=0)


def test_the_message_is_of_the_sites_mode_and_no_weaker_one():
    told = profile_of([Image(0, 0.2)] * 4 + [Image(1, 0.3)] * 6)
    read = Release.from_bytes(message(told, fingerprint=b"kit"))
    assert (read.terms.mode, read.fingerprint, read.profile) == ("open", b"kit", told)
    held = Release.from_bytes(message(told, Terms.of("min-cell"), b"kit"))
    assert (held.terms.mode, held.rows[0].tolist()) == ("min-cell", [0, 6])


@pytest.mark.parametrize("mode", ["secure-sum", "secure-sum+dp", "local-dp"])
def test_modes_that_share_in_called_rounds_only_are_not_published(mode):
    with pytest.raises(RefusedError, match=r"answer a call with scope profile --call"):
        message(Profile.empty(2), Terms.of(mode))
