"""DQN: metrics, what is stored, several policies, refused settings, CartPole."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from dqn_worlds import CINEMA, FLOCK, SMALL, YARD, Diary, only, worlds
from thorough import THOROUGH, only_thorough
from worlds import CLOCK, FARM, KITCHEN, PARTY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import QActor
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.training.callbacks import StopAt
from worldloom.learn.training.progress import METRICS


def test_every_number_has_a_known_name() -> None:
    diary = Diary()
    trainer = DQN(CLOCK, SMALL)
    trainer.learn(callbacks=[diary])
    assert trainer.iteration == 100 and trainer.steps == 400
    assert all(set(p.metrics) <= set(METRICS) for p in diary.told)
    waiting = [math.isnan(p.metrics["loss/value"]) for p in diary.told]
    assert waiting == [True] * 9 + [False] * 91, "40 steps come before the first update"
    last = diary.told[-1].metrics
    assert all(math.isfinite(v) for v in last.values())
    assert last["episode/return"] == last["episode/length"] == 5.0 and last["episode/count"] == 4 * (
        100 // 6 + 1 * (100 % 6 >= 5)
    )
    assert last["update/learning_rate"] == pytest.approx(SMALL.learning_rate * 0.01)


@pytest.mark.parametrize(
    ("settings", "learns"),
    [
        ({"num_envs": 4, "learning_starts": 5000}, False),
        ({"num_envs": 4, "learning_starts": 65}, False),
        ({"num_envs": 4, "learning_starts": 64}, True),
        ({"num_envs": 64, "learning_starts": 10}, False),  # one step of each world, and a target counts three rewards
        ({"num_envs": 64, "learning_starts": 10, "steps_per_update": 4}, True),
        ({"num_envs": 48, "learning_starts": 96, "n_step": 1}, True),  # the last iteration goes beyond total_steps
        ({"num_envs": 4, "n_step": 16, "learning_starts": 0}, False),
    ],
)
def test_a_training_that_ends_before_it_learns_says_so(settings: dict[str, int], learns: bool) -> None:
    trainer = DQN("CartPole-v1", DQNConfig(total_steps=64, updates=1, batch_size=8, device="cpu", **settings))
    told, before = trainer.notice, [p.detach().clone() for p in only(trainer).policy.parameters()]
    trainer.learn()
    assert any((p != b).any() for p, b in zip(only(trainer).policy.parameters(), before, strict=True)) is learns
    assert ("nothing will be learned" not in told) is learns and trainer.notice == ""
    assert learns or told.startswith(
        "nothing will be learned: the first update needs "
        f"learning_starts={settings['learning_starts']:,} steps in the replay"
    )


def test_a_training_that_goes_on_without_its_replay_says_that_it_ends_too_early() -> None:
    config = DQNConfig(
        num_envs=4, total_steps=64, learning_starts=32, updates=1, batch_size=8, save_replay=False, device="cpu"
    )
    state = DQN("CartPole-v1", config).learn().state()
    for total, learns in ((92, False), (96, True)):
        trainer = DQN("CartPole-v1", replace(config, total_steps=total))
        trainer.load_state(*state)
        assert ("nothing will be learned" not in trainer.notice) is learns
        trainer.learn()
        assert trainer.learning is learns


def test_agents_that_left_are_not_learned_from() -> None:
    config = replace(SMALL, total_steps=4 * 36)
    trainer = DQN(worlds(PARTY, config, dies_at=2, leaves_at=3, over_at=6), config)
    trainer.learn()
    replay = only(trainer).replay
    assert replay is not None
    # Guest 0 leaves by the rules with its 2nd step, guest 1 is taken out with its 4th, guest 2 with its 5th, with which
    # the episode is over.
    valid, terminated, truncated = (
        f.numpy()[:36].reshape(6, 6, 4, 3) for f in (replay.valid, replay.terminated, replay.truncated)
    )
    for guest, steps in enumerate((2, 4, 5)):
        assert valid[:, :steps, :, guest].all() and not valid[:, steps:, :, guest].any()
        ended = (terminated if guest == 0 else truncated)[:, :, :, guest]
        assert ended[:, steps - 1].all() and not ended[:, : steps - 1].any() and not ended[:, steps:].any()
    assert trainer.score == pytest.approx((2 + 4 + 5) / 3)


def test_each_kind_has_a_policy_of_its_own() -> None:
    config = replace(
        SMALL, num_envs=8, total_steps=1_200, learning_rate=1e-2, batch_size=64, replay_capacity=20_000, gamma=0.0
    )
    trainer = DQN(FLOCK, config)
    diary = Diary()
    trainer.learn(callbacks=[diary])
    assert {"episode/return/Sheep", "value/mean/Ram"} <= set(diary.told[-1].metrics)
    for name, best in (("Sheep", 1), ("Ram", 2)):
        learner = trainer.learners[name]
        with torch.no_grad():
            assert (learner.policy(learner.agent_group.observations()).argmax(1) == best).all()


def test_policy_groups_have_their_own_settings_and_may_be_frozen() -> None:
    policy_groups = {
        "sheep": PolicyGroup("Sheep", replace(SMALL, gamma=0.5, steps_per_update=7)),
        "rams": PolicyGroup("Ram", train=False),
    }
    trainer = DQN(FLOCK, SMALL, policy_groups=policy_groups)
    before = trainer.learners["rams"].optimizer.flat.clone()
    trainer.learn()
    sheep, rams = trainer.learners["sheep"], trainer.learners["rams"]
    assert sheep.config.gamma == 0.5 and sheep.config.steps_per_update == 1 and sheep.replay is not None
    assert torch.equal(before, rams.optimizer.flat) and rams.replay is None
    assert rams.explorer.epsilon.item() == pytest.approx(SMALL.epsilon_end)
    assert trainer.is_trained("sheep") and not trainer.is_trained("rams")


def test_a_frame_of_a_stack_is_stored_once() -> None:
    config = replace(SMALL, stack=3, policy=PolicyConfig(network="mlp", hidden=(8,)))
    trainer = DQN(CINEMA, config)
    trainer.learn()
    replay = only(trainer).replay
    assert replay is not None and replay.frames["film"].shape == (200, 4, 2, 2)
    batch = replay.sample(500)
    for films in (batch.observations["film"], batch.next_observations["film"]):
        films = films[batch.weights > 0.0]
        for k in range(3):
            assert torch.equal(films[:, k], (films[:, 2] - 2 + k).clamp(min=0.0))
        assert films[:, 2].max() >= 8


def test_a_faulty_world_does_not_spoil_the_network() -> None:
    config = replace(SMALL, policy=PolicyConfig(hidden=(8,), normalize_observations=True))
    trainer = DQN(YARD, config)
    trainer.learn()
    assert trainer.simulation.errors() and trainer.score == 4.0
    assert all(v.isfinite().all() for v in trainer.tensors().values() if v.is_floating_point())


def test_surprising_transitions_are_drawn_more_often() -> None:
    config = replace(SMALL, prioritized=True, priority_beta=0.5, replay_capacity=4_000)
    trainer = DQN("CartPole-v1", config)
    trainer.learn()
    replay = only(trainer).replay
    assert replay is not None and replay.priorities is not None
    drawable = replay.valid[: trainer.iteration - config.n_step]
    priorities = replay.priorities.values[: len(drawable)]
    assert (priorities[drawable] > 0.0).all() and not priorities[~drawable].any()
    assert len(priorities[drawable].unique()) > 50, "set by errors, not all at the value they start with"
    assert replay.priorities.beta.item() == pytest.approx(0.5 + 0.5 * 0.99)


# -- what it cannot do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "changes", "match"),
    [
        ("Pendulum-v1", {}, "'Pendulum-v1' act with real numbers.*ppo"),
        (KITCHEN, {}, "'Kitchen-test' act with 2 choices at once.*ppo"),
        (FARM, {}, "'Farm-test' act with real numbers.*ppo"),
        (
            "CartPole-v1",
            {"replay_capacity": 12},
            "replay_capacity of 12 is too little for 4 agents at once: make it 16 or more",
        ),
        ("CartPole-v1", {"stack": 4}, "no image observation with 4 frames"),
        ("CartPole-v1", {"policy": PolicyConfig(memory="lstm")}, "not recurrent"),
    ],
)
def test_what_does_not_fit_is_refused(world: object, changes: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        DQN(world, replace(SMALL, **changes))


def test_worlds_and_settings_of_other_algorithms_are_refused() -> None:
    with pytest.raises(InputError, match="DQN needs worlds made with autoreset='next_step'"):
        DQN(wl.Simulation("CartPole-v1", 4, "cpu"), SMALL)
    with pytest.raises(InputError, match="DQNConfig"):
        DQN("CartPole-v1", SMALL, policy_groups={"carts": PolicyGroup("Cart", PPOConfig())})


@pytest.mark.parametrize(
    "changes",
    [
        {"n_step": 0},
        {"batch_size": 0},
        {"tau": 0.0},
        {"tau": 1.5},
        {"epsilon_end": -0.1},
        {"priority_beta": 2.0},
        {"huber": -1.0},
        {"schedule": "kl"},
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match="DQN|" + next(iter(changes))):
        replace(SMALL, **changes)


# -- learning ----------------------------------------------------------------------------------------------------------


@only_thorough  # test_dqn_options.py learns a smaller world
def test_it_learns_cartpole() -> None:
    """As it is trained, with a random action in every twentieth step; and then without.

    ``make test-thorough`` trains until CartPole is solved.
    """
    trained, evaluated = (460.0, 475.0) if THOROUGH else (100.0, 100.0)
    trainer = DQN("CartPole-v1", replace(tuned_config("CartPole-v1", "dqn", DQNConfig), device="cpu", seed=2))
    trainer.learn(callbacks=[StopAt(trained)])
    assert trainer.score >= trained
    fresh = wl.Simulation("CartPole-v1", 100, "cpu", seed=1000)
    learner = only(trainer)
    found = evaluate(fresh, {"Cart": (AgentGroup(fresh, learner.agent_group.slices), QActor(learner.policy))}, 100)
    assert found.mean_return >= evaluated
