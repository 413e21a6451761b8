"""World k of a batch runs bit for bit as world k of any other batch, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest
from thorough import covering

import worldloom as wl

STEPS = 300
WATCHED = 10


def actions_of(worlds: int, count: int, choices: int, steps: int) -> np.ndarray:
    """Actions for the first ten worlds, shape (steps, WATCHED, count); every other world repeats them."""
    small = np.random.default_rng(5).integers(0, choices, (steps, WATCHED, count), dtype=np.int32)
    return np.tile(small, (1, worlds // WATCHED, 1))


def trace(
    definition: str | wl.Definition,
    table: str,
    worlds: int,
    threads: int,
    actions: np.ndarray,
    device: str = "cpu",
    **options,
) -> list[bytes]:
    """Observations, rewards and flags of the first ten worlds after every step."""
    sim = wl.Simulation(definition, worlds, device, seed=42, threads=threads, **options)
    assert len(sim.slices) == (threads if device == "cpu" else 1)
    watched = [sim[table].sight, sim[table].final_sight, sim[table].reward, sim.terminated, sim.truncated]
    out = []
    for action in actions:
        sim.step(action)
        out.append(b"".join(c.numpy()[:WATCHED].tobytes() for c in watched))
    sim.close()
    return out


@pytest.fixture(scope="module")
def cartpole() -> list[bytes]:
    return trace("CartPole-v1", "Cart", 10, 1, actions_of(10, 1, 2, STEPS))


@pytest.mark.parametrize(("worlds", "threads"), covering([10, 1_000, 100_000], [2, 1]))
def test_cartpole_in_batches_of_any_size(cartpole: list[bytes], worlds: int, threads: int) -> None:
    actions = actions_of(worlds, 1, 2, STEPS)
    found = trace("CartPole-v1", "Cart", worlds, threads, actions)
    different = [step for step, (a, b) in enumerate(zip(cartpole, found, strict=True)) if a != b]
    assert not different, f"first different step: {different[0]}"


def test_the_trace_says_something(cartpole: list[bytes]) -> None:
    assert len(set(cartpole)) == STEPS
    other = trace("CartPole-v1", "Cart", 10, 1, 1 - actions_of(10, 1, 2, 3))
    assert other[0] != cartpole[0]


def test_a_world_with_interaction(crowd: wl.Definition) -> None:
    runs = [
        trace(crowd, "Walker", worlds, threads, actions_of(worlds, 5, 4, 100))
        for worlds, threads in ((10, 1), (10, 3), (1_000, 2))
    ]
    assert runs[0] == runs[1] == runs[2]


def test_interpreted_as_compiled(crowd: wl.Definition) -> None:
    actions = actions_of(10, 5, 4, 30)
    assert trace(crowd, "Walker", 10, 1, actions, "python") == trace(crowd, "Walker", 10, 1, actions)


def test_a_slice_of_a_batch_on_its_own(crowd: wl.Definition, columns) -> None:
    """``world_offset`` makes a simulation the worlds from there on, as when many processes share a batch."""
    whole = wl.Simulation(crowd, 9, "cpu", seed=7)
    part = wl.Simulation(crowd, 4, "cpu", seed=7, world_offset=5)
    for action in actions_of(10, 5, 4, 20):
        whole.step(action[:9])
        part.step(action[5:9])
    for name, values in columns(part).items():
        if values.shape[0] == 4:
            np.testing.assert_array_equal(values, columns(whole)[name][5:], err_msg=name)


def test_every_mode_starts_the_same_episodes(race: wl.Definition) -> None:
    sims = [wl.Simulation(race, 4, "python", seed=9, autoreset=mode) for mode in ("same_step", "next_step", "disabled")]
    numbers = [sim["Runner"].number.numpy().tolist() for sim in sims]
    assert numbers[0] == numbers[1] == numbers[2]


def test_another_seed_is_another_world(race: wl.Definition) -> None:
    one, two, free, unlike = (
        wl.Simulation(race, 50, "python", seed=s)["Runner"].number.numpy() for s in (1, 2, None, None)
    )
    assert (one != two).mean() > 0.9 and (free != unlike).mean() > 0.9
