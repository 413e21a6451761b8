"""Restored states: every number lies in the range that its component declares, or nothing is restored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.base.errors import DefinitionError, InputError
from worldloom.core.state import snapshot


def ascending(values: np.ndarray) -> dict[str, np.ndarray]:
    return {"ascending numbers": (np.diff(values, axis=1) >= 0).all(axis=1)}


class Shelf(wl.Entity):
    slot: wl.Between(int, 0, 5) = 2
    weights: wl.Between(wl.Persistent(wl.Array(float, 20)), -1.0, 1.0)
    narrow: wl.Between(wl.uint16, 3, 60_000) = 7
    order: wl.Checked(wl.Array(int, 20), ascending)
    open: bool
    flags: wl.Array(bool, 3)
    beside: wl.Ref[Shelf]
    reward: wl.Reward


class Mouse(wl.Entity):
    seen: wl.Between(int, 0, 9)
    home: wl.Ref[Shelf]
    friend: wl.Ref[Mouse]


class Store(wl.World):
    pull: wl.Config = 0.5
    level: wl.Between(wl.Persistent(int), -2, 3)


@wl.system
def visit(shelf: Shelf, world: Store):
    if world.step % 2 == 0:
        world.spawn(Mouse, home=shelf.ref)
    shelf.beside = shelf.ref


DEFINITION = wl.Definition(
    "Store-validity",
    Store,
    {Shelf: 2, Mouse: wl.UpTo(6, overflow="drop")},
    step=(visit,),
    max_steps=50,
    limits={"pull": (0.0, 1.0)},
)


@pytest.fixture(scope="module")
def sim() -> wl.Simulation:
    made = wl.Simulation(DEFINITION, 4, "python", seed=0)
    made.step()
    return made


WRONG = [
    ("Shelf.slot", (3, 1), 6, "Shelf.slot of world 3 holds 6, and it must be between 0 and 5"),
    ("Shelf.slot", (0, 0), -1, "Shelf.slot of world 0 holds -1, and it must be between 0 and 5"),
    ("Shelf.weights", (1, 0, 19), 1.5, r"Shelf.weights of world 1 holds 1.5, and it must be between -1.0 and 1.0"),
    ("Shelf.weights", (1, 0, 19), float("nan"), "Shelf.weights of world 1 holds nan"),
    ("Shelf.narrow", (2, 0), 60_001, "Shelf.narrow of world 2 holds 60,001, and it must be between 3 and 60,000"),
    ("Shelf.order", (2, 0, 0), 9, "Shelf.order of world 2 must have ascending numbers"),
    ("Shelf.beside", (2, 0), 2, "Shelf.beside of world 2 holds 2, and it must be between -1 and 1"),
    ("Shelf.beside", (2, 0), -2, "Shelf.beside of world 2 holds -2"),
    ("Mouse.seen", (1, 0), 10, "Mouse.seen of world 1 holds 10, and it must be between 0 and 9"),
    ("Mouse.home", (1, 0), 2, "Mouse.home of world 1 holds 2, and it must be between -1 and 1"),
    ("Mouse.friend", (1, 0), -2, "Mouse.friend of world 1 holds -2"),
    ("World.Mouse__count", (1,), 7, "Mouse__count of world 1 holds 7, and it must be between 0 and 6"),
    ("World.Mouse__count", (1,), -1, "Mouse__count of world 1 holds -1"),
    ("World.Mouse__dropped", (1,), -1, "Mouse__dropped of world 1 holds -1"),
    ("World.level", (1,), 4, "World.level of world 1 holds 4, and it must be between -2 and 3"),
    ("World.step", (1,), -1, "World.step of world 1 holds -1"),
    ("World.episode", (1,), -2, "World.episode of world 1 holds -2"),
    ("World.pull", (0,), 1.5, r"the configuration World.pull holds 1.5, and it must be between 0.0 and 1.0"),
]


@pytest.mark.parametrize(("name", "place", "value", "message"), WRONG)
@pytest.mark.parametrize("worlds", [None, [3, 2, 1, 0]], ids=["all", "some"])
def test_a_number_out_of_its_range_is_refused_and_nothing_written(
    sim: wl.Simulation, name: str, place: tuple, value: float, message: str, worlds
) -> None:
    kept = sim.snapshot()
    changed = kept.tensors[name].clone()
    changed[place] = value
    sim.step()
    before = sim.snapshot()
    with pytest.raises(
        InputError, match=rf"^the saved state cannot be restored, since .*{message}.*: use another file$"
    ):
        sim.restore(replace(kept, tensors={**kept.tensors, name: changed}), worlds)
    after = sim.snapshot()
    assert all(
        torch.equal(after.tensors[column].view(torch.uint8), tensor.view(torch.uint8))
        for column, tensor in before.tensors.items()
    )
    sim.restore(kept, worlds)


@pytest.mark.parametrize(
    ("name", "place"),
    [("Shelf.open", (2, 1)), ("Shelf.flags", (2, 1, 2)), ("World.terminated", (2,)), ("World.broken", (2, 0))],
)
def test_bytes_of_truth_values_are_0_or_1(sim: wl.Simulation, name: str, place: tuple) -> None:
    kept = sim.snapshot()
    changed = kept.tensors[name].clone()
    changed.view(torch.uint8)[place] = 7
    with pytest.raises(InputError, match=f"{name} of world 2 holds 7, and it must be a truth value, 0 or 1"):
        sim.restore(replace(kept, tensors={**kept.tensors, name: changed}))


def test_rows_without_an_entity_are_not_looked_at(sim: wl.Simulation) -> None:
    kept = sim.snapshot()
    changed = kept.tensors["Mouse.seen"].clone()
    changed[:, 5] = 99
    sim.restore(replace(kept, tensors={**kept.tensors, "Mouse.seen": changed}))


def test_the_refusal_names_the_file(sim: wl.Simulation, tmp_path: Path) -> None:
    kept = sim.snapshot()
    changed = kept.tensors["Shelf.slot"].clone()
    changed[0, 0] = 77
    path = tmp_path / "store.safetensors"
    replace(kept, tensors={**kept.tensors, "Shelf.slot": changed}).save(path)
    with pytest.raises(
        InputError, match=r"store\.safetensors cannot be restored, since Shelf.slot of world 0 holds 77"
    ):
        sim.restore(wl.Snapshot.load(path))
    with pytest.raises(
        InputError, match=r"^the saved state cannot be restored, since Shelf.slot of world 0 holds 77"
    ):  # as learners restore worlds
        snapshot.restore(sim, {**kept.tensors, "Shelf.slot": changed})


def test_ranges_do_not_change_what_a_world_is() -> None:
    class Plain(wl.Entity):
        slot: int

    class Ranged(wl.Entity):
        slot: wl.Between(int, 0, 5)

    Plain.__name__ = Ranged.__name__ = "Box"
    hashes = {wl.Definition("Same", wl.World, {kind: 1}).hash for kind in (Plain, Ranged)}
    assert len(hashes) == 1


def test_declarations_that_make_no_sense_are_refused() -> None:
    for low, high in ((5, 0), (float("nan"), 1), ("a", "b"), (False, True)):
        with pytest.raises(DefinitionError, match="Between takes two numbers, the lower one first"):
            wl.Between(int, low, high)
    with pytest.raises(DefinitionError, match="Checked takes a function"):
        wl.Checked(int, 5)
    with pytest.raises(DefinitionError, match="component 'slot' must be between 1 and 5, but its default is 0"):

        class Wrong(wl.Entity):
            slot: wl.Between(int, 1, 5)


def test_a_snapshot_of_this_process_is_checked_only_where_it_was_changed(
    sim: wl.Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worldloom.core.state import snapshot

    checked: list[str] = []
    monkeypatch.setattr(snapshot, "check_values", lambda *given: checked.append(given[3]))
    saved = sim.snapshot()
    sim.restore(saved)
    assert not checked
    next(iter(saved.tensors.values())).add_(0)
    sim.restore(saved)
    assert len(checked) == 1


def test_configurations_are_held_to_what_set_config_takes(tmp_path: Path) -> None:
    sim = wl.Simulation("CartPole-v1", 2, "cpu")
    saved = sim.snapshot()
    saved.tensors["World.force"].fill_(float("nan"))
    with pytest.raises(wl.InputError, match="'force' is a finite float32"):
        sim.restore(saved)
