"""The MuJoCo tasks are Gymnasium's: from the same state, the same actions give the same steps.

States are compared bit for bit. So are observations and infos that are copies of MuJoCo's numbers. Sums, norms, sines
and cosines are compared to 1e-12.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.envs.mujoco.family import IDS, settings_class

pytestmark = pytest.mark.filterwarnings("ignore")  # Gymnasium calls v4 out of date

ACCURACY = 1e-12
STEPS, MAX_STEPS = (1200, None) if THOROUGH else (60, 25)
"""Steps of every case, and the limit of an episode's steps; None for the task's own."""
RESETS = 4000
"""Worlds whose initial states are compared with those of Gymnasium."""

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("Ant-v5", {"include_cfrc_ext_in_observation": False, "main_body": "torso", "healthy_reward": 0.3}),
    ("Ant-v5", {"exclude_current_positions_from_observation": False, "frame_skip": 3, "forward_reward_weight": 2.5}),
    ("Ant-v5", {"contact_force_range": (-0.5, 2.0), "contact_cost_weight": 0.1, "ctrl_cost_weight": 0.2}),
    ("Ant-v5", {"terminate_when_unhealthy": False, "healthy_z_range": (0.4, 0.6), "reset_noise_scale": 0.3}),
    ("Ant-v4", {"use_contact_forces": True, "healthy_z_range": (0.5, 0.8)}),
    ("Ant-v4", {"terminate_when_unhealthy": False, "exclude_current_positions_from_observation": False}),
    ("HalfCheetah-v5", {"forward_reward_weight": 0.7, "ctrl_cost_weight": 0.3, "frame_skip": 2}),
    ("HalfCheetah-v4", {"exclude_current_positions_from_observation": False, "reset_noise_scale": 0.5}),
    ("Hopper-v5", {"healthy_state_range": (-2.0, 2.0), "healthy_angle_range": (-1.0, 1.0), "frame_skip": 3}),
    ("Hopper-v5", {"terminate_when_unhealthy": False, "healthy_reward": 2.0, "ctrl_cost_weight": 0.1}),
    ("Hopper-v4", {"terminate_when_unhealthy": False, "exclude_current_positions_from_observation": False}),
    ("Walker2d-v5", {"healthy_z_range": (1.1, 1.4), "healthy_angle_range": (-0.1, 0.2), "forward_reward_weight": 3.0}),
    ("Walker2d-v4", {"terminate_when_unhealthy": False, "exclude_current_positions_from_observation": False}),
    ("Swimmer-v5", {"exclude_current_positions_from_observation": False, "ctrl_cost_weight": 0.5, "frame_skip": 2}),
    ("InvertedPendulum-v5", {"reset_noise_scale": 0.1, "frame_skip": 4}),
    ("InvertedDoublePendulum-v5", {"healthy_reward": 3.0, "reset_noise_scale": 0.2}),
    ("Reacher-v5", {"reward_dist_weight": 2.0, "reward_control_weight": 0.3}),
    ("Pusher-v5", {"reward_near_weight": 0.1, "reward_dist_weight": 3.0, "reward_control_weight": 0.4}),
    ("Humanoid-v5", {"include_cinert_in_observation": False, "include_qfrc_actuator_in_observation": False}),
    ("Humanoid-v5", {"include_cvel_in_observation": False, "contact_cost_range": (0.01, 0.5), "frame_skip": 4}),
    ("Humanoid-v5", {"include_cfrc_ext_in_observation": False, "exclude_current_positions_from_observation": False}),
    ("Humanoid-v4", {"terminate_when_unhealthy": False, "healthy_z_range": (1.2, 1.4), "ctrl_cost_weight": 0.5}),
    ("HumanoidStandup-v5", {"uph_cost_weight": 2.0, "impact_cost_weight": 1e-4, "impact_cost_range": (0.1, 1.0)}),
    ("HumanoidStandup-v5", {"include_cvel_in_observation": False, "include_cfrc_ext_in_observation": False}),
]
CASES = sample([*((id, {}) for id in IDS), *VARIANTS], 3)
NAMES = ["-".join((id, *settings)) for id, settings in CASES]

COMPUTED_OBSERVATIONS = ("Reacher", "InvertedDoublePendulum")
"""Tasks that observe sines and cosines."""
COPIED_INFOS = ("x_position", "y_position", "x_velocity", "y_velocity", "z_distance_from_origin", "tendon_length")
"""Infos that are compared bit for bit, except Humanoid's, whose velocity is that of its center of mass."""


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo appends warnings about Gymnasium's models to a file in the current folder."""
    monkeypatch.chdir(tmp_path)


def make_reference(id: str, settings: dict[str, Any]) -> Any:
    return gymnasium.make(id, disable_env_checker=True, **settings).unwrapped


def assert_equal(name: str, ours: Any, theirs: Any, copied: bool) -> None:
    if copied:
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=ACCURACY, atol=ACCURACY, err_msg=name)


def assert_same_infos(id: str, infos: dict[str, Any], world: int, theirs: dict[str, Any]) -> None:
    for name, value in theirs.items():
        copied = name in COPIED_INFOS and not id.startswith("Humanoid-")
        assert_equal(name, infos[name][world], value, copied)


