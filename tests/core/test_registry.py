"""The registry: lookup of registered worlds, and validation of definitions."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.core.registry import registry


class Sheep(wl.Entity):
    wool: float
    walk: wl.Action(wl.Discrete(2))
    sight: wl.Observation(3)
    reward: wl.Reward


class Wolf(wl.Entity):
    hunger: float
    chase: wl.Action(wl.Box(-1.0, 1.0))


class Meadow(wl.World):
    weather: wl.Action(wl.Discrete(2))
    season: wl.Observation(1)


class HighMeadow(Meadow):
    snow: bool


class Desert(wl.World):
    pass


@wl.system
def graze(sheep: Sheep, world: Meadow):
    sheep.wool += 1.0


@wl.system
def hunt(wolf: Wolf, world: Meadow):
    for sheep in world.all(Sheep):
        wolf.hunger -= sheep.wool


@wl.system
def flee(sheep: Sheep):
    sheep.terminate()


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def register(**changes) -> wl.Definition:
    return wl.register(
        "Meadow-test", **{"world": Meadow, "entities": {Sheep: 3, Wolf: 1}, "step": [graze, hunt], **changes}
    )


def test_what_is_registered_is_found() -> None:
    made = register(max_steps=9, doc="Sheep and a wolf.")
    assert wl.definition("Meadow-test") is made and wl.registered()["Meadow-test"] is made
    assert made.step == (graze, hunt) and made.max_steps == 9 and made.doc == "Sheep and a wolf."
    assert list(wl.registered()) == sorted(wl.registered()) and "CartPole-v1" in wl.registered()


def test_the_modules_first_line_is_its_description() -> None:
    assert register().doc == (__doc__ or "").splitlines()[0]
    assert wl.definition("CartPole-v1").doc == "CartPole: keep the pole up by pushing the cart left or right."


def test_other_rules_under_a_taken_id_are_refused() -> None:
    first = register(max_steps=1)
    assert register(max_steps=1) is wl.definition("Meadow-test"), "the same rules may be registered again"
    for changes in ({"max_steps": 2}, {"max_steps": 1, "limits": {"max_steps": (0, 5)}}, {"step": [hunt]}):
        with pytest.raises(wl.DefinitionError) as caught:
            register(**changes)
        place = f"registered at {__file__}:{first.line}"
        assert caught.value.problem == f"in world 'Meadow-test': its id is taken by a world with other rules, {place}"
        assert "replace=True" in caught.value.fix and Path(caught.value.file) == Path(__file__)
    assert wl.definition("Meadow-test").max_steps == 1
    assert register(max_steps=2, replace=True) is wl.definition("Meadow-test")


def test_the_functions_of_a_launch_must_be_the_same() -> None:
    """As where the cell of a notebook with a kernel is run again after a change."""

    def launch(factor: float) -> wl.Launch:
        def scaled(size: float) -> float:
            return size * factor

        class Scale(wl.Launch):
            def launch(self, prepared: object, shard: wl.Shard) -> None:
                scaled(1.0)

        return Scale()

    register(step=[launch(2.0)])
    register(step=[launch(2.0)])
    with pytest.raises(wl.DefinitionError, match="its id is taken by a world with other rules"):
        register(step=[launch(3.0)])


def test_permission_to_replace_is_true_or_false() -> None:
    with pytest.raises(wl.InputError, match="replace is True or False, not 'no'"):
        register(replace="no")


def test_callables_must_be_the_same_objects() -> None:
    """Their hash does not cover the values that they refer to."""

    def pay(amount: int):
        return lambda simulation: amount

    bonus = pay(1)
    register(step=[graze, bonus])
    register(step=[graze, bonus])
    with pytest.raises(wl.DefinitionError, match="its id is taken"):
        register(step=[graze, pay(2)])


def test_a_module_may_be_imported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions are new objects with the same names and code."""
    file = tmp_path / "meadow_again.py"
    text = (
        "import worldloom as wl\n\n\nclass M(wl.World):\n    hay: int\n\n\n"
        "def note(simulation):\n    return 1\n\n\nwl.register('MeadowAgain-v0', world=M, entities={}, step=[note])\n"
    )
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    module = importlib.import_module("meadow_again")
    importlib.reload(module)
    file.write_text(text.replace("return 1", "return 20"))
    with pytest.raises(wl.DefinitionError, match="its id is taken"):
        importlib.reload(module)


@pytest.mark.parametrize("id_", ["NChain-v0", "CovidEconomySynthetic-v0", "Pong-v5", "Ant-v5", "CartPole-v1"])
def test_bundled_worlds_are_replaced_on_request_only(id_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"world": Desert, "entities": {Sheep: 1}}
    monkeypatch.delitem(registry._REGISTRY, "NChain-v0", raising=False)
    if id_ == "CartPole-v1":
        wl.definition(id_)
    with pytest.raises(wl.DefinitionError, match=rf"in world '{id_}': its id is taken by a (bundled )?world"):
        wl.register(id_, **parts)
    mine = wl.register(id_, **parts, replace=True)
    assert wl.definition(id_) is mine


