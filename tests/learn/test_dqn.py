"""DQN: targets against NumPy, what it keeps of ended worlds, masks, several policies, exact resumption, CartPole."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from worlds import CLOCK, FARM, KITCHEN, PARTY, Farm, Ram, Sheep, butt, graze, ram_sense, share, sheep_sense, shine

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.q_learner import QLearner
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.losses.td_loss import MASK, huber, td_targets
from worldloom.learn.play.actors import QActor
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.callbacks import Callback, StopAt
from worldloom.learn.training.progress import METRICS, Progress
from worldloom.learn.training.trainer import Trainer

CPU = torch.device("cpu")
SMALL = DQNConfig(
    num_envs=4,
    total_steps=400,
    device="cpu",
    seed=1,
    replay_capacity=800,
    batch_size=16,
    learning_starts=40,
    n_step=3,
    updates=2,
    policy=PolicyConfig(hidden=(8,)),
)


class Eater(wl.Entity):
    """Picks one of four dishes, of which one or two are on offer, and never the third."""

    dish: wl.Action(wl.Discrete(4))
    action_mask: wl.Observation(4, dtype=bool)
    sight: wl.Observation(2)
    refused: int  # dishes that were not on offer
    reward: wl.Reward


class Canteen(wl.World):
    pass


@wl.system
def eat(eater: Eater):
    if not eater.action_mask[eater.dish]:
        eater.refused += 1
    eater.reward = float(eater.dish)


@wl.system
def cook(eater: Eater, world: Canteen):
    for dish in range(4):
        eater.action_mask[dish] = dish != 2 and (dish == world.step % 2 or dish == 3 - world.step % 3)
    eater.sight = wl.vec2(float(world.step % 2), float(world.step % 3))


CANTEEN = wl.Definition("Canteen-test", Canteen, {Eater: 1}, step=(eat,), observe=(cook,), max_steps=7)


class Camera(wl.Entity):
    """Sees the last three steps' numbers as pictures, newest last; before the first there is the first."""

    turn: wl.Action(wl.Discrete(2))
    film: wl.Observation(3, 2, 2)
    reward: wl.Reward


class Cinema(wl.World):
    pass


@wl.system
def wait(camera: Camera):
    camera.reward = 1.0


@wl.system
def shoot(camera: Camera, world: Cinema):
    for k in range(3):
        for i in range(2):
            for j in range(2):
                camera.film[k, i, j] = float(wl.max(0, world.step - 2 + k))


CINEMA = wl.Definition("Cinema-test", Cinema, {Camera: 1}, step=(wait,), observe=(shoot,), max_steps=9)


class Wreck(wl.Entity):
    """Sees what is no number at its fourth step."""

    move: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1, finite=True)
    reward: wl.Reward


class Yard(wl.World):
    zero: wl.Config = 0.0


@wl.system
def rust(wreck: Wreck):
    wreck.reward = 1.0


@wl.system
def stare(wreck: Wreck, world: Yard):
    wreck.sight[0] = 0.0 / world.zero if world.step == 4 else 1.0


YARD = wl.Definition("Yard-test", Yard, {Wreck: 1}, step=(rust,), observe=(stare,))
FLOCK = wl.Definition(
    "Flock-test",
    Farm,
    {Sheep: 3, Ram: 1},
    step=(graze, butt, share),
    observe=(sheep_sense, ram_sense, shine),
    max_steps=7,
)


class Diary(Callback):
    def __init__(self) -> None:
        self.told: list[Progress] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.told.append(progress)


def worlds(world: object, config: DQNConfig, **settings: object) -> wl.Simulation:
    return wl.Simulation(world, config.num_envs, "cpu", seed=config.seed, autoreset="next_step", config=settings)


def only(trainer: DQN) -> QLearner:
    (learner,) = trainer.learners.values()
    return learner


# -- targets -----------------------------------------------------------------------------------------------------------


