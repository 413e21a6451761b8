"""Worlds in Tianshou: episode ends, steps of some worlds, attributes, seeds, collectors, and PPO."""

import copy
import importlib
import pickle
import sys

import numpy as np
import pytest
import torch
from meadow import MEADOW

from worldloom.core.base.errors import InputError

numba = pytest.importorskip("numba", reason="needs pip install tianshou")
numba.config.DISABLE_JIT = True  # Tianshou compiles for 10 s when a buffer is created; these buffers are small
pytest.importorskip("tianshou", reason="needs pip install tianshou")

from tianshou.algorithm import PPO  # noqa: E402
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy  # noqa: E402
from tianshou.algorithm.optim import AdamOptimizerFactory  # noqa: E402
from tianshou.data import Batch, Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import VectorEnvNormObs  # noqa: E402
from tianshou.trainer import OnPolicyTrainerParams  # noqa: E402
from tianshou.utils.net.common import Net  # noqa: E402
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic  # noqa: E402

from worldloom.vector.adapters.tianshou import TianshouVectorEnv  # noqa: E402


@pytest.fixture
def env():
    with TianshouVectorEnv("CartPole-v1", 4, seed=0, device="python") as made:
        yield made


def until_one_ends(env):
    """Push all carts to the right until an episode ends; the last step, and the observations before it."""
    before, _ = env.reset()
    for _ in range(600):
        step = env.step(np.ones(len(env), int))
        if step[2].any():
            return before, step
        before = step[0]
    raise AssertionError("no episode ended")


def test_an_episode_ends_with_its_last_observation_and_continues_after_its_reset(env):
    before, (observations, rewards, terminations, truncations, infos) = until_one_ends(env)
    ended = int(terminations.argmax())
    assert abs(observations[ended][2]) > np.radians(12.0) > abs(before[ended][2])
    assert rewards[ended] == 1.0 and not truncations.any()
    assert [info["env_id"] for info in infos] == [0, 1, 2, 3]
    with pytest.raises(InputError, match=f"world {ended} is over"):
        env.step(np.ones(4, int))
    over = np.flatnonzero(terminations)
    restarted, _ = env.reset(env_id=over)
    assert restarted.shape == (len(over), 4) and np.abs(restarted).max() <= 0.05
    assert env.step(np.ones(4, int))[1].tolist() == [1.0] * 4


def test_an_episode_that_is_cut_off_is_truncated(env):
    env.set_env_attr("max_steps", 2)
    env.reset()
    env.step(np.ones(4, int))
    _, _, terminations, truncations, _ = env.step(np.ones(4, int))
    assert truncations.all() and not terminations.any()


def test_a_step_of_some_worlds_leaves_the_others_as_they_are(env):
    same = TianshouVectorEnv("CartPole-v1", 4, seed=0, device="python")
    env.reset()
    same.reset()
    step = env.step(np.array([0, 1]), id=[3, 1])
    expected = same.step(np.array([1, 1, 1, 0]))
    np.testing.assert_array_equal(step[0], expected[0][[3, 1]])
    assert [info["env_id"] for info in step[4]] == [3, 1]
    others = env.step(np.array([1, 1]), id=[0, 2])
    np.testing.assert_array_equal(others[0], expected[0][[0, 2]])
    np.testing.assert_array_equal(env.step(np.zeros(4, int))[0], same.step(np.zeros(4, int))[0])
    with pytest.raises(InputError, match="one action for each of 2 worlds, not 3"):
        env.step(np.ones(3, int), id=[0, 1])
    for ids in ([1, 1], [4], [-1], []):
        with pytest.raises(InputError, match="distinct and from 0 to 3"):
            env.reset(ids)


def test_several_components_are_batches():
    env = TianshouVectorEnv(MEADOW, 3, seed=0, device="python")
    observations, infos = env.reset()
    assert isinstance(observations, Batch) and observations.sight.shape == (3, 2, 3)
    assert infos[2]["nectar"].tolist() == [0, 0]
    actions = np.array([env.action_space[0].sample() | {"turn": [2, 0]} for _ in range(2)])
    _, rewards, _, _, infos = env.step(actions, id=[2, 0])
    assert rewards.tolist() == [1.5, 1.5] and [info["nectar"].tolist() for info in infos] == [[1, 0], [1, 0]]
    assert env.get_env_attr("nectar", 1)[0].tolist() == [0, 0]


