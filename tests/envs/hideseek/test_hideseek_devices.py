"""HideSeek: the same on every device and in every batch, as a picture, and in training."""

from __future__ import annotations

import numpy as np
from thorough import THOROUGH

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.codegen.shared_programs import shared_schedule
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.schedule.lasting_agents import lasting_agents
from worldloom.core.tools.compare import Comparison
from worldloom.envs.hideseek.rendering import HIDER, SEEKER, WALL
from worldloom.learn import PPO, OpponentPool, PolicyGroup, PPOConfig
from worldloom.learn.config.tuned_defaults import has_tuned_config, tuned_config

ID = "HideSeek-v0"


def test_plain_python_and_compiled_code_agree() -> None:
    """Two worlds for 40 steps in the thorough run."""
    comparison = Comparison(ID, ["python", "cpu"], 2 if THOROUGH else 1, seed=3)
    try:
        assert comparison.run(40 if THOROUGH else 4) is None
        assert [simulation.errors() for simulation in comparison.simulations] == [[], []]
    finally:
        for simulation in comparison.simulations:
            simulation.close()


def test_no_step_copies_observations() -> None:
    """Agents stay for whole episodes, so systems write the observations of agent rows, in this order on a GPU."""
    definition = wl.definition(ID)
    lasting = lasting_agents(definition)
    assert lasting == {"Hider", "Seeker"}
    program = generate(shared_schedule(definition, "same_step", True, lasting), True, True)
    for entries in (program.step, program.reset):
        labels = [label for spec in entries if isinstance(spec, KernelSpec) for label in spec.labels]
        assert not any(label.startswith("publish") for label in labels)
    names = ("describe(Hider)", "keep_Hider__agents", "clear_Hider__agents_state", "enter_agents")
    step = [label for spec in program.step if isinstance(spec, KernelSpec) for label in spec.labels]
    first, *others = [step.index(name) for name in names]
    last = len(step) - 1 - step[::-1].index("describe(Hider)")
    assert first < others[0] < others[1] < others[2] < last


def played(num_worlds: int, threads: int, steps: int) -> dict[str, np.ndarray]:
    """The first two worlds after random play whose actions depend on the world alone."""
    with wl.Simulation(ID, num_worlds, "cpu", seed=9, threads=threads) as sim:
        for step in range(steps):
            choices = [
                np.random.default_rng((step, world)).integers(0, (11, 11, 11, 2, 2), (2, 3, 5))
                for world in range(num_worlds)
            ]
            both = np.stack(choices, axis=1)
            sim.step({"Hider.choose": both[0], "Seeker.choose": both[1]})
        columns = {"position": sim["Solid"].padded("position"), "velocity": sim["Solid"].padded("velocity")}
        for kind in ("Hider", "Seeker"):
            for name in ("lidar", "others", "boxes", "boxes_visible"):
                columns[f"{kind}.{name}"] = sim[kind].agent_rows[name].torch()
        return {name: column[:2].numpy().copy() for name, column in columns.items()}


def test_a_world_does_not_depend_on_the_batch() -> None:
    few, many = played(2, 1, 15), played(7, 2, 15)
    for name, column in few.items():
        np.testing.assert_array_equal(column, many[name], err_msg=name)


def test_a_picture_shows_walls_and_agents(sim: wl.Simulation) -> None:
    draw = wl.definition(ID).render
    assert draw is not None
    first = draw(sim, 1)
    assert first.shape == (556, 528, 3) and first.dtype == np.uint8
    for color in (WALL, HIDER, SEEKER):
        assert (first == color).all(axis=2).sum() > 100
    for _ in range(3):
        sim.step(random_actions(sim, np.random.default_rng(0)))
    assert (draw(sim, 1) != first).any()


def test_the_default_settings_train_both_teams() -> None:
    """Attention over what is visible, with a memory and a pool of past selves."""
    assert has_tuned_config(ID, "ppo")
    config = tuned_config(ID, "ppo", PPOConfig, "cpu")
    assert config.policy.network == "attention"
    small = wl.learn.PolicyConfig(
        network="attention", attention_size=8, attention_heads=2, hidden=(8,), memory="lstm", memory_size=8
    )
    settings = PPOConfig(num_envs=4, num_steps=4, total_steps=32, minibatches=1, device="cpu", policy=small)
    pool = OpponentPool(share=0.25, every=1, swap_every=1)
    trainer = PPO(ID, settings, policy_groups={kind: PolicyGroup(kind, pool=pool) for kind in ("Hider", "Seeker")})
    trainer.learn()
    assert trainer.steps == 32