def forward(state: dict[str, Tensor], x: np.ndarray) -> np.ndarray:
    """The Q network of one hidden layer in float64."""
    (w1, b1), (w2, b2) = [
        (state[k].double().numpy(), state[k.replace("weight", "bias")].double().numpy())
        for k in state
        if k.endswith("weight")
    ]
    return np.tanh(x @ w1.T + b1) @ w2.T + b2


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("n", [1, 4])
def test_targets_are_those_of_plain_loops_over_what_was_seen(n: int, double: bool) -> None:
    """Episodes of at most 12 steps: some terminate, the others are cut off."""
    config = replace(SMALL, n_step=n, double=double, gamma=0.9, tau=0.3, num_envs=8)
    trainer = DQN(worlds("CartPole-v1", config, max_steps=12), config)
    trainer.learn()
    learner = only(trainer)
    replay = learner.replay
    assert replay is not None and trainer.iteration == 50 < replay.capacity
    count = int(replay.cursor.item())
    frames, rewards = replay.frames["sight"].double().numpy(), replay.rewards.numpy()
    terminated, truncated, valid = replay.terminated.numpy(), replay.truncated.numpy(), replay.valid.numpy()
    online, target = learner.policy.state_dict(), learner.target.state_dict()
    assert not all(torch.equal(online[k], target[k]) for k in online)
    batch = replay.sample(512)
    found = td_targets(learner.policy, learner.target, batch, double)
    ends = set()
    for b in range(512):
        t, row = divmod(int(batch.indices[b]), 8)
        assert t < count - n and bool(batch.weights[b]) == valid[t, row]
        if not valid[t, row]:
            assert truncated[t - 1, row] or terminated[t - 1, row]
            continue
        total, k = 0.0, 0
        while True:
            total += 0.9**k * rewards[t + k, row]
            k += 1
            if k == n or terminated[t + k - 1, row] or truncated[t + k - 1, row]:
                break
        if not terminated[t + k - 1, row]:
            following = frames[t + k, row]
            values = forward(target, following)
            total += 0.9**k * values[np.argmax(forward(online, following) if double else values)]
        ends.add((bool(terminated[t + k - 1, row]), bool(truncated[t + k - 1, row])))
        assert found[b].item() == pytest.approx(total, abs=1e-4)
    assert {(False, False), (True, False), (False, True)} <= ends


@pytest.mark.parametrize("double", [False, True])
def test_targets_count_allowed_actions_only(double: bool) -> None:
    trainer = DQN(worlds(CANTEEN, SMALL), replace(SMALL, double=double))
    learner, generator = only(trainer), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in learner.target.parameters():
            parameter += torch.randn(parameter.shape, generator=generator)
    following = torch.randn(64, 2, generator=generator)
    mask = torch.rand(64, 4, generator=generator) < 0.5
    mask[:2] = torch.tensor([[False] * 4, [True] * 4])
    rewards, discounts = torch.randn(2, 64, generator=generator)
    batch = TransitionBatch(
        {}, torch.zeros(64, 1), rewards, {"sight": following, MASK: mask}, discounts, torch.ones(64), torch.arange(64)
    )
    with torch.no_grad():
        values, ranking = (
            learner.target({"sight": following}),
            learner.policy({"sight": following}) if double else learner.target({"sight": following}),
        )
    found, free = td_targets(learner.policy, learner.target, batch, double), 0
    for b in range(64):
        allowed = [a for a in range(4) if mask[b, a] or not mask[b].any()]
        best = max(allowed, key=lambda a: float(ranking[b, a]))
        free += best != int(ranking[b].argmax())
        assert found[b].item() == pytest.approx(float(rewards[b] + discounts[b] * values[b, best]), abs=1e-5)
    assert free > 10


def test_the_loss_of_errors() -> None:
    errors = torch.tensor([-3.0, -0.5, 0.0, 0.5, 2.0])
    torch.testing.assert_close(huber(errors, 1.0), torch.tensor([2.5, 0.125, 0.0, 0.125, 1.5]))
    torch.testing.assert_close(huber(errors, 0.0), errors.square() / 2.0)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_a_time_limit_is_no_end(ends: str, n: int) -> None:
    """A clock of two hours gives 1 in each step for ever, and is cut off after 5: with a discount of 0.8 it is worth 5.

    One that ends then is worth less.
    """
    config = replace(
        SMALL, gamma=0.8, n_step=n, num_envs=8, total_steps=3_200, learning_rate=2e-2, batch_size=64, tau=0.3
    )
    settings = {"period": 2} if ends == "truncated" else {"period": 6, "ends_at": 5}
    trainer = DQN(worlds(CLOCK, config, **settings), config)
    trainer.learn()
    with torch.no_grad():
        found = only(trainer).policy({"sight": torch.eye(6)})
    expected = [5.0, 5.0] if ends == "truncated" else [sum(0.8**k for k in range(5 - hour)) for hour in range(5)]
    np.testing.assert_allclose(found[: len(expected)].numpy(), np.array(expected)[:, None].repeat(2, 1), atol=0.15)


