"""Training of agents whose number varies: free rows do not count, and a new agent in a row starts from zero."""

from dataclasses import replace

import pytest
import torch
from thorough import sample
from varying_agents import OFFICE, QUIT, ROWS, Worker, office

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn import (
    A2C,
    DQN,
    PPO,
    A2CConfig,
    DQNConfig,
    OpponentPool,
    PolicyConfig,
    PolicyGroup,
    PPOConfig,
    VTrace,
    VTraceConfig,
    evaluate,
    make_actors,
)
from worldloom.learn.agents.agent_group import AgentGroup, agent_counts, parse_agents
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.rollout_actor import RolloutActor, roll_out
from worldloom.learn.rollout.storage import Storage

pytestmark = pytest.mark.usefixtures("quick_compilation")

STEPS = 24


def group_of(simulation: wl.Simulation) -> AgentGroup:
    return AgentGroup(simulation, parse_agents("Worker", OFFICE))


def one_rollout(memory: str = "none", num_worlds: int = 4) -> RolloutActor:
    """A rollout of an untrained policy, whose agents quit often."""
    simulation = office("cpu", num_worlds, config={"staff": 1})
    group, config = group_of(simulation), PolicyConfig(memory=memory, memory_size=8)
    torch.manual_seed(0)
    actor = RolloutActor(group, Policy(group.spec, config), STEPS, seed=0)
    roll_out(simulation, [actor], range(STEPS), one_by_one=False)
    return actor


def test_agents_are_named_by_kind_and_row() -> None:
    assert agent_counts(OFFICE) == {"Worker": ROWS}
    assert parse_agents("Worker[1:3]", OFFICE)[0].slots == (1, 2)
    group = group_of(office("cpu", 2))
    assert group.may_leave and group.may_return and group.rows == 2 * ROWS
    assert group.active().tolist() == [True, True, False] * 2


def test_free_rows_have_no_weight_and_end_at_every_step() -> None:
    storage = one_rollout().storage
    assert storage.weights is not None
    present, dones = storage.weights > 0, storage.dones
    assert int((~present).sum()) > 0 and int((present & dones).sum()) > 0
    numbers = storage.observations["badge"][..., 0]  # of the agents, which differ in an episode
    ages = storage.observations["badge"][..., 1]
    assert bool((storage.observations["badge"][~present] == 0).all()) and bool((storage.rewards[~present] == 0).all())
    begins = dones[:-1] & present[1:]
    assert int(begins.sum()) > 0 and bool((ages[1:][begins] == 0).all())
    continues = present[1:] & ~dones[:-1]
    assert bool(present[:-1][continues].all())
    assert bool((numbers[1:] == numbers[:-1])[continues].all()) and bool((ages[1:] == ages[:-1] + 1)[continues].all())
    quits = present & (storage.actions[..., 0] == QUIT)
    assert bool(dones[quits].all()) and bool((storage.rewards[quits] == -5).all())


def test_episode_statistics_count_lives() -> None:
    actor = one_rollout()
    weights, dones = actor.storage.weights, actor.storage.dones
    assert weights is not None
    count, total, length = actor.episodes.total().tolist()
    lives, steps = int((dones & (weights > 0)).sum()), int(weights.sum())
    assert count == lives and length + float(actor.episodes.running[1].sum()) == steps
    assert total + float(actor.episodes.running[0].sum()) == pytest.approx(float(actor.storage.rewards.sum()))


def test_memories_of_rows_begin_anew_with_their_agents() -> None:
    storage = one_rollout("gru").storage
    assert storage.weights is not None
    numbers, ages = storage.observations["badge"].unbind(-1)
    first, later = ((storage.weights > 0) & born for born in (ages == 0, ages > 0))
    assert int(first[1:].sum()) > 0 and bool((storage.states[first] == 0).all())
    assert bool((storage.states[later & (numbers > 0)] != 0).any(-1).all())
    batch = storage.gather_rows(torch.arange(storage.rows), storage.rewards, storage.rewards)
    assert batch.resets is not None
    assert bool(batch.resets[1:][first[1:]].all()) and not bool(batch.resets[1:][later[1:]].any())


ALGORITHMS = {"ppo": (PPO, PPOConfig), "a2c": (A2C, A2CConfig), "vtrace": (VTrace, VTraceConfig)}
SMALL = {"device": "cpu", "num_envs": 8, "num_steps": 8, "seed": 0, "learning_rate": 3e-3}


def mean_return(trainer: PPO | A2C | VTrace | DQN) -> float:
    """The mean return of a row in an episode of 10 steps; 20 is the most possible."""
    worlds = office("cpu", 16, config={"staff": ROWS})
    return evaluate(worlds, make_actors(trainer.learners, worlds, stochastic=True), episodes=16).mean_return


@pytest.mark.parametrize(
    ("algorithm", "steps", "settings"),
    sample(
        [
            ("ppo", 3_840, {"overlap": True, "normalize_values": True, "stagger": True}),
            ("ppo", 3_840, {}),
            ("a2c", 5_760, {}),
            ("ppo", 1_920, {"policy": PolicyConfig(memory="gru"), "normalize_rewards": True, "minibatches": 1}),
            ("vtrace", 5_760, {}),
        ],
        3,
    ),
)
def test_every_algorithm_learns(algorithm: str, steps: int, settings: dict) -> None:
    trainer_class, config = ALGORITHMS[algorithm]
    trainer = trainer_class(OFFICE, config(**SMALL, total_steps=steps, **settings))
    before = mean_return(trainer)
    trainer.learn()
    assert mean_return(trainer) > before + 5.0
    normalizer = trainer.learners["Worker"].policy.normalizer
    if normalizer is not None:
        assert 0 < float(normalizer.moments[0].count) < trainer.steps  # free rows are left out


