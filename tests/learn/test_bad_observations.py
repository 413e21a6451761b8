"""An observation that is not finite is named, and the learning rate is not blamed for it."""

import itertools
import math

import pytest
import torch
from thorough import covering
from worlds import CLOCK, FARM

import worldloom as wl
from worldloom.core.simulation import Simulation
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.bad_observations import agent_name, find_bad_observation
from worldloom.learn.training.divergence_check import DivergedError
from worldloom.learn.training.observation_check import BadObservation

STEPS = 8
ROLLOUT = {"num_envs": 4, "num_steps": STEPS, "total_steps": 320, "device": "cpu", "policy": PolicyConfig(hidden=(8,))}
TRAININGS = {
    "ppo": (PPO, PPOConfig(**ROLLOUT)),
    "pytorch": (PPO, PPOConfig(**ROLLOUT, native=False)),
    "overlap": (PPO, PPOConfig(**ROLLOUT, overlap=True)),
    "a2c": (A2C, A2CConfig(**ROLLOUT)),
    "vtrace": (VTrace, VTraceConfig(**ROLLOUT, steps_per_update=4, batches=1)),
    "vtrace-overlap": (VTrace, VTraceConfig(**ROLLOUT, steps_per_update=4, batches=1, overlap=True)),
    "dqn": (DQN, DQNConfig(num_envs=4, total_steps=320, learning_starts=200, batch_size=16, n_step=1, device="cpu")),
    "dqn-trained": (DQN, DQNConfig(num_envs=4, total_steps=320, learning_starts=16, batch_size=16, device="cpu")),
}


def faulty_trainer(name, steps, worlds=(2,), number=math.inf):
    """A training in which, after ``steps`` steps, the observation of some worlds is not finite."""
    trainer_class, config = TRAININGS[name]
    simulation = Simulation(CLOCK, 4, "cpu", seed=0, autoreset=trainer_class.autoreset, checks=False)
    step, taken = simulation.step, itertools.count(1)

    def faulty_step():
        step()
        if next(taken) == steps:
            simulation["Ticker"]["sight"].torch()[list(worlds), 0, 4] = number

    simulation.step = faulty_step
    return trainer_class(simulation, config)


def hold_back(trainer, iterations):
    """Metrics reach the host some iterations late, as on a GPU."""
    reports, arrived = trainer._reports, trainer._reports.arrived

    def late(everything=False):
        return arrived(everything) if everything or len(reports._sent) > iterations else []

    reports.arrived = late


FAULTS = itertools.product([19, 24], [(2,), (0, 1, 2, 3)], [0, 2])
"""Steps before the fault, within a rollout or after its last step; worlds; iterations by which metrics are late."""


@pytest.mark.parametrize(("name", "fault"), covering(TRAININGS, FAULTS))
def test_world_agent_component_and_step_are_named(name, fault):
    steps, worlds, late = fault
    trainer = faulty_trainer(name, steps, worlds)
    hold_back(trainer, late)
    sentence = (
        rf"'sight\[4\]' of Ticker 0 in world {worlds[0]} is inf after {steps} steps of each world, so .* iteration"
    )
    with pytest.raises(DivergedError, match=sentence) as error:
        trainer.learn()
    assert "learning_rate" not in str(error.value)


@pytest.mark.parametrize(("steps", "worlds", "late"), [(19, (2,), 0), (24, (0, 1, 2, 3), 2), (24, (2,), 0)])
@pytest.mark.parametrize("name", ["ppo", "pytorch", "a2c"])
def test_observations_are_named_where_they_are_searched_after_updates(name, steps, worlds, late, monkeypatch):
    """As on a GPU."""
    monkeypatch.setattr(OnPolicyTrainer, "_checks_after_update", property(lambda trainer: True))
    trainer = faulty_trainer(name, steps, worlds)
    hold_back(trainer, late)
    named = rf"'sight\[4\]' of Ticker 0 in world {worlds[0]} is inf after {steps} steps of each world"
    with pytest.raises(DivergedError, match=named):
        trainer.learn()


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_the_number_is_named(number):
    with pytest.raises(DivergedError, match=f"is {number} after 3 steps"):
        faulty_trainer("ppo", 3, number=number).learn()


