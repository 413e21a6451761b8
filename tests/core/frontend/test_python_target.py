"""The interpreted target: targets are evaluated once, and literals and functions are resolved before the first run."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.python_target import PythonTarget
from worldloom.core.model.dtypes import canonical


class Player(wl.Entity):
    x: float
    place: wl.vec2
    friend: wl.Ref("Player")
    cards: wl.Array(int, 3)
    pick: int = 7


class Room(wl.World):
    total: int


@wl.system
def give(player: Player, world: Room):
    player.friend.get().x += 1.0


@wl.system
def give_vectors(player: Player, world: Room):
    player.friend.get().place += wl.vec2(1.0, 2.0)


@wl.system
def deal(player: Player, world: Room):
    for other in world.all(Player):
        if other.id != player.id:
            other.cards[player.pick] += 1


@wl.system
def at_once(player: Player, world: Room):
    world.at(Player, 5).cards[player.pick] += 1


@wl.system
def give_cards(player: Player, world: Room):
    player.friend.get().cards[player.pick] += 1


@wl.system
def most(player: Player, world: Room):
    player.friend.get().x = max(player.friend.get().x, 2.0)


@pytest.mark.parametrize(
    ("system", "many"),
    [(give, 2), (give_vectors, 2), (deal, 2), (at_once, 4), (give_cards, 4)],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_fault_in_a_place_that_is_added_to_is_listed_once(system: wl.System, many: int) -> None:
    """Two players with one wrong target each, or with two in the last cases: one fault per error, on both devices."""
    definition = wl.Definition(f"Once-{system.name}-test", Room, {Player: 2}, step=(system,))
    messages = []
    for device in ("python", "cpu"):
        sim = wl.Simulation(definition, 1, device, seed=0)
        sim.step()
        messages.append(sorted(str(fault) for fault in sim.errors()))
    assert len(messages[0]) == many
    assert messages[0] == messages[1]
    assert not any("wl_" in text for text in messages[0]), "a fault quotes the user's code"


def test_what_is_added_arrives() -> None:
    definition = wl.Definition("Arrives-test", Room, {Player: 2}, step=(give, give_vectors, most))
    for device in ("python", "cpu"):
        sim = wl.Simulation(definition, 1, device, seed=0)
        sim.tables["Player"]["friend"].assign(np.array([[1, 1]]))
        sim.step()
        assert sim.tables["Player"]["x"].numpy().tolist() == [[0.0, 2.0]]
        assert sim.tables["Player"]["place"].numpy().tolist() == [[[0.0, 0.0], [2.0, 4.0]]]
        assert sim.errors() == []


def test_numbers_types_and_functions_are_made_once() -> None:
    target = PythonTarget("here")
    one, again, other = (target.literal(value, canonical(float)) for value in (0.5, 0.5, 1.5))
    assert one.id == again.id != other.id and target.objects[one.id] == np.float32(0.5)
    vec3 = canonical(wl.vec3)
    target.function("dot", (vec3, vec3), [nodes.name("a"), nodes.name("b")])
    before = len(target.objects)
    target.function("dot", (vec3, vec3), [nodes.name("c"), nodes.name("d")])
    assert len(target.objects) == before
