"""The locomotion tasks against their formulas in NumPy, from the columns of the world."""

import sys
from collections import Counter

import mujoco
import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.locomotion.flagrun import define_flagrun
from worldloom.envs.locomotion.terrain import Terrain

ALIVE = {"LocomotionAnt-v0": 0.5, "LocomotionHumanoid-v0": 2.0, "FlagrunHarder-v0": 2.0}
NUM_WORLDS = 3


class Columns:
    """The numbers of one robot of a simulation."""

    def __init__(self, simulation: wl.Simulation, world: int, robot: int) -> None:
        (self.kind,) = simulation.definition.entities
        agents = simulation.definition.entities[self.kind]
        tables = simulation["World"], simulation[self.kind]
        self.row = {name: getattr(tables[1], name).numpy()[world, robot] for name in self.kind.fields}
        for name in ("qpos", "qvel", "ctrl", "actuator_force", "sensordata"):
            values = getattr(tables[0], name).numpy()[world].reshape(-1)
            self.row[name] = np.split(values, agents)[robot]
        self.model = next(iter(simulation.definition.launches)).physics.model.mj_model


def expected_reward(alive: float, target: np.ndarray, columns: Columns) -> float:
    """The reward of the paper, from the state after a step; all in float64."""
    row, model = columns.row, columns.model
    w, x, y, z = row["qpos"][3:7]
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    to_target = target - row["qpos"][:2]
    to_target /= np.linalg.norm(to_target)
    forward = rotation[:2, 0] / np.linalg.norm(rotation[:2, 0])
    heading = float(forward @ to_target)
    low, high = model.jnt_range[1 : 1 + len(row["qpos"]) - 7].T
    place = (2 * row["qpos"][7:] - low - high) / (high - low)
    reward = alive + row["qvel"][:2] @ to_target + 0.5 * min(heading / 0.8, 1.0) + 0.05 * (rotation[2, 2] > 0.93)
    reward -= 4 * np.abs(row["actuator_force"]).mean() / model.actuator_gear[:, 0].max()
    reward -= 0.5 * (row["ctrl"] ** 2).mean()
    return float(reward - 0.2 * (np.abs(place) > 0.99).sum() - (row["sensordata"] > 0).sum())