def test_a_policy_that_diverged_by_itself_is_not_excused():
    trainer = faulty_trainer("ppo", 3)
    assert find_bad_observation(trainer) == ""
    with torch.no_grad():
        next(trainer.learners["Ticker"].policy.parameters()).fill_(math.nan)
    with pytest.raises(DivergedError, match="smaller learning_rate"):
        trainer.learn()


def test_an_observation_of_an_earlier_rollout_did_no_harm():
    """A past observation that no update used is not named as the cause of a later divergence."""
    trainer = PPO(CLOCK, TRAININGS["ppo"][1])
    check = trainer.observation_check
    check.scan("Ticker", {"sight": torch.full((4, 6), math.nan)})
    assert check.cause() == BadObservation(0, "Ticker", "sight", 0, 0, "nan")
    trainer.learn(2 * 4 * STEPS)
    assert check.cause() is None


def test_a_resumed_training_starts_without_records():
    trainer = PPO(CLOCK, TRAININGS["ppo"][1])
    state = trainer.state()
    trainer.observation_check.scan("Ticker", {"sight": torch.full((4, 6), math.nan)})
    trainer.load_state(*state)
    assert find_bad_observation(trainer) == ""


def test_dqn_accepts_the_last_observation_of_a_faulty_world():
    """With next-step autoreset the worlds show the last observation of an episode, and the next step resets them."""
    trainer = faulty_trainer("dqn-trained", 5, worlds=(0, 1, 2, 3))  # episodes have five steps
    trainer.learn()
    assert trainer.steps == 320


class Hand(wl.Entity):
    move: wl.Action(wl.Discrete(2))
    cards: wl.Observation(3, 2, entities=True, mask="present")
    present: wl.Observation(3, dtype=bool)
    reward: wl.Reward


class Table(wl.World):
    pass


CARDS = wl.Definition("Cards-test", Table, {Hand: 1}, max_steps=5)


def play_cards(card, **settings):
    """Train with three cards of which the last one is absent, after ``card`` became NaN."""
    worlds = Simulation(CARDS, 4, "cpu", seed=0, autoreset="same_step", checks=False)
    step = worlds.step

    def show():
        worlds["Hand"]["present"].torch()[:, 0] = torch.tensor([True, True, False])
        worlds["Hand"]["cards"].torch()[1, 0, card, 1] = math.nan

    def step_and_show():
        step()
        show()

    worlds.step = step_and_show
    show()
    config = PPOConfig(**{**ROLLOUT, "policy": PolicyConfig(hidden=(8,), attention_size=8, **settings)})
    return PPO(worlds, config)


def test_an_entity_that_is_present_is_named():
    with pytest.raises(DivergedError, match=r"'cards\[1, 1\]' of Hand 0 in world 1 is nan after 0 steps"):
        play_cards(1).learn()


def test_an_entity_that_is_absent_is_not_the_cause():
    assert play_cards(2).learn().steps == 320
    trainer = play_cards(2)
    with torch.no_grad():
        next(trainer.learners["Hand"].policy.parameters()).fill_(math.nan)
    with pytest.raises(DivergedError, match="smaller learning_rate"):
        trainer.learn()


def test_an_absent_entity_is_named_where_the_network_uses_it():
    with pytest.raises(DivergedError, match=r"'cards\[2, 1\]' of Hand 0 in world 1 is nan after 0 steps"):
        play_cards(2, network="mlp").learn()


def test_agents_of_several_kinds_have_names():
    groups = {"hunters": PolicyGroup("Wolf"), "rest": PolicyGroup("Sheep[1],Sheep[0],Sheep[2],Ram")}
    trainer = PPO(FARM, PPOConfig(num_envs=2, device="cpu"), policy_groups=groups)
    group = trainer.learners["rest"].agent_group
    assert [agent_name(group, index) for index in range(group.agents)] == ["Sheep 1", "Sheep 0", "Sheep 2", "Ram 0"]
