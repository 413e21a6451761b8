"""Pools of past selves: who acts where, exact swaps, ratings by known outcomes, and bit-exact resuming."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from duel import DUEL, TWINS
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

SMALL = PPOConfig(
    num_envs=8,
    num_steps=4,
    minibatches=2,
    epochs=2,
    seed=1,
    device="cpu",
    total_steps=8 * 4 * 6,
    learning_rate=1e-2,
    policy=PolicyConfig(hidden=(8,)),
)
POOL = OpponentPool(every=2, size=3, share=0.25, swap_every=1, sampling="uniform")


def groups(pool: OpponentPool = POOL, **others: object) -> dict[str, PolicyGroup]:
    return {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", pool=pool, **others)}


def always(policy: torch.nn.Module, choice: int) -> None:
    """Make a policy take one choice with certainty."""
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
        policy.network.actor.bias[choice] = 100.0


def parameters(policy: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in policy.state_dict().items()}


class Metrics(Callback):
    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.rows.append(progress.metrics)


def test_past_selves_act_in_their_worlds_with_weight_0() -> None:
    trainer = PPO(DUEL, SMALL, policy_groups=groups())
    learner, players = trainer.learners["Defender"], trainer.self_play.pools["Defender"]
    trainer.self_play.before_rollout(0)
    always(learner.policy, 1)
    always(players.past_selves[0].policy, 0)
    trainer._roll_out()
    storage = learner.actor.storage
    assert players.past_selves[0].rows.tolist() == [6, 7]
    assert torch.equal(storage.weights, torch.tensor([1.0] * 6 + [0.0] * 2).expand(4, 8))
    assert storage.actions[..., 0].tolist() == [[1] * 6 + [0] * 2] * 4
    assert trainer.simulation["Defender"]["choice"].torch().flatten().tolist() == [1] * 6 + [0] * 2
    assert trainer.learners["Attacker"].actor.storage.weights is None  # it learns from all worlds


def test_steps_of_past_selves_change_nothing_in_the_update() -> None:
    def learned(spoilt: bool) -> dict[str, Tensor]:
        normalized = PolicyConfig(hidden=(8,), normalize_observations=True)
        config = replace(SMALL, normalize_rewards=True, policy=normalized)
        trainer = PPO(DUEL, config, policy_groups=groups())
        trainer.self_play.before_rollout(0)
        trainer._roll_out()
        storage = trainer.learners["Defender"].actor.storage
        if spoilt:
            storage.rewards[:, 6:] += 5.0
            storage.log_probs[:, 6:] -= 1.0
            storage.observations["sight"][:, 6:] = 9.0
        trainer._update()
        return {k: v.clone() for k, v in trainer.learners["Defender"].tensors().items() if "rows/scale" not in k}

    plain, spoilt = learned(False), learned(True)
    assert all(torch.equal(plain[name], spoilt[name]) for name in plain)


def test_snapshots_are_taken_and_swapped_in_exactly() -> None:
    trainer = PPO(DUEL, SMALL, policy_groups=groups())
    learner, players = trainer.learners["Defender"], trainer.self_play.pools["Defender"]
    at_iteration: dict[int, dict[str, Tensor]] = {}
    addresses = [value.data_ptr() for value in players.past_selves[0].policy.state_dict().values()]
    for iteration in range(8):
        at_iteration[iteration] = parameters(learner.policy)
        trainer.iteration = iteration
        trainer.iterate()
        taken = int(players.snapshots.iterations[players.drawn[0]])
        assert taken % 2 == 0 and taken <= iteration
        acting = players.past_selves[0].policy.state_dict()
        assert all(torch.equal(acting[name], value) for name, value in at_iteration[taken].items())
    assert sorted(players.snapshots.iterations.tolist()) == [2, 4, 6]  # the oldest of four was replaced
    assert addresses == [value.data_ptr() for value in players.past_selves[0].policy.state_dict().values()]


def test_a_past_self_stays_until_the_next_draw_unless_its_snapshot_is_replaced() -> None:
    pool = replace(POOL, every=1, size=3, swap_every=5, simultaneous=2)
    trainer = PPO(DUEL, SMALL, policy_groups=groups(pool))
    players, valid = trainer.self_play.pools["Defender"], trainer.self_play.outcomes.valid
    replaced = 0
    for iteration in range(20):
        before, acting = players.drawn.clone(), [parameters(past.policy) for past in players.past_selves]
        trainer.simulation.world["step"].torch().fill_(1)  # within an episode
        valid.fill_(True)
        trainer.self_play.before_rollout(iteration)
        for index, past in enumerate(players.past_selves):
            drawn_anew = iteration % 5 == 0 or before[index] == iteration % 3
            replaced += drawn_anew and iteration % 5 != 0
            assert valid[6 + index] == (not drawn_anew)
            if not drawn_anew:
                assert players.drawn[index] == before[index]
                assert all(torch.equal(value, acting[index][name]) for name, value in past.policy.state_dict().items())
        assert bool(valid[:6].all())
        with torch.no_grad():
            trainer.learners["Defender"].optimizer.flat.add_(0.01)
    assert replaced > 0


def test_ratings_follow_known_outcomes() -> None:
    frozen = replace(SMALL, learning_rate=1e-12, total_steps=8 * 4 * 2)
    pool = replace(POOL, every=100, swap_every=100)
    trainer = PPO(DUEL, frozen, policy_groups=groups(pool))
    always(trainer.learners["Attacker"].policy, 1)
    always(trainer.learners["Defender"].policy, 0)  # also its only snapshot, taken before the first iteration
    metrics = Metrics()
    trainer.learn(callbacks=metrics)
    # Iteration 1, all at 1000: the attacker beats the current defender and its past self, and gains 16 (1 - 0.5) twice.
    first = metrics.rows[0]
    assert first["elo/rating/Attacker"] == pytest.approx(1016.0)
    assert first["elo/rating/Defender"] == pytest.approx(992.0)
    assert first["elo/pool/Defender"] == pytest.approx(992.0)
    # Iteration 2: the losers are expected to score 1 / (1 + 10 ** (24 / 400)) each.
    gain, second = 16.0 / (1.0 + 10.0 ** (24.0 / 400.0)), metrics.rows[1]
    assert second["elo/rating/Attacker"] == pytest.approx(1016.0 + 2.0 * gain)
    assert second["elo/rating/Defender"] == pytest.approx(992.0 - gain)
    assert second["elo/pool/Defender"] == pytest.approx(992.0 - gain)
    assert second["elo/score/Defender"] == 1.0
    assert second["elo/score/Attacker"] != second["elo/score/Attacker"]  # NaN: it has no pool


def test_only_episodes_that_one_past_self_played_are_rated() -> None:
    # Episodes of 4 steps, and a draw every 3 steps: from step 12 on an episode starts with a draw, but ends after one.
    assert (
        "act for 3 steps, and episodes may last 4"
        in PPO(DUEL, replace(SMALL, num_steps=3), policy_groups=groups()).notice
    )
    assert PPO(DUEL, SMALL, policy_groups=groups()).notice == "" == PPO(DUEL, SMALL).notice
    trainer = PPO(DUEL, replace(SMALL, num_steps=3, total_steps=8 * 3 * 5), policy_groups=groups())
    metrics = Metrics()
    trainer.learn(callbacks=metrics)
    assert all(row["elo/score/Defender"] != row["elo/score/Defender"] for row in metrics.rows)
    trainer = PPO(
        DUEL, replace(SMALL, num_steps=2, total_steps=8 * 2 * 4), policy_groups=groups(replace(POOL, swap_every=2))
    )
    metrics = Metrics()
    trainer.learn(callbacks=metrics)
    rated = [row["elo/score/Defender"] == row["elo/score/Defender"] for row in metrics.rows]
    assert rated == [False, True, False, True]


def test_a_margin_shifts_who_wins() -> None:
    pool = replace(POOL, every=100, swap_every=100, margin=-8.5)
    trainer = PPO(DUEL, replace(SMALL, learning_rate=1e-12, total_steps=8 * 4 * 2), policy_groups=groups(pool))
    always(trainer.learners["Attacker"].policy, 1)
    always(trainer.learners["Defender"].policy, 0)  # loses by 8: 4 steps, -1 against +1
    trainer.learn()
    ratings = trainer.self_play.ratings
    assert ratings[0] < 1000.0 < trainer.self_play.pools["Defender"].snapshots.ratings[0]


def test_one_policy_plays_its_past_selves_in_a_symmetric_game() -> None:
    pool = replace(POOL, agents="Twin[1]", simultaneous=2, share=0.5)
    trainer = PPO(TWINS, SMALL, policy_groups={"twins": PolicyGroup("Twin", pool=pool)})
    players = trainer.self_play.pools["twins"]
    assert [past.rows.tolist() for past in players.past_selves] == [[9, 11], [13, 15]]
    metrics = Metrics()
    trainer.learn(callbacks=metrics)
    assert set(metrics.rows[0]) >= {"elo/rating", "elo/pool", "elo/score"}
    assert trainer.self_play.ratings.shape == (1,)


def test_a_training_against_past_selves_only_is_announced() -> None:
    pool = replace(POOL, agents="Twin[1]", share=1.0)
    trainer = PPO(TWINS, SMALL, policy_groups={"twins": PolicyGroup("Twin", pool=pool)})
    assert "no episode is played by current policies only" in trainer.notice
    half = {kind: PolicyGroup(kind, pool=replace(POOL, share=0.5)) for kind in ("Attacker", "Defender")}
    assert "no episode is played by current policies only" in PPO(DUEL, SMALL, policy_groups=half).notice


def test_a_policy_without_rivals_is_refused() -> None:
    with pytest.raises(InputError, match="controls every agent, so its past selves would have no rivals"):
        PPO(TWINS, SMALL, policy_groups={"twins": PolicyGroup("Twin", pool=POOL)})


@pytest.mark.parametrize(
    ("policy_groups", "match"),
    [
        (groups(replace(POOL, agents="Attacker")), "cannot control Attacker 0"),
        (groups(replace(POOL, share=0.05)), "a share of 0.05 of 8 worlds is too little for 1 past selves"),
        (groups(replace(POOL, share=1.0)), "in all 8 worlds, so that it would never be trained: make the share"),
        (groups(replace(POOL, share=0.99)), "in all 8 worlds, so that it would never be trained"),
        (groups(replace(POOL, size=2**31 - 1)), "a pool of 2,147,483,647 snapshots"),
        (groups(train=False), "is not trained, so it has no past selves"),
        (
            {
                "Attacker": PolicyGroup("Attacker", pool=replace(POOL, share=0.75)),
                "Defender": PolicyGroup("Defender", pool=replace(POOL, share=0.5)),
            },
            "are more than all 8 worlds",
        ),
    ],
)
def test_invalid_pools_of_a_trainer_are_refused(policy_groups: dict[str, PolicyGroup], match: str) -> None:
    with pytest.raises(InputError, match=match):
        PPO(DUEL, SMALL, policy_groups=policy_groups)


def test_dqn_has_no_pools() -> None:
    config = DQNConfig(num_envs=4, device="cpu", replay_capacity=1000, learning_starts=1)
    with pytest.raises(InputError, match="dqn, which has no pools of past selves"):
        DQN(DUEL, config, policy_groups=groups())


RESUMED = [
    (PPO, replace(SMALL, policy=PolicyConfig(hidden=(8,), memory="gru", memory_size=4))),
    (PPO, replace(SMALL, normalize_rewards=True, policy=PolicyConfig(hidden=(8,), normalize_observations=True))),
    (PPO, replace(SMALL, overlap=True)),
    (A2C, A2CConfig(num_envs=8, num_steps=4, seed=1, device="cpu", total_steps=8 * 4 * 6)),
    (VTrace, VTraceConfig(num_envs=8, num_steps=4, steps_per_update=2, seed=1, device="cpu", total_steps=8 * 2 * 6)),
]


@pytest.mark.parametrize(("kind", "config"), RESUMED)
def test_a_resumed_training_continues_bit_for_bit(kind: type[PPO], config: PPOConfig) -> None:
    both = {
        "Attacker": PolicyGroup("Attacker", pool=replace(POOL, sampling="rating", simultaneous=2)),
        "Defender": PolicyGroup("Defender", pool=replace(POOL, swap_every=3)),
    }

    def made() -> PPO:
        return kind(DUEL, config, policy_groups=both)

    half = config.total_steps // 2
    whole = made()
    whole.learn(half)
    tensors, plain = whole.state()
    tensors = {name: value.clone() for name, value in tensors.items()}
    whole.learn(config.total_steps)
    resumed = made()
    resumed.load_state(tensors, plain)
    resumed.learn(config.total_steps)
    expected, found = whole.state()[0], resumed.state()[0]
    assert expected.keys() == found.keys()
    assert any(name.startswith("self_play/pools/Attacker/members/") for name in found)
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name


def test_past_selves_act_while_the_policy_is_updated() -> None:
    trainer, metrics = PPO(DUEL, replace(SMALL, overlap=True), policy_groups=groups()), Metrics()
    trainer.learn(callbacks=metrics)
    assert len(metrics.rows) == 6 and metrics.rows[-1]["elo/rating/Attacker"] != 1000.0
    assert sorted(trainer.self_play.pools["Defender"].snapshots.iterations.tolist()) == [0, 2, 4]


def test_an_altered_pool_is_refused() -> None:
    trainer = PPO(DUEL, SMALL, policy_groups=groups())
    trainer.learn()
    tensors, plain = trainer.state()
    for name, value in (("drawn", 3), ("ratings", 1e9), ("sampler/0", -1)):
        altered = {
            **tensors,
            f"self_play/pools/Defender/{name}": torch.full_like(tensors[f"self_play/pools/Defender/{name}"], value),
        }
        with pytest.raises(InputError, match="which no training saves"):
            PPO(DUEL, SMALL, policy_groups=groups()).load_state(altered, plain)


def test_running_differences_of_earlier_checkpoints_are_float32() -> None:
    trainer = PPO(DUEL, SMALL, policy_groups=groups())
    tensors, plain = trainer.state()
    del tensors["self_play/rows/magnitude"]
    tensors["self_play/rows/difference"] = torch.full((SMALL.num_envs,), 0.25)
    trainer.load_state(tensors, plain)
    assert trainer.self_play is not None
    assert trainer.self_play.outcomes.difference.tolist() == [0.25] * SMALL.num_envs
    assert trainer.self_play.outcomes.magnitude.tolist() == [0.0] * SMALL.num_envs