# -- acting ------------------------------------------------------------------------------------------------------------


def test_the_best_choice_or_any() -> None:
    rows = 40_000
    values = torch.randn(1, 3, generator=torch.Generator().manual_seed(0)).expand(rows, 3).contiguous()
    best = int(values[0].argmax())
    explorer, action = EpsilonGreedy(rows, CPU, seed=5), torch.zeros(rows, 1, dtype=torch.int32)
    world_action = torch.zeros_like(action)
    explorer.epsilon.fill_(0.3)
    explorer.choose(values, action, world_action=world_action)
    shares = torch.bincount(action[:, 0].long(), minlength=3) / rows
    for choice, share_of in enumerate(shares.tolist()):
        expected = 0.1 + (0.7 if choice == best else 0.0)
        assert abs(share_of - expected) < 5.0 * math.sqrt(expected * (1.0 - expected) / rows)
    assert torch.equal(action, world_action)
    explorer.epsilon.fill_(0.0)
    explorer.choose(values, action)
    assert (action == best).all()


def test_choices_are_drawn_by_row_tick_and_stream() -> None:
    values, drawn = torch.zeros(64, 9), torch.zeros(64, 1, dtype=torch.int32)

    def draws(first_row: int = 0, stream: int = 0, tick: int = 0, offset: int = 0, seed: int = 5) -> Tensor:
        explorer = EpsilonGreedy(64, CPU, seed, first_row, stream)
        explorer.advance(tick)
        explorer.choose(values, drawn, offset=offset)
        return drawn.clone()

    assert torch.equal(draws(first_row=10)[:54], draws()[10:])
    assert torch.equal(draws(tick=3), draws(tick=1, offset=2))
    for other in (draws(stream=1), draws(tick=1), draws(seed=6)):
        assert (other == draws()).float().mean() < 0.5


def test_masks_bind_both_the_best_and_any() -> None:
    generator = torch.Generator().manual_seed(1)
    rows = 5_000
    values, mask = torch.randn(rows, 6, generator=generator), torch.rand(rows, 6, generator=generator) < 0.4
    mask[:100] = False
    explorer, action = EpsilonGreedy(rows, CPU, seed=5), torch.zeros(rows, 1, dtype=torch.int32)
    allowed = mask | ~mask.any(1, keepdim=True)
    for epsilon in (0.0, 1.0):
        explorer.epsilon.fill_(epsilon)
        explorer.choose(values, action, mask)
        assert allowed.gather(1, action.long()).all()
        best = values.masked_fill(~allowed, -math.inf).argmax(1, keepdim=True)
        assert (action == best).all() if epsilon == 0.0 else not (action == best).all()
    several = allowed[100:].sum(1) > 1
    assert (action[100:][several] != best[100:][several]).float().mean() > 0.3, "any of the allowed ones"


def test_what_is_not_allowed_is_never_done() -> None:
    config = replace(SMALL, epsilon_fraction=0.5, epsilon_end=0.1)
    trainer = DQN(worlds(CANTEEN, config), config)
    for _ in range(100):
        trainer.learn(trainer.steps + 4)
        assert not trainer.simulation["Eater"].refused.numpy().any()
    replay = only(trainer).replay
    assert replay is not None
    done = replay.frames[MASK][:100].gather(2, replay.actions[:100].long())[replay.valid[:100]]
    assert done.all() and len(done) == 4 * (100 - 100 // 8)


def test_random_actions_become_fewer() -> None:
    config = replace(SMALL, epsilon_start=0.9, epsilon_end=0.1, epsilon_fraction=0.5)
    assert [config.epsilon(f) for f in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.9, 0.5, 0.1, 0.1])
    assert replace(config, epsilon_fraction=0.0).epsilon(0.0) == pytest.approx(0.1)
    diary = Diary()
    DQN("CartPole-v1", config).learn(callbacks=[diary])
    assert [p.metrics["update/epsilon"] for p in diary.told] == pytest.approx(
        [config.epsilon(4 * k / 400) for k in range(100)]
    )


