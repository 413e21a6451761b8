"""Snapshots and replays of earlier versions of a world, whose fingerprints a definition lists."""

from __future__ import annotations

from dataclasses import replace

import pytest

import worldloom as wl


class Ball(wl.Entity):
    height: float


class Room(wl.World):
    pass


@wl.system
def rise(ball: Ball):
    ball.height += 1.0


@wl.system
def rise_twice_half(ball: Ball):
    ball.height += 0.5 + 0.5


BEFORE = wl.Definition("Rise-test", Room, {Ball: 2}, step=(rise,))
AFTER = wl.Definition("Rise-test", Room, {Ball: 2}, step=(rise_twice_half,), former_hashes=(BEFORE.hash,))


def test_a_snapshot_of_a_former_version_is_restored():
    old = wl.Simulation(BEFORE, 1, "python")
    old.step()
    for definition, opens in ((AFTER, True), (replace(AFTER, former_hashes=()), False)):
        new = wl.Simulation(definition, 1, "python")
        if opens:
            new.restore(old.snapshot())
            assert new["Ball"].height.numpy().tolist() == [[1.0, 1.0]]
        else:
            with pytest.raises(wl.InputError, match="have changed since"):
                new.restore(old.snapshot())


def test_former_versions_hold_for_the_same_numbers_of_entities_only():
    assert AFTER.with_counts({Ball: 2}).accepts_hash(BEFORE.hash)
    assert not AFTER.with_counts({Ball: 3}).accepts_hash(BEFORE.hash)
    assert AFTER.hash != BEFORE.hash and replace(AFTER, former_hashes=()) == AFTER


@pytest.mark.parametrize("id", ["TagGrid-v0", "TagGridTraining-v0", "TagContinuous-v0", "TagContinuousDemo-v0"])
def test_bundled_worlds_know_their_former_fingerprints(id: str):
    definition = wl.definition(id)
    assert len(definition.former_hashes) == 1 and definition.hash not in definition.former_hashes
