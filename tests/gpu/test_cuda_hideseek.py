"""HideSeek on a GPU: the bits of the CPU in exact mode."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom import physics
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import first_difference

WORLDS, STEPS = 64, 200


def test_every_step_is_that_of_the_cpu_bit_for_bit() -> None:
    """Two simulations with the same actions, never brought together; most worlds pass a reset."""
    with (
        wl.Simulation("HideSeek-v0", WORLDS, "cpu", seed=11, exact=True, config={"max_steps": 150}) as cpu,
        wl.Simulation("HideSeek-v0", WORLDS, "cuda:0", seed=11, exact=True, config={"max_steps": 150}) as gpu,
    ):
        assert first_difference(cpu, gpu, 0) is None
        rng = np.random.default_rng(5)
        for step in range(1, STEPS + 1):
            actions = random_actions(cpu, rng)
            cpu.step(actions)
            gpu.step(actions)
            if step % 10 == 0:
                assert first_difference(cpu, gpu, step) is None
        assert cpu.errors() == gpu.errors() == []


def test_agents_pass_the_edge_of_a_ramp_as_on_the_cpu() -> None:
    """Each seeker drives over a locked box; no position differs."""
    positions = []
    for device in ("cpu", "cuda:0"):
        with wl.Simulation("HideSeek-v0", 4, device, seed=0, exact=True) as sim:
            sim.set_config("max_boxes", 3)
            sim.reset(seeds=0)
            solids, ramp = sim["Solid"], 3
            agent = int(sim.world.first_agent.numpy()[0])
            place, motion = solids.position.numpy().copy(), solids.motion.numpy().copy()
            place[:, :, 0] += 500.0 + 30.0 * np.arange(place.shape[1], dtype=np.float32)  # parked
            turned = np.tile(np.array((0.0, 0.0, 0.0, 1.0), np.float32), (*place.shape[:2], 1))
            place[:, 0, :2], place[:, ramp, :2], place[:, agent, :2] = (0.0, 2.75), (0.0, 1.0), (0.3, -2.5)
            motion[:, 0] = physics.STATIC
            for name, values in (("position", place), ("motion", motion), ("rotation", turned)):
                solids[name].assign(values)
            sim.world.num_walls.assign(np.zeros(4, np.int32))
            forward = np.tile(np.array((5, 10, 5, 0, 0), np.int32), (4, 3, 1))
            for _ in range(30):
                sim.step({"Hider.choose": forward, "Seeker.choose": forward})
            positions.append(solids.padded("position").cpu().numpy())
            assert sim.errors() == []
    assert (positions[0][:, agent, 1] > 2.75).all() and (positions[0][:, agent, 2] > 2.9).all()
    assert positions[0].tobytes() == positions[1].tobytes()