def test_attributes_of_worlds(env):
    assert env.observation_space[0].shape == (4,) and len(env.action_space) == len(env) == 4
    env.set_env_attr("force", 2.0, id=[1, 3])
    assert env.get_env_attr("force") == [10.0, 2.0, 10.0, 2.0] and env.get_env_attr("force", 1) == [2.0]
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.get_env_attr("no_such_thing")


def test_seeds_repeat_episodes(env):
    assert env.seed(7) == [[7], [8], [9], [10]]
    first = env.step(np.ones(4, int))[0]
    env.seed([7, 8, 9, 10])
    np.testing.assert_array_equal(env.step(np.ones(4, int))[0], first)
    observations, _ = env.reset(seed=3)
    np.testing.assert_array_equal(env.reset(seed=3)[0], observations)


def test_copies_continue_from_the_same_state(env):
    env.reset()
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = env.step(np.ones(2, int), id=[0, 3])
    for other in copies:
        np.testing.assert_array_equal(other.step(np.ones(2, int), id=[0, 3])[0], expected[0])


def test_a_closed_environment_refuses_steps():
    env = TianshouVectorEnv("CartPole-v1", 2, seed=0, device="python")
    env.close()
    with pytest.raises(AssertionError, match="after close"):
        env.step(np.ones(2, int))


def make_ppo(env) -> PPO:
    space, actions = env.observation_space[0], env.action_space[0]
    actor, critic = (Net(state_shape=space.shape, hidden_sizes=[64, 64], activation=torch.nn.Tanh) for _ in range(2))
    policy = DiscreteActorPolicy(
        actor=DiscreteActor(preprocess_net=actor, action_shape=actions.n, softmax_output=False),
        action_space=actions,
        deterministic_eval=True,
    )
    return PPO(
        policy=policy,
        critic=DiscreteCritic(preprocess_net=critic),
        optim=AdamOptimizerFactory(lr=3e-3),
        gamma=0.98,
        gae_lambda=0.9,
        ent_coef=0.0,
    )


def test_a_collector_counts_whole_episodes(env, one_thread):
    buffer = VectorReplayBuffer(1000, 4)
    collector = Collector(make_ppo(env), VectorEnvNormObs(env), buffer)
    stats = collector.collect(n_episode=6, reset_before_collect=True)  # four worlds, then fewer and fewer
    assert stats.n_collected_episodes == 6 and stats.returns.tolist() == stats.lens.tolist()
    assert stats.n_collected_steps == len(buffer) == stats.lens.sum()
    assert buffer.terminated.sum() == 6 and not buffer.truncated.any()


def test_ppo_learns_to_balance(one_thread):
    torch.manual_seed(0)
    np.random.seed(0)
    training, test = (TianshouVectorEnv("CartPole-v1", count, seed=seed) for count, seed in ((16, 0), (10, 1)))
    ppo = make_ppo(training)
    collectors = Collector(ppo, training, VectorReplayBuffer(16 * 32, 16)), Collector(ppo, test)
    before = collectors[1].collect(n_episode=10, reset_before_collect=True).returns.mean()
    result = ppo.run_training(
        OnPolicyTrainerParams(
            training_collector=collectors[0],
            test_collector=collectors[1],
            max_epochs=1,
            epoch_num_steps=16 * 32 * 8,
            collection_step_num_env_steps=16 * 32,
            update_step_num_repetitions=6,
            batch_size=128,
            test_step_num_episodes=10,
            show_progress=False,
            verbose=False,
        )
    )
    assert before < 40.0 and result.best_reward > 80.0


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tianshou.env", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.tianshou")
    with pytest.raises(InputError, match="pip install"):
        importlib.import_module("worldloom.vector.adapters.tianshou")
