"""Configuration arrays: one for the batch or one per world, stored and compared like any other configuration."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model.declarations import declare
from worldloom.core.registry.fingerprint import fingerprint
from worldloom.core.tools.compare import compare

PRICES = np.arange(6, dtype=np.float32).reshape(2, 3)
SHELVES = np.arange(12).reshape(2, 3, 2) % 5 > 0
WORLDS = 5


class Buyer(wl.Entity):
    good: wl.Action(wl.Discrete(2))
    paid: float
    luck: wl.float64
    sight: wl.Observation()
    reward: wl.Reward


class Shop(wl.World):
    prices: wl.Config = PRICES
    shelves: wl.Config = SHELVES
    lots: wl.Config = np.array([1.5, 2.5, 3.5, 4.5])
    days: wl.Config = np.array([0, 2, 1], np.int32)
    trade: float


@wl.system
def buy(buyer: Buyer, world: Shop):
    day = world.days[world.step % len(world.days)]
    if world.shelves[buyer.good, day, -1]:
        buyer.paid += world.prices[buyer.good, day]


@wl.system
def haggle(buyer: Buyer, world: Shop):
    buyer.luck = world.choice(world.lots)
    buyer.reward = -buyer.paid - 0.0 * world.prices[0, 0]


@wl.system(threads=32)
def browse(buyer: Buyer, world: Shop):
    for good in wl.share(2):
        world.trade = max(world.trade, world.prices[good, 0])


@wl.system
def look(buyer: Buyer, world: Shop):
    buyer.sight = world.prices[0, buyer.id]


SHOP = wl.Definition("Shop-arrays", Shop, {Buyer: 2}, step=(buy, haggle, browse), observe=(look,), max_steps=7)
GOODS = np.tile([0, 1], (WORLDS, 1))


@pytest.fixture(scope="module")
def compiled() -> wl.Simulation:
    return wl.Simulation(SHOP, WORLDS, "cpu", seed=1)


def test_an_array_has_the_shape_and_the_type_of_its_default() -> None:
    assert [
        (f.shape, f.dtype.__name__) for n, f in Shop.fields.items() if n in ("prices", "shelves", "lots", "days")
    ] == [
        ((2, 3), "float32"),
        ((2, 3, 2), "bool"),
        ((4,), "float64"),
        ((3,), "int32"),
    ]
    kept = PRICES.copy()
    field = declare("prices", wl.Config, kept, True)
    kept[:] = 9.0
    assert (field.default == PRICES).all(), "later changes of the array do not reach the world"


@pytest.mark.parametrize(
    ("default", "words"),
    [
        (np.array(["a"]), "is an array of str"),
        (np.zeros((2, 0)), "shape (2, 0): it takes one to three dimensions of 1 or more"),
        (np.zeros((1, 1, 1, 1)), "shape (1, 1, 1, 1)"),
        (np.array(1.0), "shape ()"),
        ([1.0, 2.0], "of type list"),
    ],
)
def test_defaults_that_no_array_can_hold(default: object, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        declare("prices", wl.Config, default, True)
    assert words in str(caught.value)


def test_python_and_cpu_agree(compiled: wl.Simulation) -> None:
    assert compare(SHOP, ["python", "cpu"], num_worlds=WORLDS, steps=20, seed=2) is None


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_one_for_the_batch_or_one_per_world(device: str) -> None:
    sim = wl.Simulation(SHOP, WORLDS, device, seed=1, config={"prices": PRICES + 1.0})
    sim.step(GOODS)
    assert (sim[Buyer].reward.numpy() == [-1.0, -4.0]).all()
    sim.set_config("shelves", np.zeros_like(SHELVES))
    sim.step(GOODS)
    sim.set_config("shelves", np.ones_like(SHELVES))
    assert (sim[Buyer].reward.numpy() == [-1.0, -4.0]).all() and (sim.world.trade.numpy() == 4.0).all()
    each = np.arange(WORLDS, dtype=np.float32)[:, None, None] * np.ones_like(PRICES)
    sim.set_config("prices", each)
    sim.step(GOODS)
    assert sim[Buyer].reward.numpy().tolist() == [[-1.0 - k, -4.0 - k] for k in range(WORLDS)]
    assert (
        sim[Buyer].sight.numpy()[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        and (sim.get_config("prices") == each).all()
    )
    sim.set_config("prices", PRICES)
    assert sim.get_config("prices").shape == (2, 3)


def test_what_does_not_fit_is_told_in_one_sentence() -> None:
    sim = wl.Simulation(SHOP, WORLDS, "python", seed=1)
    for name, value, words in (
        (
            "prices",
            np.zeros((3, 2), np.float32),
            "configuration 'prices' is one value of shape (2, 3), or 5 of them, not shape (3, 2)",
        ),
        ("prices", 1.0, "not shape ()"),
        ("days", np.zeros(3), "configuration 'days' holds int32"),
    ):
        with pytest.raises(wl.InputError) as caught:
            sim.set_config(name, value)
        assert words in str(caught.value) and "\n" not in str(caught.value)


def test_an_index_outside_is_a_fault_of_its_world(compiled: wl.Simulation) -> None:
    days = np.tile(np.array([0, 2, 1], np.int32), (WORLDS, 1))
    days[3, 0] = 7
    for sim in (wl.Simulation(SHOP, WORLDS, "python", seed=1), compiled):
        sim.reset(seeds=1)
        sim.set_config("days", days)
        sim.step(GOODS)
        found = sim.errors()
        sim.set_config("days", days[0])
        assert {fault.world for fault in found} == {3} and "index of world.shelves (size 3) 7 is out of range" in found[
            0
        ].message


def test_reading_one_keeps_systems_in_one_kernel(compiled: wl.Simulation) -> None:
    assert any({"buy(Buyer)", "haggle(Buyer)"} <= set(spec.labels) for spec in compiled.program.step)


def test_snapshots_hold_it(compiled: wl.Simulation) -> None:
    compiled.set_config("prices", np.stack([k * PRICES for k in range(WORLDS)]))
    compiled.reset(seeds=3)
    kept = compiled.snapshot()
    compiled.step(GOODS)
    compiled.step(GOODS)
    first = compiled[Buyer].reward.numpy().copy()
    compiled.set_config("prices", PRICES)
    compiled.restore(kept)
    compiled.step(GOODS)
    compiled.step(GOODS)
    assert (compiled[Buyer].reward.numpy() == first).all() and first.min() < first.max()
    compiled.set_config("prices", PRICES)


def test_an_episode_is_played_again_with_the_array_it_had() -> None:
    sim = wl.Simulation(SHOP, WORLDS, "python", seed=5)
    sim.set_config("prices", np.stack([(k + 1) * PRICES for k in range(WORLDS)]))
    with sim.record() as log:
        for _ in range(7):
            sim.step(GOODS)
    again = log.log.replay(world=4, episode=0)
    for _ in again:
        pass
    assert again.simulation.get_config("prices").tolist() == (5 * PRICES).tolist()


def test_the_fingerprint_covers_every_element() -> None:
    changed = PRICES.copy()
    changed[1, 2] += 1e-3

    class Dearer(Shop):
        prices: wl.Config = changed

    dearer = wl.Definition("Shop-arrays", Dearer, {Buyer: 2}, step=(buy, haggle, browse), observe=(look,), max_steps=7)
    assert fingerprint(dearer) != fingerprint(SHOP)


def test_pools_and_environments_take_it() -> None:
    wide = np.arange(2 * WORLDS * 6, dtype=np.float32).reshape(2 * WORLDS, 2, 3)
    with wl.make(SHOP, num_envs=2 * WORLDS, batch_size=WORLDS, prices=wide, lots=np.ones(4)) as pool:
        found = [batch.simulation.get_config("prices") for batch in pool._batches]
        assert (np.concatenate(found) == wide).all() and pool._batches[1].simulation.get_config("lots").tolist() == [
            1.0
        ] * 4
