"""The locomotion tasks against their formulas in NumPy, from the columns of the world."""

import numpy as np
import pytest

import worldloom as wl

ALIVE = {"LocomotionAnt-v0": 0.5, "LocomotionHumanoid-v0": 2.0}
NUM_WORLDS = 6


def expected_reward(alive: float, simulation: wl.Simulation, world: int) -> float:
    """The reward of the paper, from the state after a step; all in float64."""
    (kind,) = simulation.definition.entities
    row = {name: getattr(simulation[kind], name).numpy()[world, 0] for name in kind.fields}
    model = next(entry for entry in simulation.definition.launches).physics.model.mj_model
    w, x, y, z = row["qpos"][3:7]
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    to_target = np.array([1000.0, 0.0]) - row["qpos"][:2]
    to_target /= np.linalg.norm(to_target)
    forward = rotation[:2, 0] / np.linalg.norm(rotation[:2, 0])
    heading = float(forward @ to_target)
    low, high = model.jnt_range[1:].T
    place = (2 * row["qpos"][7:] - low - high) / (high - low)
    reward = alive + row["qvel"][:2] @ to_target + 0.5 * min(heading / 0.8, 1.0) + 0.05 * (rotation[2, 2] > 0.93)
    reward -= 4 * np.abs(row["actuator_force"]).sum() / model.actuator_gear[:, 0].max() + 0.5 * (row["ctrl"] ** 2).sum()
    return float(reward - 0.2 * (np.abs(place) > 0.99).sum() - (row["sensordata"] > 0).sum())


@pytest.mark.parametrize("id", ALIVE)
def test_rewards_and_observations(id):
    simulation = wl.Simulation(id, num_worlds=NUM_WORLDS, seed=0, autoreset="disabled")
    (kind,) = simulation.definition.entities
    size = simulation[kind].action.numpy().shape[-1]
    generator = np.random.default_rng(0)
    feet = 0
    for _ in range(60):
        simulation.step(generator.uniform(-1, 1, (NUM_WORLDS, 1, size)).astype(np.float32))
        table = simulation[kind]
        for world in range(NUM_WORLDS):
            reward = table.reward.numpy()[world].item()
            assert reward == pytest.approx(expected_reward(ALIVE[id], simulation, world), rel=1e-9, abs=1e-9)
            seen, state = table.observation.numpy()[world, 0], table.qpos.numpy()[world, 0]
            joints = len(state) - 7
            assert seen[0] == state[2]
            assert (seen[11 : 11 + joints] == state[7:]).all()
            assert (seen[3:9] == table.qvel.numpy()[world, 0, :6]).all()
            assert seen[9] ** 2 + seen[10] ** 2 == pytest.approx(1.0)
            feet += seen[-simulation[kind].sensordata.numpy().shape[-1] :].sum()
    assert feet > 0, "no foot ever touched the ground"


def test_sizes():
    sizes = {"LocomotionAnt-v0": (39, 8), "LocomotionHumanoid-v0": (76, 21)}
    for id, (observation, action) in sizes.items():
        spec = wl.make_spec(id)
        assert (spec.observation_space.shape, spec.action_space.shape) == ((observation,), (action,))


def test_a_fall_ends_the_episode():
    envs = wl.make("LocomotionHumanoid-v0", num_envs=8, seed=1)
    envs.reset()
    ended = np.zeros(8, bool)
    for _ in range(200):
        _, _, terminated, truncated, _ = envs.step(np.zeros((8, 21), np.float32))
        ended |= terminated
        assert not truncated.any()
    assert ended.all()
    assert not envs.simulation.errors()
