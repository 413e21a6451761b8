"""Worlds as Gymnasium environments: spaces, autoreset, seeds, copies and infos, compared with SyncVectorEnv."""

import warnings
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from meadow import MEADOW, SKY
from thorough import sample

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.vector import world_batch
from worldloom.vector.adapters.gymnasium import AUTORESET_MODES, WorldEnv, WorldVectorEnv
from worldloom.vector.checks import RENDER_MODES

N = 3
WORLDS = {"Meadow": (MEADOW, "python"), "CartPole": (wl.definition("CartPole-v1"), "cpu")}


def rows(tree, world):
    """One world's row of batched data."""
    return {key: rows(part, world) for key, part in tree.items()} if isinstance(tree, dict) else tree[world]


def device_of(id_):
    """Interpreted, unless there are so many entities that compiling is faster."""
    return "python" if sum(wl.definition(id_).rows.values()) < 50 else "cpu"


BUNDLED = [id_ for id_ in wl.registered() if wl.definition(id_).world.__module__.startswith("worldloom.")]
"""Without the worlds of other tests, some of which have no agents."""
INTERPRETED = [id_ for id_ in BUNDLED if device_of(id_) == "python"]
COMPILED = [id_ for id_ in BUNDLED if device_of(id_) == "cpu"]


@pytest.mark.parametrize("id_", [*INTERPRETED, *sample(COMPILED, 1)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasiums_checker_passes(id_):
    env = gymnasium.make(f"worldloom/{id_}", device=device_of(id_))
    assert env.metadata["render_modes"] == ([] if wl.definition(id_).render is None else list(RENDER_MODES))
    check_env(env.unwrapped, skip_render_check=True)  # there may be no display


@pytest.mark.parametrize("id_", [*INTERPRETED, *sample(reversed(COMPILED), 1)])
def test_batches_lie_in_their_spaces(id_):
    env = wl.make(id_, N, device=device_of(id_), seed=0)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.observation_space == gymnasium.vector.utils.batch_space(env.single_observation_space, N)
    observations, _ = env.reset(seed=1)
    assert observations in env.observation_space
    env.action_space.seed(0)
    for _ in range(5):
        observations, rewards, terminations, truncations, _ = env.step(env.action_space.sample())
        assert observations in env.observation_space
        assert rewards.shape == (N,)
        assert rewards.dtype in (np.float32, np.float64)
        assert (terminations.shape, terminations.dtype, truncations.shape, truncations.dtype) == (
            (N,),
            np.bool_,
            (N,),
            np.bool_,
        )


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_autoreset_is_gymnasiums_own(world, mode):
    """World k of a batch equals world k in SyncVectorEnv, bit for bit."""
    made, device = WORLDS[world]
    env = WorldVectorEnv(made, N, device=device, autoreset=mode)
    twin = SyncVectorEnv(
        [lambda k=k: WorldEnv(made, device=device, world_offset=k) for k in range(N)],
        autoreset_mode=AUTORESET_MODES[mode],
    )
    assert env.metadata["autoreset_mode"] is AUTORESET_MODES[mode]
    assert data_equivalence(as_wide(env.reset(seed=7)[0]), as_wide(twin.reset(seed=[7] * N)[0]), exact=True)
    env.action_space.seed(3)
    ended = 0
    for step in range(60):
        actions = env.action_space.sample()
        got, expected = env.step(actions), twin.step(actions)
        compare(got, expected, step)
        over = got[2] | got[3]
        ended += over.sum()
        if mode == "disabled" and over.any():
            with pytest.raises(InputError, match=f"world {over.argmax()} is over"):
                env.step(actions)
            again, _ = env.reset(options={"reset_mask": over})
            expected_again, _ = twin.reset(options={"reset_mask": over})
            assert data_equivalence(as_wide(again), as_wide(expected_again), exact=True)
    assert ended > 3


def as_wide(data):
    """Integers in 64 bits, as Gymnasium stores them."""
    if isinstance(data, dict):
        return {key: as_wide(part) for key, part in sorted(data.items())}
    data = np.asarray(data)
    return data.astype(np.int64) if data.dtype.kind in "iub" else data.astype(np.float64)


def compare(got, expected, step):
    for place in range(4):
        assert data_equivalence(as_wide(got[place]), as_wide(expected[place]), exact=True), (step, place)
    infos, others = got[4], expected[4]
    assert infos.keys() == others.keys(), step
    for key in infos.keys() - {"final_obs", "final_info"}:
        assert np.array_equal(infos[key], others[key]), (step, key)
    if "final_obs" in others:
        for world in np.flatnonzero(others["_final_obs"]):
            assert data_equivalence(
                as_wide(rows(infos["final_obs"], world)), as_wide(others["final_obs"][world]), exact=True
            ), step
            for key, values in others["final_info"].items():
                assert np.array_equal(infos["final_info"][key][world], values[world]), (step, key)


def test_last_observations_are_dense_with_a_mask():
    env = WorldVectorEnv(MEADOW, N, device="python", seed=2)
    found = [infos for *_, infos in (env.step(env.action_space.sample()) for _ in range(12)) if "final_obs" in infos]
    assert found
    for infos in found:
        assert infos["final_obs"]["sight"].shape == (N, 2, 3)
        assert np.array_equal(infos["final_info"]["_day"], infos["_final_info"])
        for world in np.flatnonzero(infos["_final_obs"]):
            assert rows(infos["final_obs"], world) in env.single_observation_space


def test_seeds_are_honoured():
    env = WorldVectorEnv(SKY, N, device="python", seed=4)
    other = WorldVectorEnv(SKY, N, device="python", seed=99)
    first, _ = env.reset(seed=4)
    assert np.array_equal(first, other.reset(seed=4)[0])
    assert len(np.unique(first)) == N
    assert not np.array_equal(first, env.reset()[0]), "without a seed the next episode begins"
    listed, _ = env.reset(seed=[4, 5, 4])
    assert np.array_equal(listed[[0, 2]], first[[0, 2]])
    assert listed[1] != first[1]
    made = WorldVectorEnv(SKY, N, device="python", seed=[4, 5, 4])
    assert np.array_equal(made.batch.observations(), listed)


def test_unseeded_environments_differ():
    one, two = (WorldVectorEnv(SKY, N, device="python").reset()[0] for _ in range(2))
    assert not np.array_equal(one, two)


def test_reset_mask_leaves_the_others_alone():
    env = WorldVectorEnv(SKY, N, device="python", seed=0)
    before = env.step(np.ones((N, 1)))[0]
    mask = np.array([False, True, False])
    after, _ = env.reset(options={"reset_mask": mask})
    assert np.array_equal(after[~mask], before[~mask])
    assert after[1] != before[1]
    with pytest.raises(InputError, match=r"reset mask holds one truth value per world, shape \(3,\)"):
        env.reset(options={"reset_mask": np.ones(2, bool)})


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_copies_stay_and_views_move(backend):
    for copy in (True, False):
        env = WorldVectorEnv("CartPole-v1", N, seed=0, backend=backend, copy=copy)
        kept = [np.asarray(part) for part in env.step(np.zeros(N, int))[:4]]
        before = [part.copy() for part in kept]
        for _ in range(8):
            env.step(np.zeros(N, int))
        same = [np.array_equal(part, old) for part, old in zip(kept, before, strict=True)]
        assert same[0] is copy
        assert all(same) is copy
        column = env.simulation["Cart"].sight.numpy()
        assert np.shares_memory(kept[0], column) is not copy


def test_threads_copy_large_observations(monkeypatch):
    one, other = (WorldVectorEnv("CartPole-v1", 6, seed=0, threads=threads) for threads in (1, 3))
    assert not one.simulation.copies_in_step and other.simulation.copies_in_step
    monkeypatch.setattr(world_batch, "OVERLAPPED_COPY_BYTES", 1)
    large = WorldVectorEnv("CartPole-v1", 6, seed=0, threads=3)
    actions = np.random.default_rng(0).integers(0, 2, (60, 6))
    for env in (one, other, large):
        env.reset()
    kept = []
    for row in actions:
        expected, again, found = (env.step(row) for env in (one, other, large))
        assert data_equivalence(expected, again) and data_equivalence(expected, found)
        assert not np.shares_memory(found[0], large.simulation["Cart"].sight.numpy())
        kept.append((found[0], found[0].copy()))
    assert all(np.array_equal(*pair) for pair in kept)
    mask = np.arange(6) == 2
    assert data_equivalence(*(env.reset(seed=3, options={"reset_mask": mask})[0] for env in (one, large)))
    large.close()
    with pytest.raises(InputError, match="closed"):
        large.step(actions[0])


def test_torch_tensors_in_and_out():
    env = wl.make("CartPole-v1", N, env_type="torch", seed=1)
    twin = wl.make("CartPole-v1", N, seed=1)
    for step in range(25):
        actions = np.full(N, step % 3 == 0, np.int64)
        got, expected = env.step(torch.as_tensor(actions)), twin.step(actions)
        assert all(isinstance(part, torch.Tensor) for part in got[:4])
        assert all(np.array_equal(one.numpy(), two) for one, two in zip(got[:4], expected[:4], strict=True))
        assert torch.equal(got[4]["_final_obs"], got[2] | got[3])
        assert got[4]["final_obs"].shape == (N, 4), "there at every step, so that nobody has to ask the device"
        if "final_obs" in expected[4]:
            over = expected[4]["_final_obs"]
            assert np.array_equal(got[4]["final_obs"].numpy()[over], expected[4]["final_obs"][over])


def test_agents_share_one_world():
    env = WorldVectorEnv(MEADOW, N, device="python", seed=0)
    assert list(env.single_action_space) == ["thrust", "turn"]
    assert env.single_action_space["turn"] == gymnasium.spaces.MultiDiscrete([3, 3])
    actions = {"thrust": np.zeros((N, 2, 2)), "turn": np.array([[2, 2], [2, 0], [0, 1]])}
    rewards = env.step(actions)[1]
    assert rewards.tolist() == [3.0, 1.5, 0.0], "the reward of a world is the sum over its agents"
    with pytest.raises(InputError, match="actions are a mapping with the keys turn, thrust"):
        env.step(np.zeros((N, 2)))
    with pytest.raises(InputError, match=r"Bee.turn takes int32 of shape \(3, 2\)"):
        env.step({**actions, "turn": np.zeros((N, 5), int)})


def test_infos_have_masks():
    env = WorldVectorEnv(MEADOW, N, device="python", seed=0, autoreset="next_step")
    _, infos = env.reset()
    assert infos["day"].tolist() == [0.0] * N
    infos = env.step(env.action_space.sample())[4]
    assert set(infos) == {"day", "_day", "nectar", "_nectar"}
    assert infos["_day"].all()
    assert infos["nectar"].shape == (N, 2)


def test_one_world_takes_what_gymnasiums_does():
    env = WorldEnv(SKY, device="python")
    env.reset(seed=0)
    before = env.step([0.5])[0]
    assert env.step(np.array([3.0]))[0] == pytest.approx(before + 2.5), (
        "bounds describe the space, and are not enforced"
    )
    pole = WorldEnv("CartPole-v1", device="python")
    pole.reset()
    with pytest.raises(InputError, match=r"5 is no action of Discrete\(2\)"):
        pole.step(5)


def test_rendering():
    env = WorldVectorEnv(MEADOW, N, device="python", render_mode="rgb_array", seed=0)
    env.reset()
    env.simulation.step()
    frames = env.render()
    assert (len(frames), frames[0].shape, frames[0].dtype) == (N, (4, 6, 3), np.uint8)
    assert [int(frame.max()) for frame in frames] == (10 * env.simulation.world.step.numpy()).tolist()
    assert env.metadata["render_fps"] == 5
    assert WorldVectorEnv(MEADOW, N, device="python").render() is None
    with pytest.raises(InputError, match="world 'Sky-test' has no renderer"):
        WorldVectorEnv(SKY, N, render_mode="rgb_array")
    with pytest.raises(InputError, match="render_mode must be 'human', 'rgb_array', 'rgb_array_list' or None, not 'x'"):
        WorldVectorEnv(MEADOW, N, render_mode="x")


def test_a_closed_environment_says_so():
    env = WorldVectorEnv(SKY, N, device="python")
    env.close()
    env.close()
    assert env.closed
    with pytest.raises(InputError, match="closed"):
        env.step(np.zeros((N, 1)))


def test_made_by_gymnasium():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make_vec("worldloom/CartPole-v1", num_envs=N, device="python", force=2.0, max_episode_steps=7)
    assert isinstance(env, WorldVectorEnv)
    assert env.spec.id == "worldloom/CartPole-v1"
    assert env.simulation.world.force.numpy().tolist() == [2.0]
    env.reset(seed=0)
    for step in range(7):
        *_, truncations, _ = env.step(np.array([step % 2] * N))
    assert truncations.all()
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    synchronous = gymnasium.make_vec("worldloom/CartPole-v1", num_envs=2, vectorization_mode="sync", device="python")
    assert synchronous.reset(seed=1)[0].shape == (2, 4)
    assert synchronous.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("make", [gymnasium.make, WorldEnv], ids=["made", "alone"])
def test_one_world_needs_a_reset_before_and_after_an_episode(make):
    env = make("worldloom/CartPole-v1" if make is gymnasium.make else "CartPole-v1", device="python")
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"has not been reset yet: call reset\(\) first") as caught:
        env.step(0)
    assert isinstance(caught.value, InputError)
    for _ in range(2):
        env.reset(seed=0)
        while not env.step(1)[2]:
            pass
        for other in (env, deepcopy(env)):
            with pytest.raises(gymnasium.error.ResetNeeded, match=r"is over: call reset\(\) first"):
                other.step(1)


def test_one_world_continues_from_a_snapshot_after_its_end():
    env = WorldEnv("MountainCar-v0", device="python", max_steps=2)
    snapshot = env.simulation.snapshot()
    env.simulation.restore(snapshot)
    env.step(1)
    snapshot = env.simulation.snapshot()
    for _ in range(2):
        assert env.step(1)[3]
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(1)
        env.simulation.restore(snapshot)