class Pair:
    """One world and its reference, Gymnasium's environment in the same state."""

    def __init__(self, env: Any, world: int, reference: Any) -> None:
        self.env, self.world, self.reference, self.steps = env, world, reference, 0
        self.id = env.simulation.definition.id
        self.copied = not self.id.startswith(COMPUTED_OBSERVATIONS)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        (kind,) = self.env.simulation.definition.entities
        table = self.env.simulation[kind]
        return table.qpos.numpy()[self.world, 0].copy(), table.qvel.numpy()[self.world, 0].copy()

    def begin(self, observations: np.ndarray, infos: dict[str, Any]) -> None:
        """Set the reference to the world's initial state, and compare what a reset returns."""
        self.steps = 0
        mujoco.mj_resetData(self.reference.model, self.reference.data)
        self.reference.set_state(*self.state())
        assert_equal("initial observation", observations[self.world], self.reference._get_obs(), self.copied)
        assert_same_infos(self.id, infos, self.world, self.reference._get_reset_info())

    def compare(self, action: np.ndarray, results: tuple[Any, ...], limit: int) -> None:
        """Step the reference, and compare what the world's step returned."""
        observations, rewards, terminations, truncations, infos = results
        expected = self.reference.step(action.astype(np.float64))
        self.steps += 1
        for name, value in zip(("qpos", "qvel"), self.state(), strict=True):
            assert_equal(name, value, getattr(self.reference.data, name), copied=True)
        assert_equal("observation", observations[self.world], expected[0], self.copied)
        assert_equal("reward", rewards[self.world], expected[1], copied=False)
        assert terminations[self.world] == expected[2]
        assert truncations[self.world] == (self.steps == limit)
        assert {name for name in infos if not name.startswith("_")} == set(expected[4])
        assert_same_infos(self.id, infos, self.world, expected[4])


@pytest.mark.parametrize(("id", "settings"), CASES, ids=NAMES)
def test_steps_are_gymnasiums(id: str, settings: dict[str, Any]) -> None:
    limit = MAX_STEPS or gymnasium.spec(id).max_episode_steps
    env = wl.make(id, 2, autoreset="disabled", max_steps=limit, **settings)
    pairs = [Pair(env, world, make_reference(id, settings)) for world in range(2)]
    rng = np.random.default_rng(1)
    low, high = env.single_action_space.low, env.single_action_space.high
    results = env.reset(seed=5)
    for pair in pairs:
        pair.begin(*results)
    episodes = 0
    for _ in range(STEPS):
        actions = rng.uniform(low, high, (2, *low.shape)).astype(np.float32)
        results = env.step(actions)
        for pair in pairs:
            pair.compare(actions[pair.world], results, limit)
        ended = results[2] | results[3]
        episodes += int(ended.sum())
        if ended.any():
            starts = env.reset(options={"reset_mask": ended})
            for pair in (pairs[world] for world in np.flatnonzero(ended)):
                pair.begin(*starts)
    assert episodes >= 2
    assert not env.simulation.errors()
    env.close()


@pytest.mark.parametrize("id", IDS)
def test_spaces_and_limits_are_gymnasiums(id: str) -> None:
    spec, reference = wl.make_spec(id), make_reference(id, {})
    assert spec.observation_space == reference.observation_space
    assert spec.action_space == reference.action_space
    assert spec.max_steps == gymnasium.spec(id).max_episode_steps
    assert wl.definition(id).frames_per_second == reference.metadata["render_fps"]


@pytest.mark.parametrize("id", IDS)
def test_settings_are_gymnasiums_arguments(id: str) -> None:
    """All arguments with their defaults, except those of pictures."""
    arguments = inspect.signature(type(make_reference(id, {})).__init__).parameters
    expected = {
        name: argument.default
        for name, argument in arguments.items()
        if name not in ("self", "kwargs", "default_camera_config")
    }
    assert vars(settings_class(id)()) == expected


@pytest.mark.parametrize("id", sample([id for id in IDS if id.endswith("v5")], 1))
def test_initial_states_have_gymnasiums_distribution(id: str) -> None:
    """Bounds, means and variances of every number of the state."""
    simulation = wl.Simulation(id, RESETS, "cpu", seed=3)
    (kind,) = simulation.definition.entities
    reference = make_reference(id, {})
    reference.reset(seed=0)
    theirs: dict[str, list[np.ndarray]] = {"qpos": [], "qvel": []}
    for _ in range(RESETS // 4):
        reference.reset()
        for name, states in theirs.items():
            states.append(getattr(reference.data, name).copy())
    for name, states in theirs.items():
        ours, expected = getattr(simulation[kind], name).numpy()[:, 0], np.array(states)
        spread = expected.std(axis=0)
        constant = spread == 0.0
        np.testing.assert_array_equal(ours[:, constant], np.broadcast_to(expected[0], ours.shape)[:, constant])
        ours, expected, spread = ours[:, ~constant], expected[:, ~constant], spread[~constant]
        error = spread * np.sqrt(1.0 / len(ours) + 1.0 / len(expected))
        assert (np.abs(ours.mean(axis=0) - expected.mean(axis=0)) < 5.0 * error).all()
        np.testing.assert_allclose(ours.std(axis=0), spread, rtol=0.12)
        reach = np.abs(expected - expected.mean(axis=0)).max(axis=0)
        np.testing.assert_allclose(np.abs(ours - ours.mean(axis=0)).max(axis=0), reach, rtol=0.5)
    simulation.close()