# -- what it keeps -----------------------------------------------------------------------------------------------------


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
    assert (told == "") is learns and trainer.notice == ""
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
        assert (trainer.notice == "") is learns
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
        SMALL, num_envs=8, total_steps=2_400, learning_rate=1e-2, batch_size=64, replay_capacity=20_000, gamma=0.0
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


# -- going on later ----------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[object, dict[str, object]]] = {
    "plain": ("CartPole-v1", {}),
    "prioritized": ("CartPole-v1", {"prioritized": True, "target_update": 3, "updates": 2}),
    "dueling, normalised": (
        "CartPole-v1",
        {"policy": PolicyConfig(hidden=(8,), dueling=True, normalize_observations=True), "double": False},
    ),
    "masks": (CANTEEN, {"prioritized": True}),
    "leaving": (PARTY, {"steps_per_update": 2}),
    "several": (FLOCK, {}),
}


def copied(trainer: DQN) -> tuple[dict[str, Tensor], dict[str, object]]:
    """As it would come back from a file."""
    tensors, plain = trainer.state()
    return {k: v.clone() for k, v in tensors.items()}, json.loads(json.dumps(plain))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stop_at", [24, 120])
def test_a_training_that_was_stopped_goes_on_bit_for_bit(case: str, stop_at: int) -> None:
    """Stopped before the first update, or after many."""
    world, changes = CASES[case]
    config = replace(SMALL, **{"total_steps": 200, "updates": 1, **changes})
    settings = {"over_at": 5, "dies_at": 2, "leaves_at": 3} if world is PARTY else {}

    class Stop(Callback):
        def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
            if progress.steps == stop_at:
                trainer.stop()

    straight, stopped = (DQN(worlds(world, config, **settings), config) for _ in range(2))
    straight.learn()
    stopped.learn(callbacks=[Stop()])
    assert stopped.steps == stop_at
    resumed = DQN(worlds(world, replace(config, seed=9), **settings), config)
    resumed.load_state(*copied(stopped))
    resumed.learn()
    expected, found = straight.state(), resumed.state()
    assert (
        expected[0].keys() == found[0].keys()
        and any("/policy/" in k for k in found[0])
        and any("replay" in k for k in found[0])
    )
    for name, tensor in expected[0].items():
        assert torch.equal(tensor, found[0][name]), name
    assert {**expected[1], "seconds": 0.0} == {**found[1], "seconds": 0.0}


def test_a_replay_that_was_not_saved_is_filled_anew() -> None:
    config = replace(SMALL, save_replay=False)
    first = DQN("CartPole-v1", config)
    first.learn(200)
    tensors, plain = copied(first)
    assert not any("replay" in name for name in tensors)
    second = DQN("CartPole-v1", config)
    second.load_state(tensors, plain)
    before = only(second).optimizer.flat.clone()
    assert torch.equal(before, only(first).optimizer.flat)
    second.learn(200 + 36)
    assert not second.learning and torch.equal(before, only(second).optimizer.flat)
    second.learn(200 + 40)
    assert second.learning and not torch.equal(before, only(second).optimizer.flat)


def test_the_state_of_another_network_is_refused() -> None:
    state = copied(DQN("CartPole-v1", replace(SMALL, policy=PolicyConfig(hidden=(9,)))))
    with pytest.raises(InputError, match="does not fit"):
        DQN("CartPole-v1", SMALL).load_state(*state)


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


def test_it_solves_cartpole() -> None:
    """As it is trained, with a random action in every twentieth step; and then without."""
    trainer = DQN("CartPole-v1", replace(tuned_config("CartPole-v1", "dqn", DQNConfig), device="cpu", seed=2))
    trainer.learn(callbacks=[StopAt(460.0)])
    assert trainer.score >= 460.0
    fresh = wl.Simulation("CartPole-v1", 100, "cpu", seed=1000)
    learner = only(trainer)
    found = evaluate(fresh, {"Cart": (AgentGroup(fresh, learner.agent_group.slices), QActor(learner.policy))}, 100)
    assert found.mean_return >= 475.0
