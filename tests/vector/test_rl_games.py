"""Worlds in rl_games: spaces, truncation, and its PPO.

The tests import rl_games, not the module: the import takes seconds, and every test process collects all modules.
"""

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

import gymnasium
import pytest
import torch
from meadow import MEADOW, SKY

from worldloom.core.base.errors import InputError

pytestmark = pytest.mark.skipif(find_spec("rl_games") is None, reason="needs pip install rl-games")


@pytest.fixture(scope="module")
def adapter() -> ModuleType:
    return importlib.import_module("worldloom.vector.adapters.rl_games")


def settings(folder: str) -> dict:
    config = {
        "name": "cartpole",
        "env_name": "worldloom",
        "env_config": {"world": "CartPole-v1"},
        "reward_shaper": {"scale_value": 0.1},
        "normalize_input": False,
        "normalize_advantage": True,
        "value_bootstrap": True,
        "num_actors": 32,
        "horizon_length": 32,
        "minibatch_size": 256,
        "mini_epochs": 5,
        "gamma": 0.98,
        "tau": 0.9,
        "learning_rate": 3e-3,
        "lr_schedule": None,
        "e_clip": 0.2,
        "clip_value": False,
        "critic_coef": 1.0,
        "entropy_coef": 0.0,
        "grad_norm": 1.0,
        "truncate_grads": True,
        "ppo": True,
        "max_epochs": 12,
        "device": "cpu",
        "device_name": "cpu",
        "train_dir": folder,
        "games_to_track": 32,
        "print_stats": False,
        "torch_compile": False,
    }
    network = {
        "name": "actor_critic",
        "separate": True,
        "space": {"discrete": None},
        "mlp": {"units": [32], "activation": "tanh", "initializer": {"name": "default"}},
    }
    return {
        "params": {
            "seed": 1,
            "torch_threads": 1,
            "algo": {"name": "a2c_discrete"},
            "model": {"name": "discrete_a2c"},
            "network": network,
            "config": config,
        }
    }


def test_what_ended_and_what_was_cut_off(adapter: ModuleType):
    env = adapter.RlGamesVectorEnv(SKY, 3, seed=0, device="python")
    first = env.reset()
    env.env.simulation.world["step"].assign(torch.tensor([0, 0, 7]))
    shown, rewards, dones, infos = env.step(torch.tensor([[-2.0], [0.5], [0.5]]))
    assert dones.tolist() == [True, False, True]
    assert infos["time_outs"].tolist() == [False, False, True]
    torch.testing.assert_close(rewards, first[:, 0] - torch.tensor([2.5, 0.0, 0.0]))
    torch.testing.assert_close(infos["final_obs"][dones, 0], rewards[dones])
    assert (shown[dones] >= 1.0).all()  # those worlds stand at a new start


def test_its_spaces(adapter: ModuleType):
    info = adapter.RlGamesVectorEnv("CartPole-v1", 2).get_env_info()
    assert (
        info["observation_space"].shape == (4,)
        and info["action_space"] == gymnasium.spaces.Discrete(2)
        and info["agents"] == 1
    )
    assert isinstance(
        adapter.RlGamesVectorEnv(MEADOW, 2, device="python").get_env_info()["observation_space"], gymnasium.spaces.Dict
    )


def test_several_choices_are_a_tuple_of_choices(adapter: ModuleType):
    class Pair(adapter.RlGamesVectorEnv):
        def __init__(self) -> None:
            self.__dict__["_worlds"] = gymnasium.make_vec("CartPole-v1", 1)
            self.env.single_action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    assert Pair().get_env_info()["action_space"] == gymnasium.spaces.Tuple(
        [gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(3)]
    )


def test_its_runner_trains(adapter: ModuleType, tmp_path, one_thread, monkeypatch: pytest.MonkeyPatch):
    from rl_games.common.algo_observer import AlgoObserver
    from rl_games.torch_runner import Runner

    class Lengths(AlgoObserver):
        """Records the mean episode length after every iteration."""

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[float] = []

        def after_init(self, algo) -> None:
            self.algo = algo

        def after_print_stats(self, frame: int, epoch_num: int, total_time: float) -> None:
            if self.algo.game_lengths.current_size:
                self.seen.append(float(self.algo.game_lengths.get_mean()))

    monkeypatch.chdir(tmp_path)
    adapter.register()
    lengths = Lengths()
    runner = Runner(lengths)
    runner.load(settings(str(tmp_path)))
    runner.run({"train": True, "play": False})
    assert len(lengths.seen) >= 10
    assert lengths.seen[-1] > 1.5 * lengths.seen[0]


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rl_games.common.ivecenv", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.rl_games", raising=False)
    with pytest.raises(InputError, match="pip install 'rl-games"):
        importlib.import_module("worldloom.vector.adapters.rl_games")
