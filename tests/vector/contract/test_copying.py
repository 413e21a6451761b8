"""Pickled and deep-copied environments of all kinds continue as their originals do, bit for bit."""

import copy
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from meadow import SKY
from pool_envs import Moody, Unpicklable
from thorough import sample

import worldloom as wl
from worldloom.vector.adapters.gymnasium import WorldEnv
from worldloom.vector.process_pool.pool import ProcessPool
from worldloom.vector.world_pool import WorldPool

N, STEPS = 3, 1000


def twins(original):
    """A deep copy, and a copy through the bytes of a pickle."""
    return [copy.deepcopy(original), pickle.loads(pickle.dumps(original))]


def assert_equal(one, other):
    """Compare nested values, including types and the bits of numbers that are not finite."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
    elif isinstance(one, torch.Tensor):
        assert_equal(one.numpy(), other.numpy())
    elif isinstance(one, np.ndarray) and one.dtype == object:
        assert_equal(one.tolist(), other.tolist())
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    else:
        assert np.array_equal(one, other)


def continue_all(original, copies, advance, steps=STEPS):
    """Step an original and its copies: ``advance(env, step)`` returns everything that they return."""
    for step in range(steps):
        expected = advance(original, step)
        for other in copies:
            assert_equal(advance(other, step), expected)


def sample_and_step(env, step):
    """A random action, which the space of the environment draws, and its results."""
    action = env.action_space.sample()
    return action, env.step(action)


VECTORS = {
    "numpy": ("CartPole-v1", {}),
    "next_step": ("CartPole-v1", {"autoreset": "next_step"}),
    "views": ("FrozenLake-v1", {"copy": False}),
    "torch": ("CartPole-v1", {"env_type": "torch"}),
    "tuple": ("Blackjack-v1", {}),
    "config_per_world": ("Pendulum-v1", {"g": np.linspace(5.0, 15.0, N, dtype=np.float32), "max_steps": 30}),
    "seeds": ("Taxi-v4", {"seed": [5, 5, 2**40]}),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_vector_environments(kind):
    id_, arguments = VECTORS[kind]
    env = wl.make(id_, N, **{"seed": 1, **arguments})
    env.action_space.seed(2)
    env.reset()
    for _ in range(17):
        env.step(env.action_space.sample())
    copies = twins(env)
    for other in copies:
        assert other.simulation is other.batch.simulation is not env.simulation
        assert_equal(other.get_attr("np_random_seed"), env.get_attr("np_random_seed"))
    continue_all(env, copies, sample_and_step)
    for other in copies:
        assert_equal(other.reset(seed=3), env.reset(seed=3))


def test_pong():
    pytest.importorskip("ale_py", reason="ale-py has the ROMs")
    env = wl.make("Pong-v5", 2, seed=0, frame_skip=3)
    env.reset()
    env.step(env.action_space.sample())
    continue_all(env, twins(env), sample_and_step, 20)


def test_episodes_that_are_over_stay_over():
    env = wl.make("CartPole-v1", N, device="python", seed=0, autoreset="disabled", max_steps=2)
    env.reset()
    env.step(np.zeros(N, int)), env.step(np.zeros(N, int))
    for other in twins(env):
        with pytest.raises(wl.InputError, match="world 0 is over"):
            other.step(np.zeros(N, int))
        assert_equal(other.reset(options={"reset_mask": np.ones(N, bool)})[0].shape, (N, 4))


@pytest.mark.parametrize("reset_first", [True, False])
def test_one_world(reset_first):
    env = gymnasium.make("worldloom/CartPole-v1", device="cpu")
    env.reset(seed=4)
    if reset_first:
        env.step(0)

    def advance(env, step):
        result = env.step(step // 2 % 2)
        return (*result, env.reset()) if result[2] or result[3] else result

    continue_all(env, twins(env), advance)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_simulations(device, columns):
    sim = wl.Simulation("Taxi-v4", N, device, seed=9, counts=None, autoreset="next_step", world_offset=5)
    random = np.random.default_rng(0)

    def advance(sim, actions):
        sim.step(actions)
        return columns(sim)

    advance(sim, random.integers(0, 6, (N, 1)).astype(np.int32))
    copies = twins(sim)
    for actions in random.integers(0, 6, (STEPS if device == "cpu" else 60, N, 1)).astype(np.int32):
        expected = advance(sim, actions)
        for other in copies:
            assert_equal(advance(other, actions), expected)


def test_a_first_reset_keeps_the_episodes_of_the_seed():
    env = wl.make("CartPole-v1", N, device="python", seed=8)
    copies = twins(env)
    first, _ = env.reset()
    for other in copies:
        assert_equal(other.reset()[0], first)


def test_dm_env():
    pytest.importorskip("dm_env")
    env = wl.make("CartPole-v1", N, env_type="dm", seed=0)
    env.reset()
    continue_all(env, twins(env), lambda env, step: tuple(env.step(np.array([step % 2, 0, 1]))))


def test_pettingzoo():
    adapters = pytest.importorskip("worldloom.vector.adapters.pettingzoo")
    vector = adapters.WorldParallelVectorEnv("TagGrid-v0", N, seed=0)
    vector.reset()

    def step_vector(env, step):
        return env.step({kind: np.full((N, k.count), (step * 7) % 5) for kind, k in env.kinds.items()})

    continue_all(vector, twins(vector), step_vector, 200)
    env = adapters.WorldParallelEnv("TagGrid-v0", seed=0)
    env.reset()

    def step_agents(env, step):
        result = env.step({agent: (step + k) % 5 for k, agent in enumerate(env.agents)})
        return (*result, None if env.agents else env.reset())

    continue_all(env, twins(env), step_agents, 200)


def test_turns():
    adapters = pytest.importorskip("worldloom.vector.adapters.pettingzoo_aec")
    env = adapters.WorldAecEnv("Hanabi-v0", players=2, device="cpu", seed=0)
    env.reset()

    def advance(env, step):
        observation, reward, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.reset()
            return ()
        env.step(int(observation["action_mask"].argmax()))
        return observation, reward, env.agent_selection

    continue_all(env, twins(env), advance, 200)


def test_pools_of_worlds():
    with WorldPool("CartPole-v1", 4, 2, seed=0) as pool:
        pool.async_reset()
        copies = twins(pool)  # while all worlds step

        def both_groups(env, step):
            results = sorted((env.recv(), env.recv()), key=lambda result: result[4]["env_id"][0])
            for observations, *_, infos in results:
                env.send((observations[:, 2] > 0).astype(np.int32), infos["env_id"])
            return results

        continue_all(pool, copies, both_groups, STEPS // 2)
        for other in copies:
            other.close()


@pytest.mark.parametrize("autoreset", sample(["next_step", "same_step"], 1))
def test_pools_of_processes(autoreset):
    with ProcessPool("CartPole-v1", N, num_workers=2, seed=0, autoreset=autoreset) as pool:
        pool.reset()
        for _ in range(12):
            pool.step(pool.action_space.sample())
        copies = twins(pool)
        continue_all(pool, copies, sample_and_step)
        for other in copies:
            other.close()


def test_a_pool_of_processes_is_copied_in_flight():
    """Results that were not received yet are those of the copy too, long infos included."""
    with ProcessPool(Moody, 4, batch_size=2, num_workers=2, seed=0) as pool:
        pool.async_reset()
        copies = twins(pool)
        assert_equal(copies[0].recv(), pool.recv())
        copies[1].recv()
        for other in copies:
            other.close()


def test_environments_that_cannot_be_pickled():
    with ProcessPool(Unpicklable, 2, num_workers=1, seed=0) as pool:
        pool.reset()
        with pytest.raises(wl.InputError, match=r"the environments of this pool cannot be copied: .*no pickle of me"):
            pickle.dumps(pool)
        assert pool.step(np.zeros(2, int))[1].shape == (2,)


ADAPTERS = {
    "Sb3VectorEnv": lambda env, step: env.step(np.array([step % 2, 0, 1])),
    "SkrlVectorEnv": lambda env, step: env.step(torch.tensor([[step % 2], [0], [1]])),
    "RlGamesVectorEnv": lambda env, step: env.step(torch.tensor([step % 2, 0, 1])),
}
LIBRARIES = {"Sb3VectorEnv": "stable_baselines3", "SkrlVectorEnv": "skrl", "RlGamesVectorEnv": "rl_games"}


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapters(name):
    pytest.importorskip(LIBRARIES[name])
    from worldloom import vector

    env = getattr(vector, name)("CartPole-v1", N, seed=0)
    env.reset()
    continue_all(env, twins(env), ADAPTERS[name], 100)


def test_torchrl():
    pytest.importorskip("torchrl")
    from worldloom.vector import TorchRLVectorEnv

    env = TorchRLVectorEnv("CartPole-v1", N, seed=0)
    start = env.reset()
    for other in twins(env):
        action = torch.tensor([0, 1, 1])
        found, expected = (one.step(start.clone().set("action", action)) for one in (other, copy.deepcopy(env)))
        assert torch.equal(found["next", "observation"], expected["next", "observation"])


def test_a_pickle_opens_in_another_process(tmp_path):
    env = wl.make("CartPole-v1", N, device="python", seed=0)
    env.reset()
    env.step(np.ones(N, int))
    path = tmp_path / "env.pickle"
    path.write_bytes(pickle.dumps(env))
    program = f"""