def test_a_replacement_stays_when_the_bundled_module_is_imported() -> None:
    """CliffWalking-v1 and CliffWalkingSlippery-v1 are one module."""
    program = (
        "import worldloom as wl\n"
        "class Desert(wl.World): pass\nclass Stone(wl.Entity): weight: float\n"
        "mine = wl.register('CliffWalking-v1', world=Desert, entities={Stone: 1}, replace=True)\n"
        "assert wl.definition('CliffWalkingSlippery-v1').id == 'CliffWalkingSlippery-v1'\n"
        "assert wl.definition('CliffWalking-v1') is mine\n"
        "from worldloom.envs import frozen_lake\n"
        "frozen_lake.lake(id='Taxi-v3')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode and "in world 'Taxi-v3': its id is taken" in ended.stderr


def test_an_unknown_world_suggests_the_nearest() -> None:
    register()
    with pytest.raises(wl.InputError, match="there is no world 'Meadow-tst'; did you mean Meadow-test"):
        wl.definition("Meadow-tst")


def test_what_a_world_takes_and_gives() -> None:
    made = register()
    assert list(made.actions()) == ["World.weather", "Sheep.walk", "Wolf.chase"]
    assert list(made.observations()) == ["World.season", "Sheep.sight"]
    assert list(made.rewards()) == ["Sheep.reward"]
    assert made.systems == [graze, hunt]


def test_who_leaves_one_by_one() -> None:
    assert not register().agents(Sheep)
    made = register(step=[graze, hunt, flee], replace=True)
    assert made.agents(Sheep) and not made.agents(Wolf)


def test_a_derived_world_takes_the_systems_of_its_base() -> None:
    assert register(world=HighMeadow).world is HighMeadow


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"world": Sheep}, "'world' is no class derived from wl.World"),
        ({"world": Meadow.__name__}, "'world' is no class derived from wl.World"),
        ({"entities": {Meadow: 1}}, "is no kind of entity"),
        ({"entities": {"Sheep": 1}}, "is no kind of entity"),
        ({"entities": {Sheep: 0, Wolf: 1}}, "there cannot be 0 entities of kind 'Sheep'"),
        ({"entities": {Sheep: 1.5, Wolf: 1}}, "there cannot be 1.5 entities of kind 'Sheep'"),
        ({"entities": {Sheep: 2**20, Wolf: 1}}, "there cannot be 1048576 entities of kind 'Sheep'"),
        ({"max_steps": -1}, "max_steps cannot be -1"),
        ({"max_steps": 1.5}, "max_steps cannot be 1.5"),
        ({"step": [graze, "hunt"]}, "'hunt' is no system and cannot be called"),
        ({"step": [[graze, graze], graze]}, "the schedule contains a list of 2 entries"),
        ({"entities": {Wolf: 1, type("Sheep", (wl.Entity,), {}): 1, Sheep: 1}}, "two tables would be called 'Sheep'"),
    ],
)
def test_parts_that_do_not_fit(changes: dict, words: str) -> None:
    with pytest.raises(wl.DefinitionError) as caught:
        register(**changes)
    assert words in caught.value.problem and "'Meadow-test'" in caught.value.problem
    assert Path(caught.value.file) == Path(__file__), "it names the file that registers"
    assert "Fix: " in str(caught.value) and caught.value.fix
    assert "Meadow-test" not in wl.registered()


@pytest.mark.parametrize(
    ("changes", "words", "system"),
    [
        ({"world": Desert}, "its world parameter is Meadow, but 'Meadow-test' is made of Desert", graze),
        ({"entities": {Sheep: 1}}, "no entity of 'Meadow-test' matches its parameter (Wolf)", hunt),
        (
            {"entities": {Wolf: 1}, "step": [hunt]},
            "it looks for entities of kind 'Sheep', which 'Meadow-test' does not have",
            hunt,
        ),
    ],
)
def test_systems_that_do_not_fit_name_their_own_lines(changes: dict, words: str, system) -> None:
    with pytest.raises(wl.DefinitionError) as caught:
        register(**changes)
    assert words in caught.value.problem and f"'{system.name}'" in caught.value.problem
    tree = system.source.tree
    assert Path(caught.value.file) == Path(__file__) and tree.lineno <= caught.value.line <= tree.end_lineno


def test_other_counts_are_another_definition() -> None:
    made = register()
    more = made.with_counts({"Sheep": 7, Wolf: 2})
    assert dict(more.entities) == {Sheep: 7, Wolf: 2} and dict(made.entities) == {Sheep: 3, Wolf: 1}
    assert made.with_counts(None) is made
    with pytest.raises(wl.InputError, match="world 'Meadow-test' has no entities 'Goat': it has Sheep, Wolf"):
        made.with_counts({"Goat": 1})
    with pytest.raises(wl.WorldloomError, match="there cannot be 0 entities of kind 'Sheep'"):
        made.with_counts({Sheep: 0})


def test_an_announced_world_is_made_when_it_is_asked_for(monkeypatch) -> None:
    monkeypatch.setattr(registry, "_LAZY_DEFINITIONS", dict(registry._LAZY_DEFINITIONS))
    here: list[bool] = []

    def make() -> wl.Definition:
        if not here:
            raise wl.InputError("there are no sheep")
        return register()

    registry.register_lazily("Meadow-test", make)
    with pytest.raises(wl.InputError, match="world 'Meadow-test' cannot be made: there are no sheep"):
        wl.definition("Meadow-test")
    assert "Meadow-test" not in wl.registered() and registry.unavailable()["Meadow-test"] == "there are no sheep"
    with pytest.raises(wl.InputError, match="did you mean Meadow-test"):
        wl.definition("Meadow-tset")
    here.append(True)
    made = wl.definition("Meadow-test")
    assert wl.registered()["Meadow-test"] is made and wl.definition("Meadow-test") is made
    assert "Meadow-test" not in registry.unavailable()
    registry.register_lazily("Meadow-test", make)
    assert wl.definition("Meadow-test") is not made
