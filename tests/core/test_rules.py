"""The rules of a world part by part: which edits change them, and how the difference is called."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.core.registry.rules import differences, joined

HELPERS = """
FEE = 7.0


def fee(number):
    return number


def given():
    return fee(1)


def taxed(rate, simulation):
    return rate
"""
TEXT = (
    f"""{HELPERS}# the world
"""
    + '''
import contextlib
import dataclasses
import functools

import tools
import worldloom as wl
from tools import given, taxed

REWARD, LIMIT = 1.0, 3.0
BONUS, TITLE = 0.5, "two\\nlines"
calls, count = [], 0
scale, TABLE = 2.0, {"a": 0.25, "b": [1, 2]}
TABLE["c"] = 0.125
CALLS, STATS = [], {"resets": 0}


class Ball(wl.Entity):
    height: float = 0.0
    push: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2, low=-1.0)
    reward: wl.Reward


class Room(wl.World):
    wind: wl.Config = 0.5


@wl.function
def half(x: float) -> float:
    return 0.5 * x


@wl.function
def gust(world: Room, x: float) -> float:
    return x + world.wind


@wl.system
def drift(ball: Ball, world: Room):
    """The wind blows."""
    ball.height += half(float(ball.push))
    ball.height = gust(world, ball.height)


@wl.system
def score(ball: Ball):
    ball.reward += REWARD
    if ball.height > LIMIT:
        ball.height = 0.0


@wl.system
def look(ball: Ball):
    ball.sight = wl.vec2(ball.height, 0.0)


def bonus():
    return BONUS


def note(simulation):
    calls.append(TITLE)
    CALLS.append(TITLE)
    STATS["resets"] += 1
    bonus()


def paying(price, tax=0.5):
    def pay(simulation, share=0.25):
        global count
        count += 1
        return price * tax * share * scale * TABLE["a"] * tools.FEE * tools.fee(count) * given() * len(__file__)

    return pay


@functools.lru_cache
def cached():
    return 11.0


@contextlib.contextmanager
def opened():
    yield 12.0


@functools.singledispatch
def sized(value):
    return 13.0


@sized.register
def sized_whole(value: int):
    return 14.0


@dataclasses.dataclass(frozen=True)
class Prices:
    low: float = 15.0


class Judge:
    strict = 16.0

    def judge(self, simulation):
        return self.mark()

    def mark(self):
        return 17.0


class Referee:
    def whistle(self, simulation):
        return self.loudness()

    def loudness(self):
        return 18.0


prices, JUDGE = Prices(), Judge()
CHOICES = {"first": lambda: 19.0, "rest": [bonus]}


def judged(simulation):
    with opened() as fee:
        return fee * cached() * sized(2) * prices.low * JUDGE.judge(simulation) * CHOICES["first"]()


wl.register(
    "Rules-v0",
    world=Room,
    entities={Ball: 2},
    step=[drift, score, note],
    observe=[look],
    reset=[paying(3.0), functools.partial(taxed, 0.75), lambda simulation: TITLE, judged, Referee().whistle],
    max_steps=9,
)
'''
)
NAMED = {
    "a constant": ("REWARD, LIMIT = 1.0, 3.0", "REWARD, LIMIT = 5.0, 3.0", "the constant `REWARD` (1.0, now 5.0)"),
    "its type": ("REWARD, LIMIT = 1.0", "REWARD, LIMIT = 1", "the constant `REWARD` (1.0, now 1)"),
    "a system": ("ball.height = 0.0", "ball.height = 0.1", "the system `score`"),
    "a function": ("0.5 * x", "0.25 * x", "the function `half`"),
    "a function of entities": ("x + world.wind", "x - world.wind", "the system `drift`"),
    "a component": ("height: float = 0.0", "height: float = 1.0", "the component `Ball.height`"),
    "a configuration": ("wl.Config = 0.5", "wl.Config = 0.6", "the component `World.wind`"),
    "a number": ("{Ball: 2}", "{Ball: 3}", "the number of `Ball` (2, now 3)"),
    "the limit": ("max_steps=9", "max_steps=8", "`max_steps` (9, now 8)"),
    "the order": ("[drift, score, note]", "[score, drift, note]", "the order of `step`"),
    "a system less": ("[drift, score, note]", "[drift, note]", "the system `score` (removed)"),
    "a phase": ("[drift, score, note],\n    observe=[look]", "[drift, score, note, look]", "the order of `step`"),
    "a callable": ("    bonus()", "    return None", "the callable `note`"),
    "what a callable calls": ("return BONUS", "return 2 * BONUS", "the callable `bonus`"),
    "a value of a callable": ("BONUS, TITLE = 0.5", "BONUS, TITLE = 0.7", "the constant `BONUS` (0.5, now 0.7)"),
    "a value in lower case": ("scale, TABLE = 2.0", "scale, TABLE = 2.5", "the constant `scale` (2.0, now 2.5)"),
    "a value in a table": ('"a": 0.25', '"a": 0.75', "the constant `TABLE`"),
    "an entry of a table": ('["c"] = 0.125', '["c"] = 0.5', "the constant `TABLE`"),
    "a closure": ("paying(3.0)", "paying(4.0)", "the constant `price` (3.0, now 4.0)"),
    "a default argument": ("share=0.25", "share=0.5", "the callable `paying.<locals>.pay`"),
    "a bound argument": ("taxed, 0.75", "taxed, 0.5", "the callable `taxed`"),
    "a lambda": ("lambda simulation: TITLE", "lambda simulation: BONUS", "the callable `<lambda>`"),
    "a constant of another file": ("FEE = 7.0", "FEE = 8.0", "the constant `tools.FEE` (7.0, now 8.0)"),
    "a function of another file": ("    return number", "    return -number", "the callable `fee`"),
    "a function that one of another file calls": ("return fee(1)", "return fee(2)", "the callable `given`"),
    "a cached function": ("return 11.0", "return 11.5", "the callable `cached`"),
    "a context manager": ("yield 12.0", "yield 12.5", "the callable `opened`"),
    "a function with variants": ("return 13.0", "return 13.5", "the callable `sized`"),
    "a variant": ("return 14.0", "return 14.5", "the callable `sized_whole`"),
    "a frozen object": ("= 15.0", "= 15.5", "the callable `Prices`"),
    "an attribute of a class": ("strict = 16.0", "strict = 16.5", "the callable `Judge`"),
    "a method that a method calls": ("return 17.0", "return 17.5", "the callable `Judge`"),
    "a method that a bound one calls": ("return 18.0", "return 18.5", "the callable `Referee`"),
    "a function in a table": ("lambda: 19.0", "lambda: 19.5", "the callable `<lambda> (2)`"),
    "a callable of another file": ("    return rate", "    return 2 * rate", "the callable `taxed`"),
}
SAME = {
    "comments": ("REWARD, LIMIT = 1.0, 3.0\n", "# rewards\nREWARD, LIMIT = 1.0, 3.0  # per step\n\n"),
    "comments of callables": ("    bonus()", "    # nothing\n    bonus()"),
    "docstrings": ('"""The wind blows."""', '"""A wind."""'),
    "layout": ("half(float(ball.push))", "(half(\n        float(ball.push)\n    ))"),
    "bounds": ("low=-1.0", "low=-2.0"),
    "a print": (
        "    ball.height = gust(world, ball.height)",
        "    print(ball.height, world.wind)\n    ball.height = gust(world, ball.height)",
    ),
    "a breakpoint": (
        "    ball.height = gust(world, ball.height)",
        "    if ball.height > 1.0:\n        breakpoint()\n    ball.height = gust(world, ball.height)",
    ),
    "other things": ("calls, count = [], 0\n", "calls, count = [1], 1\nUNUSED = 3\n"),
    "tables that the program changes": ('= [], {"resets": 0}', '= [1], {"resets": 1}'),
    "comments beside a lambda": ("Referee().whistle],", "Referee().whistle],  # the title"),
    "annotations of a callable": ("def note(simulation)", "def note(simulation: wl.Simulation) -> None"),
    "comments of another file": ("FEE = 7.0", "# the fee\nFEE = 7.0"),
}


@pytest.fixture(autouse=True)
def worlds_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds that a test registers are gone after it."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def rules_of(text: str, folder: Path) -> dict[str, str]:
    helpers, text = text.split("# the world\n")
    sys.modules.pop("tools", None)
    folder = folder / f"world_{abs(hash((helpers, text)))}"
    folder.mkdir()
    (folder / "tools.py").write_text(helpers)
    file = folder / "world.py"
    file.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return executed(file)


def executed(file: Path) -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("rules_world", file)
    assert spec is not None and spec.loader is not None
    registry._REGISTRY.pop("Rules-v0", None)
    module = sys.modules["rules_world"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return wl.definition("Rules-v0").rules.parts


@pytest.mark.parametrize("what", NAMED)
def test_a_difference_is_named(what: str, tmp_path: Path) -> None:
    old, new, name = NAMED[what]
    assert old in TEXT
    before, after = rules_of(TEXT, tmp_path), rules_of(TEXT.replace(old, new), tmp_path)
    assert differences(before, after)[0] == name
    assert differences(after, before) and not differences(after, after)


@pytest.mark.parametrize("what", SAME)
def test_an_edit_without_an_effect_changes_no_rule(what: str, tmp_path: Path) -> None:
    old, new = SAME[what]
    assert old in TEXT
    assert rules_of(TEXT.replace(old, new), tmp_path) == rules_of(TEXT, tmp_path)


def test_another_system_is_named_without_what_follows_from_it(tmp_path: Path) -> None:
    text = TEXT.replace("def note", "@wl.system\ndef fall(ball: Ball):\n    ball.height -= BONUS\n\n\ndef note")
    more = rules_of(text.replace("[drift, ", "[fall, drift, "), tmp_path)
    assert differences(rules_of(TEXT, tmp_path), more) == ["the system `fall` (new)"]


class Cat(wl.Entity):
    age: float


def test_systems_of_one_name_have_numbers() -> None:
    def ageing(years: float) -> wl.System:
        @wl.system
        def grow(cat: Cat) -> None:
            cat.age += years

        return grow

    def rules(*years: float) -> dict[str, str]:
        return wl.Definition("Cats", wl.World, {Cat: 1}, step=tuple(map(ageing, years))).rules.parts

    assert {"system grow", "system grow (2)"} <= set(rules(1.0, 2.0))
    assert differences(rules(1.0, 2.0), rules(1.0, 3.0)) == ["the constant `years` (2.0, now 3.0)"]
    assert differences(rules(1.0), rules(1.0, 1.0)) == ["the system `grow (2)` (new)"]


def test_the_content_of_a_launch_counts() -> None:
    class Scale(wl.Launch):
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def launch(self, prepared: object, shard: object) -> None:
            pass

        def digest(self) -> str:
            return str(np.float32(self.factor))

    def rules(factor: float) -> dict[str, str]:
        return wl.Definition("Scaled", wl.World, {}, step=(Scale(factor),)).rules.parts

    assert differences(rules(1.0), rules(2.0)) == ["the data, such as a model or a ROM, of the launch `Scale`"]
    assert differences(rules(2.0), rules(2.0)) == []


KERNELS = """
import warp as wp
import worldloom as wl

