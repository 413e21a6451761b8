"""The COVID-19 economy and arrays of configuration on the GPU: the CPU's results step by step, repeatable bits."""

from __future__ import annotations

import numpy as np
import torch

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import Comparison
from worldloom.envs.covid.data import load_synthetic
from worldloom.envs.covid.economy import Mode

ID = "CovidEconomySynthetic-v0"
SEEN = (("Governor", "sight"), ("Governor", "reward"), ("Planner", "sight"), ("Planner", "reward"))


def test_every_mode_is_that_of_the_cpu() -> None:
    comparison = Comparison(ID, ["cpu", "cuda:0"], 6, seed=1)
    for sim in comparison.simulations:
        sim.set_config("mode", np.tile(np.array(list(Mode), np.int32), 2))
        sim.set_config("vaccine_start", 20)
        sim.set_config("action_cooldown_period", 7)
    assert comparison.run(60) is None
    assert [sim.errors() for sim in comparison.simulations] == [[], []]


def test_whole_episodes_are_those_of_the_cpu() -> None:
    sims = [wl.Simulation(ID, 4, device, seed=0, config={"max_steps": 200}) for device in ("cpu", "cuda:0")]
    rng = np.random.default_rng(5)
    for step in range(210):
        actions = random_actions(sims[0], rng)
        for sim in sims:
            sim.step(actions)
        for table, name in SEEN:
            cpu, gpu = (sim[table][name].numpy() for sim in sims)
            np.testing.assert_allclose(gpu, cpu, rtol=1e-4, atol=1e-4, err_msg=f"{table}.{name}, step {step}")
        for table in ("Governor", "Planner"):
            np.testing.assert_array_equal(
                sims[1][table].action_mask.numpy(), sims[0][table].action_mask.numpy(), err_msg=f"step {step}"
            )


def test_two_runs_give_the_same_bits() -> None:
    seen = []
    for _ in range(2):
        with wl.Simulation(ID, 64, "cuda:0", seed=2) as sim:
            rng = np.random.default_rng(9)
            for _ in range(30):
                sim.step(random_actions(sim, rng))
            seen.append([sim[table][name].torch().clone() for table, name in SEEN])
    assert all(torch.equal(one, two) for one, two in zip(*seen, strict=True))


def test_an_array_of_configuration_for_the_batch_and_per_world() -> None:
    population = load_synthetic().population
    with wl.Simulation(ID, 3, "cuda:0", seed=0) as sim:
        sim.set_config("population", 2.0 * population)
        sim.reset(seeds=0)
        np.testing.assert_allclose(sim.world.people.numpy(), 2.0 * population.sum(), rtol=1e-6)
        sim.set_config("population", np.stack([population, 3.0 * population, population]))
        sim.reset(seeds=0)
        np.testing.assert_allclose(sim.world.people.numpy(), np.array([1.0, 3.0, 1.0]) * population.sum(), rtol=1e-6)
        sim.step()
        assert sim.errors() == []