def overwrite_free_rows(storage: Storage) -> None:
    """Overwrite everything that was stored for rows without an agent."""
    assert storage.weights is not None
    free = storage.weights == 0
    assert 0 < int(free.sum()) < free.numel()
    for tensor in (storage.rewards, storage.values[:-1]):
        tensor[free] = 7.0
    storage.log_probs[free], storage.actions[free] = -3.0, 1
    order = (storage.first + torch.arange(storage.steps)) % storage.steps
    for tensor in storage.observations.values():
        tensor[order] = torch.where(free[..., None], 7.0, tensor[order])


@pytest.mark.parametrize(
    ("algorithm", "memory"), sample([("ppo", "gru"), ("ppo", "none"), ("a2c", "none"), ("vtrace", "none")], 2)
)
def test_free_rows_do_not_change_an_update(algorithm: str, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer_class, config_class = ALGORITHMS[algorithm]
    config = config_class(**SMALL, total_steps=576, policy=PolicyConfig(memory=memory, memory_size=8))
    trainers = [trainer_class(OFFICE, config) for _ in range(2)]
    training_batch = trainers[1].training_batch

    def overwritten_batch(learner: Learner) -> object:
        overwrite_free_rows(learner.actor.storage)
        return training_batch(learner)

    monkeypatch.setattr(trainers[1], "training_batch", overwritten_batch)
    for trainer in trainers:
        trainer.simulation.set_config("hires", 0)  # rows stay free
        trainer.learn()
    one, two = (trainer.learners["Worker"].policy.state_dict() for trainer in trainers)
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, two[name], rtol=1e-5, atol=1e-6)


def test_dqn_learns_and_its_transitions_belong_to_one_agent() -> None:
    config = DQNConfig(
        device="cpu", num_envs=8, seed=0, total_steps=3_840, replay_capacity=3_840, batch_size=64, learning_starts=480
    )
    trainer = DQN(OFFICE, config)
    trainer.learn()
    assert mean_return(trainer) > 10.0
    replay = trainer.learners["Worker"].replay
    assert replay is not None
    badges, steps = replay.frames["badge"], int(replay.cursor)
    numbers, ages = badges[:steps].unbind(-1)
    valid, ended = replay.valid[:steps], (replay.terminated | replay.truncated)[:steps]
    assert 0 < int(valid.sum()) < valid.numel()
    continues = (valid & ~ended)[:-1]
    assert bool((numbers[1:] == numbers[:-1])[continues].all()) and bool((ages[1:] == ages[:-1] + 1)[continues].all())


def test_dqn_refuses_stacks_of_frames() -> None:
    class Watcher(wl.Entity):
        turn: wl.Action(wl.Discrete(2))
        image: wl.Observation(2, 4, 4, dtype=wl.uint8)
        reward: wl.Reward

    class Tower(wl.World):
        pass

    @wl.system
    def climb(world: Tower):
        world.spawn(Watcher)

    world = wl.Definition("Tower-test", Tower, {Watcher: wl.UpTo(2, agents=True)}, reset=(climb,), max_steps=4)
    with pytest.raises(InputError, match=r"the agents of policy 'Watcher' come and go.*leave stack at 1"):
        DQN(world, DQNConfig(device="cpu", num_envs=2, stack=2, replay_capacity=512))


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_training_resumes_bit_for_bit(memory: str) -> None:
    config = PPOConfig(**SMALL, total_steps=576, minibatches=1, policy=PolicyConfig(memory=memory, memory_size=8))
    whole, first, second = (PPO(OFFICE, config) for _ in range(3))
    whole.learn()
    first.learn(192)
    tensors, plain = first.state()
    second.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    second.learn()
    for name, tensor in whole.tensors().items():
        assert torch.equal(tensor, second.tensors()[name]), name


def test_past_selves_act_in_some_worlds() -> None:
    pool = OpponentPool(every=1, size=2, share=0.5, swap_every=1, sampling="uniform")
    groups = {"first": PolicyGroup("Worker[0:1]"), "rest": PolicyGroup("Worker[1:3]", pool=pool)}
    trainer = PPO(OFFICE, PPOConfig(**SMALL, total_steps=960), policy_groups=groups)
    trainer.learn()
    storage = trainer.learners["rest"].actor.storage
    assert storage.weights is not None
    worlds = storage.weights.view(storage.steps, 8, 2).sum((0, 2))
    assert int((worlds == 0).sum()) == 4


def test_masks_of_free_rows_allow_every_action() -> None:
    class Miner(wl.Entity):
        dig: wl.Action(wl.Discrete(3))
        depth: wl.Observation(1)
        dig_mask: wl.Observation(3, dtype=wl.uint8)
        reward: wl.Reward

    class Mine(wl.World):
        pass

    @wl.system
    def enter(world: Mine):
        world.spawn(Miner)

    @wl.system
    def allow(miner: Miner):
        miner.dig_mask[1] = wl.uint8(1)

    world = wl.Definition("Mine-test", Mine, {Miner: wl.UpTo(2, agents=True)}, reset=(enter,), observe=(allow,))
    group = AgentGroup(wl.Simulation(world, 1, "cpu", seed=0), parse_agents("Miner", world))
    mask = group.mask()
    assert mask is not None and mask.tolist() == [[False, True, False], [True, True, True]]


def test_populations_that_are_not_declared_as_agents_are_refused() -> None:
    crowd = replace(OFFICE, entities={Worker: wl.UpTo(ROWS)})
    with pytest.raises(InputError, match=r"cannot show its 'order': register it with wl.UpTo\(..., agents=True\)"):
        agent_counts(crowd)
