"""Alternatives: one of several ways to compute the same, chosen by the caller, by a measurement or by the world."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.measure.tune_options import tune_options
from worldloom.core.runtime import options


class Coin(wl.Entity):
    value: int
    share: int


class Purse(wl.World):
    total: int
    luck: float


@wl.system
def mint(coin: Coin, world: Purse):
    coin.value = world.integer(100)


@wl.system
def clear(world: Purse):
    world.total = 0


@wl.system
def add_coin(coin: Coin, world: Purse):
    world.total += coin.value


@wl.system
def add_all(world: Purse):
    world.total = 0
    for coin in world.all(Coin):
        world.total += coin.value


@wl.system
def change(coin: Coin, world: Purse):
    coin.value = (coin.value + world.total + world.integer(10)) % 1000


@wl.system
def toss(world: Purse):
    world.luck = world.random()


def large(cuda: bool, num_worlds: int) -> str:
    return "coins" if num_worlds >= 100 else "purse"


COUNTED = wl.Alternatives("count", {"purse": [add_all], "coins": [clear, add_coin]}, large)
PURSE = wl.Definition("Purse-test", Purse, {Coin: 7}, reset=(mint,), step=(COUNTED, change, toss))


def state(sim: wl.Simulation) -> list[np.ndarray]:
    return [sim.world.total.numpy(), sim.world.luck.numpy(), sim[Coin].value.numpy()]


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_options_give_the_same_results_and_random_numbers(device: str) -> None:
    sims = [wl.Simulation(PURSE, 5, device, seed=1, alternatives={"count": o}) for o in COUNTED.options]
    for _ in range(4):
        for sim in sims:
            sim.step()
    assert [sim.definition.options for sim in sims] == [{"count": "purse"}, {"count": "coins"}]
    assert [len(sim.definition.step) for sim in sims] == [3, 4]
    for one, other in zip(*map(state, sims), strict=True):
        assert np.array_equal(one, other)
    assert state(sims[0])[0].any()


def test_the_world_names_an_option_for_its_number_of_worlds() -> None:
    few, many = (wl.Simulation(PURSE, n, "python", seed=1) for n in (2, 100))
    assert (few.definition.options, many.definition.options) == ({"count": "purse"}, {"count": "coins"})
    plain = wl.Definition(
        "Plain-test", Purse, {Coin: 7}, reset=(mint,), step=(wl.Alternatives("count", COUNTED.options), change)
    )
    assert wl.Simulation(plain, 500, "python", seed=1).definition.options == {"count": "purse"}


def test_replays_and_copies_use_the_options_of_their_simulation(tmp_path) -> None:
    """A replay runs one world, with what was chosen for the batch."""
    many = wl.Simulation(PURSE, 100, "cpu", seed=1)
    with many.record(worlds=[3]) as recorder:
        many.step()
        with pytest.raises(wl.InputError, match="recorded"):
            many.use_options({"count": "purse"})
        many.step()
    recorder.log.save(tmp_path / "log")
    log = wl.ReplayLog.load(tmp_path / "log", PURSE)
    assert (log.batch, log.definition.options) == (100, {"count": "coins"})
    with log.replay(3, 0, "cpu") as replay:
        assert (replay.simulation.kernels_for, replay.simulation.definition.options) == (100, {"count": "coins"})
        assert np.array_equal(replay.run()[Coin].value.numpy()[0], many[Coin].value.numpy()[3])
    many.use_options({"count": "purse"})
    assert copy.deepcopy(many).definition.options == {"count": "purse"}
    assert wl.Simulation(PURSE, 1, "python", seed=1, kernels_for=500).definition.options == {"count": "coins"}
    with pytest.raises(wl.InputError, match="kernels_for"):
        wl.Simulation(PURSE, 1, "python", kernels_for=0)


def test_states_of_one_option_continue_with_another() -> None:
    first, second = (
        wl.Simulation(PURSE, 3, "cpu", seed=s, alternatives={"count": o}) for s, o in ((1, "purse"), (2, "coins"))
    )
    first.step()
    second.restore(first.snapshot())
    for sim in (first, second):
        sim.step()
    assert first.definition.hash == second.definition.hash == PURSE.hash
    for one, other in zip(state(first), state(second), strict=True):
        assert np.array_equal(one, other)
    second.use_options({"count": "purse"})
    second.step()
    first.step()
    assert np.array_equal(state(first)[2], state(second)[2])


def test_a_measurement_chooses(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    gpu = SimpleNamespace(name="Some GPU", is_cuda=True)
    assert options.find(PURSE, COUNTED, gpu, 1000) is None
    options.store(PURSE, COUNTED, gpu, 1000, {"purse": 2.0, "coins": 1.0})
    options.store(PURSE, COUNTED, gpu, 10, {"purse": 1.0, "coins": 2.0})
    assert [options.find(PURSE, COUNTED, gpu, n) for n in (5, 10, 21, 600, 2000, 2001)] == [
        "purse", "purse", None, "coins", "coins", None,
    ]  # fmt: skip
    chosen = options.choose_options(PURSE, gpu, 15, None, tuned=True)
    assert chosen.options == {"count": "purse"}
    assert options.choose_options(PURSE, gpu, 1000, {"count": "purse"}, tuned=True).options == {"count": "purse"}
    (file,) = (tmp_path / "worldloom_tuning").iterdir()
    for damage in (
        "no json",
        '{"format": 2}',
        '{"format": 1, "measured": [{"num_worlds": 5, "seconds": {"purse": 1.0}}]}',
    ):
        file.write_text(damage)
        with pytest.warns(UserWarning, match="`worldloom tune` replaces it"):
            assert options.find(PURSE, COUNTED, gpu, 10) is None


def test_tuning_measures_every_option_and_restores_the_state(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    sim, untouched = (wl.Simulation(PURSE, 4, "cpu", seed=1) for _ in range(2))
    reports: list[None] = []
    (result,) = tune_options(sim, lambda: reports.append(None))
    assert set(result.seconds) == {"purse", "coins"} and len(reports) == 2
    assert result.option == min(result.seconds, key=result.seconds.__getitem__)
    assert sim.definition.options == {"count": result.option}
    sim.step()
    untouched.step()
    for one, other in zip(state(sim), state(untouched), strict=True):
        assert np.array_equal(one, other)


def test_explanations_name_the_option() -> None:
    sim = wl.Simulation(PURSE, 4, "cpu", seed=1)
    assert sim.explain().alternatives == ("count: purse, the default for 4 worlds on cpu; instead of coins.",)
    sim = wl.Simulation(PURSE, 4, "cpu", seed=1, alternatives={"count": "coins"})
    assert sim.explain().alternatives == ("count: coins, as was asked; instead of purse.",)


def test_other_numbers_of_entities_keep_the_options() -> None:
    chosen = PURSE.with_options({"count": "coins"}).with_counts({Coin: 3})
    assert chosen.options == {"count": "coins"} and chosen.hash == PURSE.with_counts({Coin: 3}).hash != PURSE.hash


def test_two_phases_may_have_alternatives() -> None:
    seen = wl.Alternatives("seen", {"purse": [add_all], "coins": [clear, add_coin]})
    world = wl.Definition("Seen-test", Purse, {Coin: 7}, reset=(mint,), step=(COUNTED, change), observe=(seen, toss))
    sims = [
        wl.Simulation(world, 3, "cpu", seed=1, alternatives={"count": one, "seen": two})
        for one, two in (("purse", "coins"), ("coins", "purse"))
    ]
    for sim in sims:
        sim.step()
    assert set(world.alternatives) == {"count", "seen"} and world.observe == (add_all, toss)
    for one, other in zip(*map(state, sims), strict=True):
        assert np.array_equal(one, other)


def test_the_same_alternatives_in_two_phases() -> None:
    """One option holds for both."""
    world = wl.Definition(
        "Purses-test", Purse, {Coin: 7}, reset=(mint, COUNTED, toss), step=(change, COUNTED, toss), max_steps=2
    )
    sims = [wl.Simulation(world, 3, "python", seed=2, alternatives={"count": way}) for way in ("purse", "coins")]
    assert [len(sim.definition.reset) for sim in sims] == [3, 4]
    for _ in range(3):
        for one, other in zip(*map(state, sims), strict=True):
            assert np.array_equal(one, other)
        for sim in sims:
            sim.step()


def test_what_is_refused() -> None:
    with pytest.raises(wl.InputError, match="has no alternatives 'sum': it has count"):
        wl.Simulation(PURSE, 1, alternatives={"sum": "purse"})
    with pytest.raises(wl.InputError, match="have no option 'notes': give purse, coins"):
        wl.Simulation(PURSE, 1, alternatives={"count": "notes"})

    sim = wl.Simulation(PURSE, 1, "python")
    with pytest.raises(wl.InputError, match="have no option 'notes'"):
        sim.use_options({"count": "notes"})
    wrong = wl.Definition(
        "Choice-test", Purse, {Coin: 7}, step=(wl.Alternatives("count", COUNTED.options, lambda cuda, n: "notes"),)
    )
    with pytest.raises(wl.InputError, match="names 'notes', which is no option of them"):
        wl.Simulation(wrong, 1)
    with pytest.raises(wl.DefinitionError, match="'count' have no options"):
        wl.Definition("Empty-test", Purse, {Coin: 7}, step=(wl.Alternatives("count", {}),)).checked
    with pytest.raises(wl.DefinitionError, match="two alternatives are called 'count'"):
        wl.Definition("Two-test", Purse, {Coin: 7}, step=(COUNTED, wl.Alternatives("count", {"a": [toss]}))).checked

    def world(entries: list) -> wl.Definition:
        return wl.Definition("Wrong-test", Purse, {Coin: 7}, step=(wl.Alternatives("count", {"a": entries}),))

    with pytest.raises(wl.DefinitionError, match="has the system 'toss', which draws random numbers"):
        world([toss]).checked
    with pytest.raises(wl.DefinitionError, match="which is no system"):
        world([lambda sim: None]).checked
