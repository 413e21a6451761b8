"""Extensions of algorithms: rewards, metrics, saved state, and errors; random network distillation is the example."""

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.extension import Extension
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS, algorithm, register_algorithm
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_run import TrainingRequest, request_from_dict, request_to_dict, run_training
from worldloom.learn.training.callbacks import Callback

SMALL = PPOConfig(num_envs=4, num_steps=8, epochs=1, minibatches=2, device="cpu", total_steps=96)
SMALL = replace(SMALL, policy=PolicyConfig(hidden=(16,)))


class Plus(Extension):
    """Adds a constant to every reward, and counts steps and episodes."""

    metric_names = ("plus/steps", "plus/ends")

    def __init__(self, learner, amount=2.0):
        super().__init__(learner)
        self.amount, self.seen = amount, []
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def on_rollout(self, steps):
        self.seen.append((steps.rewards.clone(), {k: v.shape for k, v in steps.observations.items()}))
        steps.rewards = steps.rewards + self.amount
        self.count += steps.rewards.numel()
        self.metrics.copy_(torch.stack([self.count.float(), steps.dones.float().sum()]))


class Rows(Callback):
    def __init__(self):
        self.rows = []

    def on_iteration(self, trainer, progress):
        self.rows.append(progress.metrics)


@pytest.mark.parametrize(
    ("trainer_class", "config"),
    [
        (PPO, SMALL),
        (PPO, replace(SMALL, overlap=True)),
        (A2C, A2CConfig(num_envs=4, num_steps=8, device="cpu", total_steps=96)),
        (VTrace, VTraceConfig(num_envs=4, num_steps=16, steps_per_update=8, device="cpu", total_steps=96)),
    ],
)
def test_rewards_for_training_change_and_reported_returns_do_not(trainer_class, config):
    plain, extended = Rows(), Rows()
    without = trainer_class("CartPole-v1", config).learn(callbacks=[plain])
    trainer = trainer_class("CartPole-v1", config, extensions={"plus": Plus}).learn(callbacks=[extended])
    extension = trainer.learners["Cart"].extensions["plus"]
    rewards, shapes = extension.seen[0]
    assert rewards.shape == (8, 4) and (rewards == 1.0).all() and list(shapes.values()) == [(8, 4, 4)]
    assert plain.rows[0]["episode/count"] == extended.rows[0]["episode/count"], "the first rollout is the same"
    taken = len(extension.seen) * 32
    assert extended.rows[-1]["plus/steps"] == taken and int(extension.count) == taken
    changed = [not torch.equal(t, without.tensors()[k]) for k, t in trainer.tensors().items() if "/policy/" in k]
    assert any(changed) and set(extended.rows[0]) - set(plain.rows[0]) == {"plus/steps", "plus/ends"}


def test_rewards_of_the_update_have_the_bonus(monkeypatch):
    seen = []
    update = PPO.update
    monkeypatch.setattr(
        PPO, "update", lambda self, learner, batch: seen.append(batch.rewards.clone()) or update(self, learner, batch)
    )
    PPO("CartPole-v1", SMALL, extensions={"plus": Plus}).learn(32)
    assert (seen[0] >= 3.0).all() and seen[0].min() == 3.0  # more where a truncated episode is bootstrapped


def test_the_policy_starts_as_without_extensions():
    one, other = PPO("CartPole-v1", SMALL), PPO("CartPole-v1", SMALL, extensions={"plus": Plus})
    assert all(torch.equal(tensor, other.tensors()[name]) for name, tensor in one.tensors().items())


def test_every_trained_policy_has_its_own(race):
    groups = {
        "first": PolicyGroup("Runner[0]"),
        "second": PolicyGroup("Runner[1]", train=False),
    }
    rows = Rows()
    trainer = PPO(race, replace(SMALL, total_steps=32), policy_groups=groups, extensions={"plus": Plus})
    trainer.learn(callbacks=[rows])
    assert list(trainer.learners["first"].extensions) == ["plus"] and not trainer.learners["second"].extensions
    assert rows.rows[0]["plus/steps/first"] == 32.0 and rows.rows[0]["plus/steps/second"] == 0.0


# -- random network distillation, saved and resumed -------------------------------------------------------------------