GROWTH = 2.0
SNIPPET = "return 1.0f;"


class Room(wl.World):
    size: float


@wp.func_native(SNIPPET)
def one() -> float: ...


@wp.func
def grown(size: float):
    return size * GROWTH + one()


@wp.kernel
def grow(sizes: wp.array(dtype=float)):
    sizes[wp.tid()] = grown(sizes[wp.tid()])


class Kernel(wl.Launch):
    reads = writes = {Room: ("size",)}

    def launch(self, prepared, shard):
        wp.launch(self.kernel, dim=shard.count, inputs=prepared)


class Grow(Kernel):
    kernel = grow

    def prepare(self, simulation):
        return [simulation.world.size.array]


wl.register("Rules-v0", world=Room, entities={}, step=[Grow()])
"""


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("* GROWTH", "/ GROWTH", "the callable `grown`"),
        ("= grown(", "= -grown(", "the callable `grow`"),
        ("return 1.0f", "return 2.0f", "the callable `one`"),
        ("dim=shard.count,", "dim=shard.count - 1,", "the callable `Kernel`"),
        ("GROWTH = 2.0", "GROWTH = 3.0", "the constant `GROWTH` (2.0, now 3.0)"),
        ("[simulation.world.size.array]", "[simulation.world.size.array + 1]", "the launch `Grow`"),
    ],
)
def test_kernels_of_a_launch_count(old: str, new: str, name: str, tmp_path: Path) -> None:
    assert old in KERNELS
    before, after, again = (
        rules_of(f"# the world\n{text}", tmp_path)
        for text in (KERNELS, KERNELS.replace(old, new), KERNELS.replace("\n\n\n", "\n\n\n# a note\n"))
    )
    assert differences(before, after)[0] == name
    assert differences(before, again) == []


def test_objects_with_attributes_that_are_computed_are_left_alone() -> None:
    class Costly:
        @property
        def price(self) -> float:
            raise AssertionError("read")

    costly = Costly()

    def pay(simulation: object) -> float:
        return costly.price

    assert wl.Definition("Costly", wl.World, {}, step=(pay,)).rules


def test_the_files_of_the_rules_are_known(tmp_path: Path) -> None:
    rules_of(TEXT, tmp_path)
    files = [Path(file).name for file in wl.definition("Rules-v0").rules.files]
    assert sorted(files) == ["tools.py", "world.py"]


def test_every_part_is_printable(tmp_path: Path) -> None:
    assert all(text.isprintable() for item in rules_of(TEXT, tmp_path).items() for text in item)


def test_options_of_alternatives_and_the_device_change_no_rule() -> None:
    ant = wl.definition("LocomotionAnt-v0")
    assert ant.for_cuda().rules == ant.rules


def test_a_long_list_is_cut_off() -> None:
    assert [joined(["a", "b", "c", "d", "e"][:n]) for n in (1, 2, 3, 5)] == [
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 2 more",
    ]
