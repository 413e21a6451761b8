"""Trainers: what they can be given, how they stop and go on, what they tell, and exact resumption."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from thorough import covering
from torch import Tensor
from worlds import CLOCK, FARM, KITCHEN, PARTY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.training.callbacks import Callback, StopAt
from worldloom.learn.training.progress import METRICS, Progress
from worldloom.learn.training.trainer import Trainer

SMALL = PPOConfig(
    num_envs=4, num_steps=8, minibatches=2, epochs=2, seed=1, device="cpu", policy=PolicyConfig(hidden=(8,))
)
PER_ITERATION = 4 * 8


class Diary(Callback):
    """Writes down what it is called for."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.reports: list[Progress] = []

    def on_start(self, trainer: Trainer) -> None:
        self.pages.append("start")

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.pages.append(f"iteration {progress.iteration}")
        self.reports.append(progress)

    def on_end(self, trainer: Trainer) -> None:
        self.pages.append("end")


# -- what it can be given ----------------------------------------------------------------------------------------------


def test_worlds_are_made_from_an_id_or_a_definition() -> None:
    trainer = PPO("CartPole-v1", SMALL)
    assert trainer.simulation.num_worlds == 4 and trainer.config.device == "cpu"
    assert PPO(CLOCK, SMALL).simulation.definition is CLOCK
    with pytest.raises(InputError, match="CartPole-v7"):
        PPO("CartPole-v7", SMALL)


def test_worlds_that_are_there_are_used_as_they_are() -> None:
    simulation = wl.Simulation("CartPole-v1", 6, seed=3)
    assert PPO(simulation, SMALL).simulation is simulation
    env = wl.make("CartPole-v1", num_envs=6, seed=3)
    trainer = PPO(env, SMALL)
    assert trainer.simulation is env.unwrapped.simulation and trainer.config.num_envs == 6
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(wl.make("CartPole-v1", num_envs=6))
    assert PPO(wrapped, SMALL).simulation is wrapped.unwrapped.simulation


def test_the_same_seed_gives_the_same_training_in_worlds_made_by_either() -> None:
    own = PPO("CartPole-v1", replace(SMALL, total_steps=2 * PER_ITERATION)).learn()
    given = PPO(wl.Simulation("CartPole-v1", 4, seed=1), replace(SMALL, total_steps=2 * PER_ITERATION)).learn()
    assert torch.equal(own.learners["Cart"].optimizer.flat, given.learners["Cart"].optimizer.flat)


