"""All of Gymnasium's vector wrappers around worlds: they work wherever they work on Gymnasium's own environments."""

import importlib

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import wrappers
from gymnasium.wrappers import vector
from thorough import covering

N, STEPS = 2, 24
WORLDS = ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1", "Pong-v5"]


def identity(values):
    return values


def reshape_last(env):
    return vector.ReshapeObservation(env, shape=(*env.single_observation_space.shape, 1))


def to_jax(env):
    return vector.ArrayConversion(env, env_xp=np, target_xp=importlib.import_module("jax.numpy"))


WRAPPERS = {
    "ArrayConversion": lambda env: vector.ArrayConversion(env, env_xp=np, target_xp=torch),
    "ClipAction": vector.ClipAction,
    "ClipReward": lambda env: vector.ClipReward(env, -0.5, 0.5),
    "DictInfoToList": vector.DictInfoToList,
    "DtypeObservation": lambda env: vector.DtypeObservation(env, np.float64),
    "FilterObservation": lambda env: vector.FilterObservation(env, [0, 2]),
    "FlattenObservation": vector.FlattenObservation,
    "GrayscaleObservation": vector.GrayscaleObservation,
    "HumanRendering": vector.HumanRendering,
    "JaxToNumpy": lambda env: vector.JaxToNumpy(to_jax(env)),
    "JaxToTorch": lambda env: vector.JaxToTorch(to_jax(env)),
    "NormalizeObservation": vector.NormalizeObservation,
    "NormalizeReward": vector.NormalizeReward,
    "NumpyToTorch": vector.NumpyToTorch,
    "RecordEpisodeStatistics": vector.RecordEpisodeStatistics,
    "RecordVideo": vector.RecordVideo,
    "RescaleAction": lambda env: vector.RescaleAction(env, -0.5, 0.5),
    "RescaleObservation": lambda env: vector.RescaleObservation(env, 0.0, 1.0),
    "ReshapeObservation": reshape_last,
    "ResizeObservation": lambda env: vector.ResizeObservation(env, (16, 16)),
    "TransformAction": lambda env: vector.TransformAction(env, identity),
    "TransformObservation": lambda env: vector.TransformObservation(env, identity),
    "TransformReward": lambda env: vector.TransformReward(env, np.negative),
    "VectorizeTransformAction": lambda env: vector.VectorizeTransformAction(
        env, wrappers.TransformAction, func=identity, action_space=env.single_action_space
    ),
    "VectorizeTransformObservation": lambda env: vector.VectorizeTransformObservation(
        env, wrappers.TransformObservation, func=identity, observation_space=env.single_observation_space
    ),
    "VectorizeTransformReward": lambda env: vector.VectorizeTransformReward(
        env, wrappers.ClipReward, min_reward=-0.5, max_reward=0.5
    ),
}
RENDERERS = {"HumanRendering", "RecordVideo"}
NEEDS = {"HumanRendering": "pygame", "RecordVideo": "moviepy", "JaxToNumpy": "jax", "JaxToTorch": "jax"}
CONVERTERS = {"ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"}


def make_ours(world, **arguments):
    device = "cpu" if world == "Pong-v5" else "python"
    return gymnasium.make_vec(f"worldloom/{world}", num_envs=N, device=device, **arguments)


def make_twin(world):
    """Gymnasium's own environment; for Pong, single worlds in Gymnasium's own vector environment."""
    if world == "Pong-v5":
        return gymnasium.make_vec("worldloom/Pong-v5", num_envs=N, vectorization_mode="sync")
    return gymnasium.make_vec(world, num_envs=N, vectorization_mode="sync")


def layout(value):
    """The nested kinds, shapes and types of a batched value."""
    if isinstance(value, dict):
        return {key: layout(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(layout, value))
    return type(value).__module__.partition(".")[0], tuple(value.shape), str(value.dtype).rpartition(".")[2]


def run(env):
    """The layouts of observations, after a reset and after the last of some steps; and the results of all steps."""
    env.action_space.seed(0)
    first, _ = env.reset(seed=0)
    actions = [env.unwrapped.action_space.sample() for _ in range(STEPS)]
    to_env = torch.as_tensor if isinstance(first, torch.Tensor) else identity
    results = [env.step(to_env(action)) for action in actions]
    return layout(first), layout(results[-1][0]), results


def test_every_wrapper_is_covered():
    assert set(vector.__all__) == set(WRAPPERS)


@pytest.mark.parametrize(("name", "world"), covering(sorted(WRAPPERS.keys() - RENDERERS), WORLDS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_wrapper_works_as_on_gymnasiums_own(name, world):
    if world == "Pong-v5":
        pytest.importorskip("ale_py", reason="ale-py has the ROMs")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    if name in CONVERTERS:
        pytest.importorskip("array_api_compat")
    ours, twin = make_ours(world), make_twin(world)
    try:
        expected = run(WRAPPERS[name](twin))
    except Exception as refusal:  # such as an image filter on a vector, or actions out of range
        with pytest.raises(type(refusal)):
            run(WRAPPERS[name](ours))
        return
    wrapped = WRAPPERS[name](ours)
    found = run(wrapped)
    assert found[:2] == expected[:2]
    for observations, rewards, terminations, truncations, infos in found[2]:
        assert rewards.shape == terminations.shape == truncations.shape == (N,)
        assert isinstance(infos, list if name == "DictInfoToList" else dict)
        if name not in CONVERTERS:
            assert observations in wrapped.observation_space


@pytest.mark.parametrize(("name", "world"), covering(sorted(RENDERERS), WORLDS))
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_wrapper_that_draws(name, world, tmp_path, monkeypatch):
    pytest.importorskip(NEEDS[name])
    if world == "Pong-v5":
        pytest.importorskip("ale_py", reason="ale-py has the ROMs")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    ours = make_ours(world, render_mode="rgb_array")
    ours.metadata["render_fps"] = 1000  # the window waits between two images
    wrapped = vector.HumanRendering(ours) if name == "HumanRendering" else vector.RecordVideo(ours, str(tmp_path))
    wrapped.reset(seed=0)
    for _ in range(3):
        wrapped.step(wrapped.action_space.sample())
    wrapped.close()
    assert bool(list(tmp_path.glob("*.mp4"))) is (name == "RecordVideo")


def test_episode_statistics_add_up():
    """The returns that the wrapper reports are the sums of the rewards of the episodes."""
    env, total, reported = vector.RecordEpisodeStatistics(make_ours("CartPole-v1")), np.zeros(N), 0
    env.reset(seed=0)
    skip = np.zeros(N, bool)
    for _ in range(80):
        _, rewards, terminations, truncations, infos = env.step(np.ones(N, int))
        total = np.where(skip, 0.0, total + rewards)
        skip = terminations | truncations
        for world in np.flatnonzero(skip):
            assert infos["episode"]["r"][world] == total[world]
            reported += 1
    assert reported > 4
