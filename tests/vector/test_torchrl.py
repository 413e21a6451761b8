"""Worlds in TorchRL: specs, resets by mask, last observations, and a PPO update."""

import importlib
import sys

import pytest
import torch
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.core.base.errors import InputError

pytest.importorskip("torchrl", reason="needs pip install torchrl")

from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import StepCounter, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from worldloom.vector.adapters.torchrl import TorchRLVectorEnv


@pytest.mark.parametrize("world", ["CartPole-v1", SKY, MEADOW], ids=["CartPole", "Sky", "Meadow"])
def test_specs_hold(world):
    env = TorchRLVectorEnv(world, 3, seed=0, device="python")
    check_env_specs(env, seed=1)
    env.close()
    assert env.is_closed


def test_names_and_shapes_of_a_world_of_many_components():
    env = TorchRLVectorEnv(MEADOW, 3, seed=0, device="python")
    assert set(env.observation_spec.keys()) == {"sight", "mood", "rain", "light", "signals"}
    assert set(env.action_keys) == {"turn", "thrust"}
    data = env.rollout(4, break_when_any_done=False)
    assert data["next", "sight"].shape == (3, 4, 2, 3) and data["next", "sight"].dtype == torch.float32
    assert data["next", "light"].dtype == torch.uint8 and data["next", "signals"].dtype == torch.bool
    collected = (data["turn"] == 2).sum(-1, keepdim=True) * 1.5
    torch.testing.assert_close(data["next", "reward"], collected)


class Clerk(wl.Entity):
    levers: wl.Action(wl.MultiDiscrete(2, 4))
    seen: wl.Observation(2)
    reward: wl.Reward


class Office(wl.World):
    pass


@wl.system
def pull(clerk: Clerk, world: Office):
    clerk.seen = wl.vec2(float(clerk.levers[0]), float(clerk.levers[1]))


OFFICE = wl.Definition("Office-test", Office, {Clerk: 2}, step=(pull,))


def test_several_choices_of_several_entities():
    env = TorchRLVectorEnv(OFFICE, 50, seed=0, device="python")
    data = env.rollout(3)
    torch.testing.assert_close(data["next", "observation"], data["action"].float())
    assert data["action"].amax((0, 1)).tolist() == [[1, 3], [1, 3]]


def test_the_last_observation_of_an_episode_is_kept_and_a_new_one_follows():
    env = TorchRLVectorEnv(SKY, 5, seed=0, device="python")
    data = env.rollout(30, policy=lambda td: td.set("action", torch.full((5, 1), 0.4)), break_when_any_done=False)
    ends = data["next", "done"][:, :-1, 0]
    assert (data["next", "done"] == (data["next", "terminated"] | data["next", "truncated"])).all()
    assert data["next", "truncated"].any() and ends.sum() >= 10
    heights, following = data["observation"], data["next", "observation"]
    torch.testing.assert_close(following, heights - 0.1)  # also in the last step of an episode
    starts = heights[:, 1:][ends]
    assert ((starts >= 1.0) & (starts <= 2.0)).all() and not torch.equal(starts, following[:, :-1][ends])
    torch.testing.assert_close(heights[:, 1:][~ends], following[:, :-1][~ends])


def test_a_reset_by_mask_touches_no_other_world():
    env = TorchRLVectorEnv(SKY, 4, seed=0, device="python")
    before = env.rollout(2, break_when_any_done=False)[:, -1]["next"].clone()
    mask = torch.tensor([[True], [False], [False], [True]])
    after = env.reset(before.clone().set("_reset", mask))
    assert (after["observation"] != before["observation"]).tolist() == mask.tolist()
    torch.testing.assert_close(
        env.worlds.batch.observations(), after["observation"]
    )  # in the worlds as in what is handed out


def test_seeds_give_the_same_episodes():
    env = TorchRLVectorEnv("CartPole-v1", 4)
    starts = []
    for seed in (3, 4, 3):
        env.set_seed(seed)
        starts.append(env.reset()["observation"])
    torch.testing.assert_close(starts[0], starts[2], rtol=0, atol=0)
    assert not torch.equal(starts[0], starts[1])


def test_ppo_trains(one_thread):
    torch.manual_seed(0)
    env = TransformedEnv(TorchRLVectorEnv("CartPole-v1", 32, seed=0), StepCounter())
    scores = TensorDictModule(MLP(4, 2, num_cells=[32]), ["observation"], ["logits"])
    actor = ProbabilisticActor(
        scores, ["logits"], distribution_class=torch.distributions.Categorical, return_log_prob=True
    )
    critic = ValueOperator(MLP(4, 1, num_cells=[32]), ["observation"])
    advantage = GAE(gamma=0.98, lmbda=0.9, value_network=critic)
    loss = ClipPPOLoss(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-3)
    lengths = []
    for data in Collector(env, actor, frames_per_batch=32 * 32, total_frames=32 * 32 * 12):
        lengths.append(data["next", "step_count"][data["next", "done"]].float().mean())
        for _ in range(6):
            advantage(data)
            terms: TensorDict = loss(data)
            optimizer.zero_grad()
            (terms["loss_objective"] + terms["loss_critic"] + terms["loss_entropy"]).backward()
            optimizer.step()
    assert lengths[-1] > 1.5 * lengths[0]


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torchrl.envs", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.torchrl")
    with pytest.raises(InputError, match="pip install 'torchrl"):
        importlib.import_module("worldloom.vector.adapters.torchrl")
