"""Digests of worlds: every change shows, in its own world, and the same on every device."""

from __future__ import annotations

import numpy as np
import torch

import worldloom as wl
from worldloom.core.model.fields import Role
from worldloom.core.state.world_digest import WorldDigest


def test_a_change_of_any_number_shows_in_its_world_alone(crowd: wl.Definition) -> None:
    simulation = wl.Simulation(crowd, 4, "python", seed=1)
    digest = WorldDigest(simulation, slice(None))
    before = digest()
    assert before.dtype == torch.int32
    assert len(set(before.tolist())) == 4
    changed = 0
    for column in digest.columns:
        values = column.numpy()[2]
        for place in np.ndindex(values.shape):
            kept = values[place].copy()
            column.numpy()[(2, *place)] = (
                ~kept
                if values.dtype == bool
                else np.nextafter(kept, np.float32(9))
                if values.dtype.kind == "f"
                else kept + 1
            )
            differs = digest() != before
            assert differs.tolist() == [False, False, True, False], (column.name, place)
            column.numpy()[(2, *place)] = kept
            changed += 1
    assert changed > 80
    assert torch.equal(digest(), before)


def test_actions_configuration_and_the_last_end_do_not_count(crowd: wl.Definition) -> None:
    simulation = wl.Simulation(crowd, 2, "python", seed=1)
    names = {column.name for column in WorldDigest(simulation, slice(None)).columns}
    left_out = {c.name for t in simulation.tables.values() for c in t} - names
    assert left_out == {c for role in (Role.ACTION, Role.CONFIG) for c in simulation.columns(role)} | {
        "Walker.final_sight",
        "World.seed__high",  # replays hold it in their snapshots
    }


def test_every_nan_is_the_same_and_so_is_every_device(crowd: wl.Definition) -> None:
    digests = []
    for device, nan in (("python", 0x7FC00000), ("cpu", 0xFFC00123)):
        simulation = wl.Simulation(crowd, 3, device, seed=1)
        simulation["Lamp"].warmth.numpy().view(np.uint32)[1, 0] = nan
        digests.append(WorldDigest(simulation, torch.tensor([2, 1]))())
    assert torch.equal(*digests)
    assert len(digests[0]) == 2
