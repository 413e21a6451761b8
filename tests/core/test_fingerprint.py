"""Fingerprints of definitions: what changes them, and what does not."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.registry import registry, world_files
from worldloom.core.registry.fingerprint import fingerprint
from worldloom.envs import MODULES

TEXT = '''
import worldloom as wl

SPEED = 2.5
TURNS = wl.vec2(1.0, 0.5)


class Limits:
    top = 3


limits = Limits()


class Ball(wl.Entity):
    """Falls."""

    height: float = 1.0
    push: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2, low=-1.0)
    reward: wl.Reward


class Room(wl.World):
    wind: wl.Config = 0.5


@wl.function
def half(x: float) -> float:
    return 0.5 * x


@wl.function
def quarter(x: float) -> float:
    return half(half(x))


@wl.system
def fall(ball: Ball, world: Room):
    """It goes down."""
    ball.height -= quarter(SPEED) * world.wind + TURNS.x
    if ball.height > float(limits.top):
        ball.height = 0.0


@wl.system
def look(ball: Ball):
    ball.sight = wl.vec2(ball.height, 0.0)


def note(simulation):
    pass


wl.register("Ball-v0", world=Room, entities={Ball: 2}, step=[fall, note], observe=[look], max_steps=9)
'''
CHANGES = {
    "a constant": ("SPEED = 2.5", "SPEED = 2.6"),
    "a vector": ("wl.vec2(1.0, 0.5)", "wl.vec2(1.0, 0.6)"),
    "an attribute": ("top = 3", "top = 4"),
    "a helper": ("0.5 * x", "0.25 * x"),
    "a system": ("ball.height = 0.0", "ball.height = 0.1"),
    "a default": ("height: float = 1.0", "height: float = 1.5"),
    "a type": ("height: float = 1.0", "height: wl.Finite(float) = 1.0"),
    "a space": ("wl.Discrete(2)", "wl.Discrete(3)"),
    "a configuration": ("wind: wl.Config = 0.5", "wind: wl.Config = 0.6"),
    "a count": ("{Ball: 2}", "{Ball: 3}"),
    "the order": ("step=[fall, note]", "step=[note, fall]"),
    "the schedule": ("observe=[look]", "observe=[look, look]"),
    "the limit": ("max_steps=9", "max_steps=8"),
    "the id": ("Ball-v0", "Ball-v1"),
    "a callable": ("    pass\n", "    return None\n"),
}
SAME = {
    "comments": ("SPEED = 2.5\n", "# fast\nSPEED = 2.5  # m/s\n\n"),
    "docstrings": ('"""It goes down."""', '"""Down it goes."""'),
    "layout": ("quarter(SPEED) * world.wind", "(quarter(SPEED)\n        * world.wind)"),
    "bounds": ("low=-1.0", "low=-2.0"),
    "a print": ("    if ball.height > float", "    print(ball.height)\n    if ball.height > float"),
    "a breakpoint": (
        "        ball.height = 0.0\n",
        "        ball.height = 0.0\n        if world.step == 3:\n            breakpoint()\n",
    ),
    "other things": ("SPEED = 2.5\n", "SPEED = 2.5\nUNUSED = 3\n"),
}


@pytest.fixture(autouse=True)
def worlds_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds that a test registers are gone after it."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def hash_of(text: str, folder: Path) -> str:
    file = folder / f"world_{abs(hash(text))}.py"
    file.write_text(text)
    registry._REGISTRY.pop("Ball-v0", None)
    return world_files.find(str(file)).hash


@pytest.mark.parametrize("what", CHANGES)
def test_what_decides_a_world_changes_its_hash(what: str, tmp_path: Path) -> None:
    old, new = CHANGES[what]
    assert old in TEXT
    assert hash_of(TEXT.replace(old, new), tmp_path) != hash_of(TEXT, tmp_path)


@pytest.mark.parametrize("what", SAME)
def test_what_decides_nothing_does_not(what: str, tmp_path: Path) -> None:
    old, new = SAME[what]
    assert old in TEXT
    assert hash_of(TEXT.replace(old, new), tmp_path) == hash_of(TEXT, tmp_path)


def test_every_process_finds_the_same() -> None:
    ids = ["CartPole-v1", "FrozenLake-v1", "Taxi-v3"]
    code = f"import worldloom as wl; print(*[wl.definition(i).hash for i in {ids}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [wl.definition(i).hash for i in ids]


def test_all_worlds_differ() -> None:
    versions = ["CartPole-v0", "CartPole-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v3", "Taxi-v4"]
    hashes = [wl.definition(id).hash for id in {*versions, *sample(MODULES, 6)}]
    assert len(set(hashes)) == len(hashes)
    assert all(len(found) == 64 for found in hashes)


def test_the_renderer_and_the_text_do_not_count(race: wl.Definition) -> None:
    assert replace(race, doc="a race", render=lambda simulation, world: None, frames_per_second=5).hash == race.hash


class Colour(enum.Enum):
    RED = 1


class Lamp(wl.Entity):
    colour: int


@wl.system
def switch(lamp: Lamp):
    lamp.colour = Colour.RED.value


def test_members_of_enumerations_count(monkeypatch: pytest.MonkeyPatch) -> None:
    made = wl.Definition("Lamp-test", wl.World, {Lamp: 1}, step=(switch,))
    before = fingerprint(made)
    monkeypatch.setattr(Colour.RED, "_value_", 2)
    assert fingerprint(made) != before


def test_the_second_kind_of_a_pair_counts() -> None:
    class One(wl.Entity):
        x: float

    class Two(wl.Entity):
        x: float

    class Three(wl.Entity):
        x: float

    def made(partner: type[wl.Entity]) -> str:
        space = {"wl": wl, "One": One, "Partner": partner}
        source = Path(__file__).with_name("pair_of_kinds.py")
        exec(compile(source.read_text(), str(source), "exec"), space)
        return wl.Definition("Pair-print", wl.World, {One: 1, Two: 1, Three: 1}, step=(space["meet"],)).hash

    assert made(Two) == made(Two) != made(Three)