@pytest.mark.parametrize(
    ("env", "match"),
    [
        (
            lambda: wl.make("CartPole-v1", num_envs=2, autoreset="next_step"),
            "PPO needs worlds made with autoreset='same_step', not 'next_step'",
        ),
        (lambda: wl.Simulation("CartPole-v1", 2, "python"), "not 'python'"),
        (lambda: gymnasium.make("CartPole-v1"), "train environments of other libraries with their own trainers"),
        (lambda: 3, "not in int"),
    ],
    ids=["autoreset", "python", "foreign", "number"],
)
def test_worlds_it_cannot_train_in_are_refused(env: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        PPO(env(), SMALL)


def test_the_interpreter_is_refused() -> None:
    with pytest.raises(InputError, match="training needs compiled worlds"):
        PPO("CartPole-v1", replace(SMALL, device="python"))


# -- how long it goes on -----------------------------------------------------------------------------------------------


def test_it_learns_for_the_steps_it_is_told() -> None:
    diary = Diary()
    trainer = PPO("CartPole-v1", SMALL)
    assert trainer.learn(3 * PER_ITERATION - 5, [diary]) is trainer
    assert trainer.steps == 3 * PER_ITERATION and trainer.iteration == 3
    assert diary.pages == ["start", "iteration 1", "iteration 2", "iteration 3", "end"]
    assert [p.steps for p in diary.reports] == [PER_ITERATION, 2 * PER_ITERATION, 3 * PER_ITERATION]
    assert all(p.total_steps == 3 * PER_ITERATION - 5 for p in diary.reports)


def test_learning_twice_is_learning_on() -> None:
    parts, whole = PPO("CartPole-v1", SMALL), PPO("CartPole-v1", SMALL)
    parts.learn(2 * PER_ITERATION)
    spent = parts.seconds
    parts.learn(2 * PER_ITERATION)  # done already
    assert parts.iteration == 2
    parts.learn(4 * PER_ITERATION)
    whole.learn(4 * PER_ITERATION)
    assert parts.iteration == whole.iteration == 4 and parts.seconds > spent
    assert torch.equal(parts.learners["Cart"].optimizer.flat, whole.learners["Cart"].optimizer.flat)


def test_it_stops_when_it_is_asked_to_and_can_go_on() -> None:
    class Enough(Diary):
        def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
            super().on_iteration(trainer, progress)
            if progress.iteration == 2:
                trainer.stop()

    diary = Enough()
    trainer = PPO("CartPole-v1", SMALL)
    trainer.learn(10 * PER_ITERATION, [diary])
    assert trainer.iteration == 2 and diary.pages[-1] == "end"
    trainer.learn(4 * PER_ITERATION)
    assert trainer.iteration == 4


def test_it_stops_at_a_score() -> None:
    """Every episode of the clock has the return 5; the first ends in the first iteration."""
    trainer = PPO(CLOCK, SMALL)
    trainer.learn(10 * PER_ITERATION, [StopAt(5.0)])
    assert trainer.iteration == 1 and trainer.score == 5.0
    trainer.learn(4 * PER_ITERATION, [StopAt(5.1)])
    assert trainer.iteration == 4


def test_an_error_in_a_callback_leaves_pytorch_as_it_was() -> None:
    class Clumsy(Callback):
        def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
            raise RuntimeError("clumsy")

    before = torch.get_float32_matmul_precision()
    with pytest.raises(RuntimeError, match="clumsy"):
        PPO("CartPole-v1", SMALL).learn(PER_ITERATION, [Clumsy()])
    assert torch.get_float32_matmul_precision() == before


# -- what it tells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (PPO, SMALL),
        (A2C, A2CConfig(num_envs=4, num_steps=8, device="cpu")),
        (VTrace, VTraceConfig(num_envs=4, num_steps=8, steps_per_update=4, device="cpu")),
    ],
)
def test_every_number_has_a_known_name_and_is_one(kind: type[OnPolicyTrainer], config: RolloutConfig) -> None:
    diary = Diary()
    kind(CLOCK, config).learn(8 * PER_ITERATION, [diary])
    last = diary.reports[-1].metrics
    assert set(last) <= set(METRICS) and all(math.isfinite(v) for v in last.values())
    assert last["episode/return"] == last["episode/length"] == 5.0
    assert last["episode/count"] == 4 * (8 * PER_ITERATION // 4 // 5)
    assert last["loss/entropy"] == pytest.approx(math.log(2.0), abs=0.1)
    assert sum(diary.reports[-1].shares.values()) == pytest.approx(1.0)


def test_the_mean_return_is_that_of_recent_episodes() -> None:
    trainer = PPO(CLOCK, SMALL)
    count = len(trainer.metric_names)
    for k in range(30):
        trainer._metrics([10.0, 10.0 * k, 50.0, 1e-3, *[0.0] * (count + 2)])
    assert trainer.score == pytest.approx(np.mean(range(20, 30)))
    assert trainer._metrics([500.0, 500.0 * 7.0, 0.0, 1e-3, *[0.0] * (count + 2)])["episode/return"] == 7.0


# -- going on later ----------------------------------------------------------------------------------------------------

POLICIES = {
    "plain": PolicyConfig(hidden=(8,)),
    "lstm, normalised": PolicyConfig(hidden=(8,), memory="lstm", memory_size=4, normalize_observations=True),
}
ALGORITHMS: dict[str, tuple[type[OnPolicyTrainer], RolloutConfig]] = {
    "ppo": (PPO, replace(SMALL, schedule="kl", normalize_rewards=True)),
    "a2c": (A2C, A2CConfig(num_envs=4, num_steps=8, seed=1, device="cpu", schedule="linear", normalize_rewards=True)),
    "vtrace": (
        VTrace,
        VTraceConfig(num_envs=4, num_steps=8, steps_per_update=2, batches=4, seed=1, device="cpu", schedule="linear"),
    ),
}


def copied(state: tuple[dict[str, Tensor], dict[str, object]]) -> tuple[dict[str, Tensor], dict[str, object]]:
    """As it would come back from a file."""
    return {k: v.clone() for k, v in state[0].items()}, json.loads(json.dumps(state[1]))


WORLDS = {"CartPole": "CartPole-v1", "Kitchen": KITCHEN, "Party": PARTY, "Farm": FARM}


@pytest.mark.parametrize(("algorithm", "policy", "name"), covering(ALGORITHMS, POLICIES, WORLDS))
def test_a_training_that_was_stopped_goes_on_bit_for_bit(algorithm: str, policy: str, name: str) -> None:
    (kind, config), world = ALGORITHMS[algorithm], WORLDS[name]
    per_iteration = 4 * getattr(config, "steps_per_update", config.num_steps)
    config = replace(config, policy=POLICIES[policy], total_steps=5 * per_iteration)
    settings = {"over_at": 5, "dies_at": 2, "leaves_at": 3} if world is PARTY else {}

    def made(seed: int) -> OnPolicyTrainer:
        return kind(wl.Simulation(world, 4, seed=seed, config=settings), config)

    stopped, straight = made(1), made(1)
    diary, other = Diary(), Diary()
    straight.learn(callbacks=[diary])

    class Stop(Callback):
        def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
            if progress.iteration == 2:
                trainer.stop()

    stopped.learn(callbacks=[Stop()])
    assert stopped.iteration == 2
    state = copied(stopped.state())
    fresh = made(99)
    fresh.load_state(*state)
    assert fresh.iteration == 2 and fresh.steps == stopped.steps
    fresh.learn(callbacks=[other])
    wanted, have = straight.state(), fresh.state()
    assert set(wanted[0]) == set(have[0])
    for name, tensor in wanted[0].items():
        assert torch.equal(tensor, have[0][name]) or torch.equal(tensor.nan_to_num(), have[0][name].nan_to_num()), name
    np.testing.assert_equal([p.metrics for p in other.reports], [p.metrics for p in diary.reports[2:]])
    assert wanted[1]["recent"] == have[1]["recent"]


def test_a_state_of_other_settings_or_worlds_is_refused() -> None:
    state = copied(PPO("CartPole-v1", SMALL).state())
    with pytest.raises(InputError, match="does not fit"):
        PPO("CartPole-v1", replace(SMALL, policy=PolicyConfig(hidden=(16,)))).load_state(*state)
    with pytest.raises(InputError, match="worlds"):
        PPO("CartPole-v1", replace(SMALL, num_envs=6)).load_state(*state)
    with pytest.raises(InputError, match="Acrobot-v1"):
        PPO("Acrobot-v1", SMALL).load_state(*state)


def test_a_training_goes_on_in_place_from_what_was_loaded() -> None:
    """A trainer that has gone further goes back, without new memory for its tensors: a graph may hold it."""
    trainer = PPO("CartPole-v1", SMALL)
    trainer.learn(2 * PER_ITERATION)
    state = copied(trainer.state())
    places = {k: v.data_ptr() for k, v in trainer.tensors().items()}
    trainer.learn(4 * PER_ITERATION)
    wanted = trainer.learners["Cart"].optimizer.flat.clone()
    trainer.load_state(*state)
    assert trainer.iteration == 2
    trainer.learn(4 * PER_ITERATION)
    assert torch.equal(trainer.learners["Cart"].optimizer.flat, wanted)
    assert {k: v.data_ptr() for k, v in trainer.tensors().items()} == places


def test_mistakes_of_the_caller_are_told_in_a_sentence() -> None:
    small = PPOConfig(num_envs=4, num_steps=4, device="cpu")
    with pytest.raises(InputError, match="PPO takes settings of the class PPOConfig, not A2CConfig"):
        PPO("CartPole-v1", A2CConfig(device="cpu"))
    with pytest.raises(InputError, match=r"torch\.nn\.Module"):
        PPO("CartPole-v1", small, network=torch.nn.Linear)
    with pytest.raises(InputError, match="must return a pair"):
        PPO("CartPole-v1", small, network=torch.nn.Linear(4, 2)).learn(16)
    with pytest.raises(InputError, match=r"worldloom\.learn\.Callback"):
        PPO("CartPole-v1", small).learn(16, callbacks=[print])