import pickle, numpy as np, worldloom
env = pickle.load(open({str(path)!r}, "rb"))
print(env.step(np.ones({N}, int))[0].tobytes().hex())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split()[-1] == env.step(np.ones(N, int))[0].tobytes().hex()


def test_altered_states_are_refused():
    """The state in a pickle is read by the loader of snapshot files, which checks every byte."""
    unpickle, (cls, id_, arguments, state, pristine) = wl.Simulation("CartPole-v1", N, "python").__reduce_ex__(4)
    altered = bytes([*state[:-1], state[-1] ^ 1])
    with pytest.raises(wl.InputError, match="the pickled simulation cannot be used as a snapshot"):
        unpickle(cls, id_, arguments, altered, pristine)
    with pytest.raises(wl.InputError, match="this is a snapshot of world 'CartPole-v1', not one of world 'Taxi-v4'"):
        unpickle(cls, "Taxi-v4", arguments, state, pristine)


def test_worlds_that_are_not_registered():
    """Another process could not find them by their id. A deep copy shares the definition."""
    env = wl.make(SKY, N, device="python", seed=0)
    env.action_space.seed(0)
    with pytest.raises(wl.InputError, match="world 'Sky-test' cannot be pickled, since its id does not lead to it"):
        pickle.dumps(env)
    continue_all(env, [copy.deepcopy(env)], sample_and_step, 30)


@pytest.mark.parametrize(
    "make",
    [
        lambda: wl.Simulation("CartPole-v1", 2, "python"),
        lambda: wl.make("CartPole-v1", 2, device="python"),
        lambda: WorldEnv("CartPole-v1", device="python"),
    ],
)
def test_no_shallow_and_no_closed_copies(make):
    owner = make()
    with pytest.raises(wl.InputError, match=f"a shallow copy of a {type(owner).__name__} would share its memory"):
        copy.copy(owner)
    owner.close()
    with pytest.raises(wl.InputError, match="this simulation is closed"):
        copy.deepcopy(owner)