@pytest.mark.parametrize("id", ALIVE)
def test_rewards_and_observations(id):
    simulation = wl.Simulation(id, num_worlds=NUM_WORLDS, seed=0, autoreset="disabled")
    ((kind, agents),) = simulation.definition.entities.items()
    table = simulation[kind]
    size = table.action.numpy().shape[-1]
    generator = np.random.default_rng(0)
    feet = 0
    for _ in range(40):
        targets = table.target.numpy().copy()
        simulation.step(generator.uniform(-1, 1, (NUM_WORLDS, agents, size)).astype(np.float32))
        for world, robot in np.ndindex(NUM_WORLDS, agents):
            columns = Columns(simulation, world, robot)
            expected = expected_reward(ALIVE[id], targets[world, robot], columns)
            assert columns.row["reward"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            seen, state = columns.row["observation"], columns.row["qpos"]
            joints = len(state) - 7
            assert seen[0] == state[2]
            assert (seen[11 : 11 + joints] == state[7:]).all()
            velocity, yaw = columns.row["qvel"][:6], columns.row["yaw"]
            ahead = np.array([np.cos(yaw), np.sin(yaw)])
            assert seen[3] == pytest.approx(ahead @ velocity[:2])
            assert seen[4] == pytest.approx(ahead[0] * velocity[1] - ahead[1] * velocity[0])
            assert (seen[5:9] == velocity[2:]).all()
            assert seen[9] ** 2 + seen[10] ** 2 == pytest.approx(1.0)
            feet += seen[-len(columns.row["sensordata"]) :].sum()
    assert feet > 0, "no foot ever touched the ground"


def test_sizes():
    sizes = {"LocomotionAnt-v0": (39, 8), "LocomotionHumanoid-v0": (76, 21), "FlagrunHarder-v0": (76, 21)}
    for id, (observation, action) in sizes.items():
        spec = wl.make_spec(id)
        assert (spec.observation_space.shape[-1], spec.action_space.shape[-1]) == (observation, action)


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


def test_pushes_come_every_200_to_300_frames():
    simulation = wl.Simulation("LocomotionAnt-v0", num_worlds=40, seed=0)
    gaps, last = Counter(), {}
    for frame in range(620):
        simulation.step(np.zeros((40, 1, 8), np.float32))
        force = np.linalg.norm(simulation["World"].xfrc_applied.numpy()[:, 1, :2].reshape(40, -1), axis=1)
        for world in np.flatnonzero(force):
            assert 1.0 - 1e-6 <= force[world] <= 5.0 + 1e-6
            if world in last:
                gaps[frame - last[world]] += 1
            last[world] = frame
    assert gaps
    assert min(gaps) >= 200
    assert max(gaps) <= 300


def test_flagrun_changes_targets_and_allows_falls():
    definition = define_flagrun("Flagrun-two", agents=2, spacing=1.0)
    simulation = wl.Simulation(definition, num_worlds=4, seed=0, config={"target_frames": 20, "fall_frames": 30})
    (kind,) = definition.entities
    targets = []
    for _ in range(70):
        simulation.step(np.zeros((4, 2, 21), np.float32))
        targets.append(simulation[kind].target.numpy().reshape(8, 2).copy())
    changes = (np.diff(targets, axis=0) != 0).any(-1).sum(0)
    assert (changes >= 2).all()
    assert not simulation.errors()


def test_robots_of_one_world_collide():
    definition = define_flagrun("Flagrun-close", agents=2, spacing=0.25)
    simulation = wl.Simulation(definition, num_worlds=2, seed=0)
    alone = wl.Simulation("LocomotionHumanoid-v0", num_worlds=2, seed=0)
    simulation.step(np.zeros((2, 2, 21), np.float32))
    alone.step(np.zeros((2, 1, 21), np.float32))
    speeds = np.abs(simulation["World"].qvel.numpy()).max()
    assert speeds > 2 * np.abs(alone["World"].qvel.numpy()).max(), "overlapping robots are pushed apart"


def test_height_maps_show_the_ground_of_physics():
    terrain = Terrain(half_size=8.0, cells=81, num_obstacles=30, clearing=0.5, seed=3)
    assert 0.2 < (terrain.heights > 0).mean() < 0.9
    definition = define_flagrun("Flagrun-rough", agents=1, target_distance=5.0, terrain=terrain)
    simulation = wl.Simulation(definition, num_worlds=4, seed=0, autoreset="disabled")
    for _ in range(30):
        simulation.step(np.zeros((4, 1, 21), np.float32))
    columns = Columns(simulation, 1, 0)
    data = mujoco.MjData(columns.model)
    data.qpos[:] = columns.row["qpos"]
    data.qpos[:2] = 100.0  # the robot is out of the way of the rays
    mujoco.mj_forward(columns.model, data)
    w, x, y, z = columns.row["qpos"][3:7]
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    equal = 0
    for i, j in np.ndindex(15, 11):
        u, v = 2 * i / 14 - 1, 2 * j / 10 - 1
        point = turn @ [2.5 * np.sign(u) * abs(u) ** 1.5, 1.5 * np.sign(v) * abs(v) ** 1.5] + columns.row["qpos"][:2]
        nearest = np.round((point + 8.0) / terrain.cell) * terrain.cell - 8.0
        ray = mujoco.mj_ray(columns.model, data, [*nearest, 5.0], [0.0, 0.0, -1.0], None, 1, -1, np.zeros(1, np.int32))
        seen = columns.row["height_map"][i, j] + columns.row["qpos"][2]
        equal += abs(5.0 - ray - seen) < 1e-6
    assert equal >= 163, "the map and the obstacles differ"  # one or two points lie between two cells


def test_without_mujoco_one_sentence_says_what_to_install(monkeypatch):
    """``registered`` lists the other worlds where a world cannot be defined for a reason of this kind."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(wl.InputError, match="robots need MuJoCo: pip install"):
        define_flagrun("FlagrunHarder-v0")