@pytest.fixture(scope="module")
def rnd():
    """The module of the example, whose world is registered meanwhile."""
    path = Path(__file__).parents[2] / "examples" / "rnd.py"
    spec = importlib.util.spec_from_file_location("rnd_example", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["rnd_example"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["rnd_example"]
    registry._REGISTRY.pop("Corridor-v0", None)


@dataclass(frozen=True)
class CuriousConfig(PPOConfig):
    """Settings of PPO with a bonus."""

    bonus: float = 0.02
    """Weight of the bonus."""


@pytest.fixture
def curious(rnd):
    """PPO with random network distillation as a registered algorithm."""

    class Curious(PPO):
        config_class = CuriousConfig
        extensions = {"rnd": lambda learner: rnd.RND(learner, weight=learner.config.bonus)}

    register_algorithm("curious", Curious, CuriousConfig)
    yield Curious
    del ALGORITHMS["curious"]


class StopAfterIterations(Callback):
    def __init__(self, count):
        self.count = count

    def on_iteration(self, trainer, progress):
        if progress.iteration >= self.count:
            trainer.stop()


def last_tensors(folder):
    checkpoints = Checkpoints(folder / "checkpoints")
    return checkpoints.load(checkpoints.latest()).tensors


def test_a_run_with_a_bonus_resumes_bit_for_bit(curious, tmp_path):
    settings = {field: getattr(SMALL, field) for field in ("num_envs", "num_steps", "epochs", "minibatches", "policy")}
    config = CuriousConfig(**settings, device="cpu", total_steps=192, bonus=0.5)
    request = TrainingRequest("Corridor-v0", "curious", config, run_dir=tmp_path / "straight")
    run_training(request)
    parts = replace(request, run_dir=tmp_path / "parts")
    assert not run_training(parts, [StopAfterIterations(2)]).complete
    saved = request_from_dict(request_to_dict(parts), tmp_path / "parts", "yes")
    assert saved.config == config
    assert run_training(saved).complete
    one, other = last_tensors(tmp_path / "straight"), last_tensors(tmp_path / "parts")
    assert one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    names = [name.removeprefix("Walker/extensions/rnd/") for name in one if "/extensions/rnd/" in name]
    assert {"predictor.0.weight", "target.0.weight", "errors.mean", "metrics", "optimizer/mean"} <= set(names)
    assert float(one["Walker/extensions/rnd/errors.count"]) == 192.0
    run = open_run(tmp_path / "parts")  # the policy alone can be played
    with run.worlds(2, "cpu", 0) as worlds:
        assert list(run.actors(worlds)) == ["Walker"]


def test_the_predictor_learns(rnd):
    trainer = PPO("Corridor-v0", SMALL, extensions={"rnd": rnd.RND})
    rows = Rows()
    trainer.learn(32 * 20, callbacks=[rows])
    assert rows.rows[-1]["rnd/loss"] < 0.5 * rows.rows[0]["rnd/loss"]
    extension = trainer.learners["Walker"].extensions["rnd"]
    assert not any(parameter.requires_grad for parameter in extension.target.parameters())


def test_a_checkpoint_without_the_extension_is_refused(rnd):
    plain = PPO("Corridor-v0", SMALL).learn(32)
    extended = PPO("Corridor-v0", SMALL, extensions={"rnd": rnd.RND})
    with pytest.raises(
        InputError, match=r"does not fit: it has no 'extensions/rnd/.*use the settings it was saved with"
    ):
        extended.load_state(*plain.state())


# -- errors ----------------------------------------------------------------------------------------------------------


def test_algorithms_without_rollouts_take_none():
    with pytest.raises(InputError, match="DQN has no rollouts for extensions: use PPO, A2C or VTrace"):
        DQN("CartPole-v1", DQNConfig(device="cpu"), extensions={"plus": Plus})


@pytest.mark.parametrize(
    ("name", "factory", "message"),
    [
        ("a/b", Plus, "is an identifier, such as rnd, not 'a/b'"),
        ("plus", lambda learner: torch.nn.Linear(1, 1), "makes Linear: derive it from Extension"),
    ],
)
def test_what_is_no_extension_is_refused(name, factory, message):
    with pytest.raises(InputError, match=message):
        PPO("CartPole-v1", SMALL, extensions={name: factory})


def test_names_of_algorithms_are_their_own():
    with pytest.raises(InputError, match="a name of its own"):
        register_algorithm("ppo", A2C, A2CConfig)
    with pytest.raises(InputError, match="set config_class = PPOConfig in A2C"):
        register_algorithm("other", A2C, PPOConfig)
    register_algorithm("ppo", PPO, PPOConfig)  # the same again
    assert algorithm("ppo") == (PPO, PPOConfig)
