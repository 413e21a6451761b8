"""The pool of processes with any space: values without a fixed shape are pickled."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from sampler_env import Hexagon, Sampler, bounded, same_action

import worldloom as wl
from worldloom.vector import ProcessPool, WorkerError

N = 3
LONG = 300_000
"""Characters that no socket buffers."""


SPACES = {
    "Graph": spaces.Graph(spaces.Box(-1.0, 1.0, (2,)), spaces.Discrete(3)),
    "Sequence": spaces.Sequence(spaces.Box(0.0, 1.0, (2,))),
    "Text": spaces.Text(8),
    "OneOf": spaces.OneOf([spaces.Discrete(3), spaces.Box(0.0, 1.0, (2,))]),
    "Custom": Hexagon(),
    "Dict": spaces.Dict({"name": spaces.Text(5), "place": spaces.Box(-1.0, 1.0, (2,))}),
    "Tuple": spaces.Tuple([spaces.Discrete(4), spaces.Sequence(spaces.Discrete(2))]),
}


@pytest.mark.parametrize(
    ("name", "mode"), [*((name, AutoresetMode.NEXT_STEP) for name in SPACES), ("Dict", AutoresetMode.SAME_STEP)]
)
def test_any_space(name, mode):
    space = SPACES[name]
    twin = SyncVectorEnv([lambda: Sampler(space)] * N, autoreset_mode=mode)
    with ProcessPool(lambda: Sampler(space), N, num_workers=1, autoreset_mode=mode) as pool:
        assert pool.observation_space == twin.observation_space
        assert data_equivalence(pool.reset(seed=5)[0], twin.reset(seed=5)[0])
        twin.action_space.seed(1)
        for _ in range(7):
            actions = twin.action_space.sample()
            found, expected = pool.step(actions), twin.step(actions)
            assert data_equivalence(found[0], expected[0])
            assert found[0] in pool.observation_space
            assert found[2].tolist() == expected[2].tolist()
            assert found[4].keys() == expected[4].keys()
            if "action" in expected[4]:
                assert found[4]["action"].tolist() == expected[4]["action"].tolist()
            for env_id in np.flatnonzero(expected[4].get("_final_obs", [])):
                assert data_equivalence(found[4]["final_obs"][env_id], expected[4]["final_obs"][env_id])


def test_large_values_do_not_block():
    """Values larger than the buffer of a socket, in both directions at once."""
    space = spaces.Text(LONG, min_length=LONG, charset="ab")
    with ProcessPool(lambda: Sampler(space), 4, batch_size=2, num_workers=1) as pool:
        pool.async_reset(seed=0)
        for _ in range(3):
            observations, *_, infos = pool.recv()
            assert [len(text) for text in observations] == [LONG] * 2
            pool.send(observations, infos["env_id"])


def test_a_failed_worker_leaves_the_others():
    space = spaces.Text(4, charset="ab!")
    with ProcessPool(lambda: Sampler(space), 2, num_workers=2, seed=0, autoreset="same_step") as pool:
        pool.reset()
        with pytest.raises(WorkerError, match="loud"):
            pool.step(("ab", "b!"))
        observations, _, _, truncations, infos = pool.recv()
        assert truncations.tolist() == [False, True] and infos["_final_obs"].tolist() == [False, True]
        assert observations in pool.observation_space


def test_refusals():
    space = SPACES["Text"]
    with ProcessPool(lambda: Sampler(space), 2, num_workers=1) as pool:
        with pytest.raises(wl.InputError, match="environment 1 has no observation yet: reset all environments first"):
            pool.reset(options={"reset_mask": np.array([True, False])})
        pool.reset()
        with pytest.raises(wl.InputError, match="there must be 2 values, not 3"):
            pool.step(("a", "b", "c"))


# ---------------------------------------------------------------- observation_mode


def test_bounds_that_differ():
    makers = [lambda: same_action(1.0), lambda: same_action(5.0)]
    twin = SyncVectorEnv(makers, observation_mode="different")
    pool = wl.make(makers, 2, num_threads=1, observation_mode="different", autoreset="next_step")
    with pool:
        assert pool.observation_space == twin.observation_space
        assert pool.single_observation_space == twin.single_observation_space
        assert data_equivalence(pool.reset(seed=3)[0], twin.reset(seed=3)[0])
        for _ in range(5):
            assert data_equivalence(pool.step(np.zeros(2, int))[0], twin.step(np.zeros(2, int))[0])
    with pytest.raises(wl.InputError, match="environment 1 has other spaces than environment 0"):
        ProcessPool(makers, 2, num_workers=1)


def test_spaces_of_the_user():
    single = spaces.Box(-9.0, 9.0, (2,), np.float32)
    batched = gymnasium.vector.utils.batch_space(single, 2)
    makers = [lambda: same_action(1.0), lambda: same_action(5.0)]
    with ProcessPool(makers, 2, num_workers=1, observation_mode=(batched, single)) as pool:
        assert (pool.observation_space, pool.single_observation_space) == (batched, single)
        assert pool.reset()[0] in batched


@pytest.mark.parametrize(
    ("makers", "arguments", "words"),
    [
        ([bounded(1.0), bounded(5.0)], {}, "environment 1 has another action space"),
        (
            [bounded(1.0), lambda: Sampler(spaces.Discrete(2))],
            {},
            r"environment 1, Discrete\(2\), has other shapes or types",
        ),
        ([bounded(1.0)] * 2, {"batch_size": 1}, "observation_mode needs all environments in every batch"),
        ([bounded(1.0)] * 2, {"observation_mode": "some"}, "expected: 'same' or 'different' or tuple"),
    ],
)
def test_modes_that_do_not_fit(makers, arguments, words):
    with pytest.raises(wl.InputError, match=words):
        ProcessPool(makers, 2, num_workers=1, **{"observation_mode": "different", **arguments})
