"""The asynchronous pool of worlds: every world returns once per round, with the results of a synchronous run."""

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from meadow import MEADOW, SKY, Glider

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector import world_batch
from worldloom.vector.adapters.gymnasium import WorldVectorEnv
from worldloom.vector.world_pool import WorldPool

N, BATCH, STEPS = 12, 4, 25


def pool(world=SKY, **options):
    return WorldPool(world, N, BATCH, **{"device": "python", "seed": 5, **options})


def receive_round(worlds):
    """One result of every group, in the order of arrival."""
    found = [worlds.recv() for _ in range(N // BATCH)]
    ids = np.concatenate([outcome[4]["env_id"] for outcome in found])
    assert sorted(ids.tolist()) == list(range(N)), "every world comes back exactly once per round"
    return found, ids


def joined(found, ids, pick):
    """One field of all results of a round, ordered by world."""
    values = np.concatenate([pick(outcome) for outcome in found])
    return values[np.argsort(ids)]


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize(
    ("world", "device"), [(SKY, "python"), (wl.definition("CartPole-v1"), "cpu")], ids=["Sky", "CartPole"]
)
def test_rounds_are_the_synchronous_run(world, device, autoreset):
    together = WorldVectorEnv(world, N, device=device, seed=5, autoreset=autoreset)
    together.reset(seed=5)
    together.action_space.seed(0)
    with pool(world, device=device, autoreset=autoreset, threads=2) as apart:
        found, ids = receive_after_start(apart)
        assert np.array_equal(joined(found, ids, lambda o: o[0]), together.batch.observations())
        ended = 0
        for _ in range(STEPS):
            actions = together.action_space.sample()
            order = np.random.default_rng(0).permutation(N)
            apart.send(actions[order[:5]], order[:5])
            apart.send(actions[order[5:]], order[5:])
            found, ids = receive_round(apart)
            outcome = together.step(actions)
            for place in range(4):
                assert np.array_equal(joined(found, ids, lambda o, place=place: o[place]), outcome[place])
            for part in found:
                over = part[2] | part[3]
                assert ("final_obs" in part[4]) == (autoreset == "same_step" and over.any())
                if "final_obs" in part[4]:
                    worlds = part[4]["env_id"][over]
                    assert np.array_equal(part[4]["final_obs"][over], outcome[4]["final_obs"][worlds])
            ended += (outcome[2] | outcome[3]).sum()
    assert ended > 3


def receive_after_start(worlds):
    worlds.async_reset()
    return receive_round(worlds)


def test_a_group_steps_when_its_last_action_is_there():
    with pool() as worlds:
        receive_after_start(worlds)
        worlds.send(np.ones((3, 1)), [0, 1, 2])
        with pytest.raises(InputError, match="no world is stepping"):
            worlds.recv()
        worlds.send(np.ones((2, 1)), [3, 4])
        assert worlds.recv()[4]["env_id"].tolist() == [0, 1, 2, 3]
        observations, *_ = worlds.step(np.ones((3, 1)), [7, 6, 5])
        assert observations.shape == (BATCH, 1)


def test_several_actions_by_name():
    with pool(MEADOW) as worlds:
        receive_after_start(worlds)
        turn = np.array([[2, 2], [0, 2], [0, 0], [1, 2]])
        _, rewards, *_, infos = worlds.step({"turn": turn, "thrust": np.zeros((BATCH, 2, 2))}, [3, 2, 1, 0])
        assert rewards.tolist() == [1.5, 0.0, 1.5, 3.0]
        assert {"day", "nectar", "env_id"} <= set(infos)
        with pytest.raises(InputError, match="actions are a mapping with the keys turn, thrust"):
            worlds.send(turn, [4, 5, 6, 7])


@pytest.mark.parametrize(
    ("actions", "ids", "message"),
    [
        (np.ones((1, 1)), [N], "env_id holds whole numbers from 0 to 11"),
        (np.ones((1, 1)), [-1], "env_id holds whole numbers from 0 to 11"),
        (np.ones((1, 1)), [0.5], "env_id holds whole numbers from 0 to 11"),
        (np.ones((1, 1)), 3, "env_id holds whole numbers from 0 to 11"),
        (np.ones((2, 1)), [3, 3], "env_id names a world twice"),
        (np.ones((1, 1)), [0, 1], r"action 'lift' takes float32 of shape \(2, 1\), not float64 of shape \(1, 1\)"),
        (np.array([["a"]]), [0], "action 'lift' takes float32"),
    ],
)
def test_wrong_sends_change_nothing(actions, ids, message):
    with pool() as worlds:
        receive_after_start(worlds)
        with pytest.raises(InputError, match=message):
            worlds.send(actions, ids)
        worlds.send(np.ones((N, 1)), np.arange(N))
        receive_round(worlds)


def test_actions_are_given_once():
    with pool() as worlds:
        receive_after_start(worlds)
        worlds.send(np.ones((1, 1)), [6])
        with pytest.raises(InputError, match="world 6 has its action already"):
            worlds.send(np.ones((1, 1)), [6])
        worlds.send(np.ones((BATCH, 1)), np.arange(BATCH))
        with pytest.raises(InputError, match="world 2 has its action already"):
            worlds.send(np.ones((1, 1)), [2])
        with pytest.raises(InputError, match="some worlds are still stepping"):
            worlds.async_reset()
        worlds.recv()
        worlds.async_reset()
        receive_round(worlds)
        worlds.send(np.ones((1, 1)), [6])  # the action from before the reset is forgotten


def test_one_seed_per_world_and_configuration_per_world():
    seeds, pulls = list(range(N)), np.linspace(0.0, 1.0, N)
    together = WorldVectorEnv(SKY, N, device="python", seed=seeds, config={"pull": pulls})
    together.reset()
    with pool(seed=seeds, config={"pull": pulls}) as apart:
        receive_after_start(apart)
        apart.send(np.ones((N, 1)), np.arange(N))
        found, ids = receive_round(apart)
    assert np.array_equal(joined(found, ids, lambda o: o[0]), together.step(np.ones((N, 1)))[0])


def test_faults_of_single_worlds_are_told():
    with pool() as worlds:
        receive_after_start(worlds)
        lifts = np.ones((N, 1), np.float32)
        lifts[9] = np.nan
        worlds.send(lifts, np.arange(N))
        found, ids = receive_round(worlds)
        assert np.flatnonzero(joined(found, ids, lambda o: o[3])).tolist() == [9]
        faults = worlds.errors()
        assert {fault.world for fault in faults} == {9}
        assert "lift of Glider 0 is not a finite number" in faults[0].message
        assert worlds.errors() == []


class Lock(wl.World):
    pass


def jam(simulation):
    """Raises in the group of world 4, and blocks in that of world 8 until the test releases it."""
    if ARMED.is_set() and simulation.world_offset == 4:
        raise RuntimeError("the door is jammed")
    if ARMED.is_set() and simulation.world_offset == 8:
        LET_GO.wait(20.0)


ARMED, LET_GO = threading.Event(), threading.Event()


@wl.system
def turn_key(glider: Glider, world: Lock):
    glider.height += glider.lift[0]


JAMMED = wl.Definition("Lock-test", Lock, {Glider: 1}, step=(turn_key, jam))


@pytest.fixture
def armed():
    LET_GO.clear()
    ARMED.clear()
    yield ARMED
    LET_GO.set()


def test_a_group_that_breaks_or_hangs_does_not_hold_up_the_others(armed):
    with pool(JAMMED, threads=3, timeout=0.5) as worlds:
        receive_after_start(worlds)
        armed.set()
        worlds.send(np.ones((N, 1)), np.arange(N))
        outcomes = []
        for _ in range(2):
            try:
                outcomes.append(worlds.recv()[4]["env_id"][0])
            except RuntimeError as error:
                outcomes.append(str(error))
        assert sorted(map(str, outcomes)) == ["0", "the door is jammed"]
        with pytest.raises(InputError, match=r"no group of worlds came back within 0.5 s"):
            worlds.recv()
        LET_GO.set()
        assert worlds.recv()[4]["env_id"][0] == 8
        armed.clear()
        worlds.send(np.ones((N, 1)), np.arange(N))
        receive_round(worlds)


def test_closing_ends_the_threads():
    worlds = pool(threads=2)
    worlds.async_reset()
    own = worlds._threads
    worlds.close()
    worlds.close()
    deadline = time.monotonic() + 10.0
    while any(thread.is_alive() for thread in own) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(thread.is_alive() for thread in own)
    for call in (worlds.async_reset, worlds.recv, lambda: worlds.send(np.ones((1, 1)), [0])):
        with pytest.raises(InputError, match="this pool is closed"):
            call()


def test_a_reset_after_a_failed_step_shows_what_it_made(monkeypatch):
    """With observations that are copied slice by slice."""

    def watch(sim):
        if (sim["Glider"].lift.numpy() > 1.0).any():
            raise RuntimeError("too much lift")

    windy = wl.Definition(
        "Windy-test",
        SKY.world,
        {Glider: 1},
        reset=SKY.reset,
        step=(watch, *SKY.step),
        observe=SKY.observe,
        worlds_per_thread=1,
    )
    monkeypatch.setattr(world_batch, "OVERLAPPED_COPY_BYTES", 1)
    with WorldPool(windy, 6, 6, device="cpu", seed=0) as worlds:
        assert worlds.simulations[0].copies_in_step
        worlds.async_reset()
        ids = worlds.recv()[4]["env_id"]
        kept = worlds.step(np.zeros((6, 1), np.float32), ids)[0]
        with pytest.raises(RuntimeError, match="too much lift"):
            worlds.step(np.full((6, 1), 2.0, np.float32), ids)
        worlds.async_reset()
        found = worlds.recv()[0]
        assert np.array_equal(found.ravel(), worlds.simulations[0]["Glider"].height.numpy().ravel())
        assert not np.array_equal(found, kept)


def test_a_pool_that_is_dropped_is_freed():
    def pool_threads():
        return [t for t in threading.enumerate() if t.name.startswith("worldloom-pool")]

    gc.collect()
    before = pool_threads()
    for in_flight in (False, True):
        worlds = pool(threads=3)
        receive_after_start(worlds)
        if in_flight:
            worlds.send(np.ones((N, 1)), np.arange(N))
        threads = [t for t in pool_threads() if t not in before]
        assert len(threads) == 3
        freed = weakref.ref(worlds), *(weakref.ref(simulation) for simulation in worlds.simulations)
        del worlds
        gc.collect()
        for thread in threads:
            thread.join(30.0)
            assert not thread.is_alive()
        gc.collect()
        assert [ref() for ref in freed] == [None] * len(freed)


@pytest.mark.timeout(120)
def test_a_program_ends_while_a_pool_steps():
    program = """
import numpy as np, worldloom as wl
pool = wl.make("CartPole-v1", num_envs=8, batch_size=2, seed=0)
pool.async_reset()
for _ in range(4):
    pool.recv()
pool.send(np.zeros(8, int), np.arange(8))
print("ends")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
