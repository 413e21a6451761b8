"""Seats: what the agents of a policy see, do and get, in worlds with one agent and with several kinds."""

import numpy as np
import pytest
import torch
from worlds import FARM, KITCHEN, PARTY, Diner, Kitchen, offer, serve

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, AgentSlice, agent_counts, parse_agents
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec
from worldloom.learn.algorithms.ppo import PPO, PPOConfig


def seats_of(simulation: wl.Simulation, agents: str) -> AgentGroup:
    return AgentGroup(simulation, parse_agents(agents, simulation.definition))


@pytest.fixture(scope="module")
def farm() -> wl.Simulation:
    """Three farms after two steps, with actions that tell the agents apart."""
    simulation = wl.Simulation(FARM, 3, seed=0)
    leaps = np.arange(12, dtype=np.float32).reshape(3, 2, 2) / 10.0
    grazes = np.array([[0, 1, 2], [1, 1, 1], [2, 0, 1]], np.int32)
    for _ in range(2):
        simulation.step({"Wolf.leap": leaps, "Sheep.graze": grazes, "Ram.graze": np.array([[2], [1], [2]], np.int32)})
    return simulation


# -- who they are ------------------------------------------------------------------------------------------------------


def test_agents_are_named_by_kind_and_number() -> None:
    assert agent_counts(FARM) == {"Wolf": 2, "Sheep": 3, "Ram": 1}
    assert parse_agents("Wolf", FARM) == (AgentSlice("Wolf"),)
    assert parse_agents(" Sheep[0:2] , Ram", FARM) == (AgentSlice("Sheep", (0, 1)), AgentSlice("Ram"))
    assert parse_agents("Sheep[2]", FARM) == (AgentSlice("Sheep", (2,)),)


@pytest.mark.parametrize(
    "text", ["Cow", "Wolf[2]", "Sheep[2:2]", "Sheep[a]", "", "Wolf[0", "Wolf Sheep", "Sheep[-1]", "Farm"]
)
def test_agents_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="agents"):
        parse_agents(text, FARM)


def test_agents_whose_number_varies_are_refused() -> None:
    crowd = wl.Definition("Crowd-test", Kitchen, {Diner: wl.UpTo(4)})
    with pytest.raises(
        InputError, match="the number of 'Diner' in world 'Crowd-test' varies, so a trainer cannot show its"
    ):
        agent_counts(crowd)


def test_a_world_where_nobody_acts_is_refused() -> None:
    still = wl.Definition("Still-test", Kitchen, {})
    with pytest.raises(InputError, match="world 'Still-test' has no agents"):
        agent_counts(still)


# -- what they see and get ---------------------------------------------------------------------------------------------


def test_agents_of_several_see_their_own_and_the_worlds(farm: wl.Simulation) -> None:
    agent_group = seats_of(farm, "Wolf")
    assert agent_group.rows == 6 and agent_group.agents == 2 and not agent_group.may_leave
    assert agent_group.spec.observations == {
        "smell": ObservationSpec((2,)),
        "hunger": ObservationSpec((1,)),
        "light": ObservationSpec((1,)),
        "season": ObservationSpec((), torch.int32, (4,)),
    }
    seen = agent_group.observations()
    np.testing.assert_allclose(seen["smell"], 2 * np.arange(12).reshape(6, 2) / 10.0, rtol=1e-6)
    np.testing.assert_array_equal(seen["hunger"], [[0], [1], [0], [1], [0], [1]])
    np.testing.assert_array_equal(seen["light"], [[0.0], [0.0], [0.5], [0.5], [1.0], [1.0]])
    np.testing.assert_array_equal(seen["season"], [2] * 6)


def test_kinds_that_are_alike_sit_side_by_side(farm: wl.Simulation) -> None:
    """Row = world * agents + agent, in the order in which they are named."""
    agent_group = seats_of(farm, "Ram,Sheep[1:3]")
    assert agent_group.agents == 3 and agent_group.rows == 9
    np.testing.assert_array_equal(
        agent_group.observations()["smell"].view(3, 3, 2)[1], [[4.0, 10.0], [2.0, 1.0], [2.0, 2.0]]
    )
    np.testing.assert_array_equal(agent_group.observations()["light"].view(3, 3), [[0.0] * 3, [0.5] * 3, [1.0] * 3])
    np.testing.assert_allclose(
        agent_group.rewards().view(3, 3), [[1.25, 1.25, 0.25], [0.25, 1.25, 1.25], [1.25, 0.25, 1.25]]
    )


def test_some_of_a_kind_get_their_own_and_the_worlds_rewards(farm: wl.Simulation) -> None:
    np.testing.assert_allclose(seats_of(farm, "Sheep[0]").rewards(), [0.25, 1.25, 0.25])
    np.testing.assert_allclose(
        seats_of(farm, "Sheep").rewards().view(3, 3), [[0.25, 1.25, 0.25], [1.25] * 3, [0.25, 0.25, 1.25]]
    )


def test_a_single_agent_sees_all_there_is() -> None:
    """As somebody who makes the world as a Gymnasium environment does."""

    class Hand(wl.Entity):
        grip: wl.Action(wl.Discrete(2))
        feel: wl.Observation(1)
        reward: wl.Reward

    class Block(wl.Entity):
        place: wl.Observation(2)
        feel: wl.Observation(1)
        reward: wl.Reward

    class Desk(wl.World):
        light: wl.Observation(1)

    @wl.system
    def fill(block: Block):
        block.place = wl.vec2(float(block.id), 5.0)
        block.feel[0] = 7.0

    @wl.system
    def pay(block: Block):
        block.reward = 1.0 + float(block.id)

    desk = wl.Definition("Desk-test", Desk, {Hand: 1, Block: 3}, step=(pay,), observe=(fill,), max_steps=2)
    simulation = wl.Simulation(desk, 2, seed=0)
    simulation.step(np.zeros((2, 1), np.int32))
    agent_group = seats_of(simulation, "Hand")
    shapes = {name: spec.shape for name, spec in agent_group.spec.observations.items()}
    assert shapes == {"light": (1,), "feel": (1,), "place": (3, 2), "Block.feel": (3, 1)}
    seen = agent_group.observations()
    np.testing.assert_array_equal(seen["place"][1], [[0, 5], [1, 5], [2, 5]])
    np.testing.assert_array_equal(seen["Block.feel"][0], [[7], [7], [7]])
    np.testing.assert_array_equal(agent_group.rewards(), [6.0, 6.0])
    simulation.step(np.zeros((2, 1), np.int32))
    assert agent_group.truncated().all()
    np.testing.assert_array_equal(agent_group.final_observations()["place"][1], [[0, 5], [1, 5], [2, 5]])


def test_the_last_observations_are_those_before_the_reset(farm: wl.Simulation) -> None:
    simulation = wl.Simulation(FARM, 2, seed=0)
    agent_group = seats_of(simulation, "Sheep[1:3],Ram")
    for _ in range(7):
        simulation.step()
    assert agent_group.truncated().all() and not agent_group.terminated().any() and agent_group.world_ended().all()
    np.testing.assert_array_equal(
        agent_group.final_observations()["smell"].view(2, 3, 2)[0], [[7.0, 1.0], [7.0, 2.0], [14.0, 10.0]]
    )
    np.testing.assert_array_equal(
        agent_group.observations()["smell"].view(2, 3, 2)[0], [[0.0, 1.0], [0.0, 2.0], [0.0, 10.0]]
    )
    np.testing.assert_array_equal(agent_group.final_observations()["season"], [3] * 6)


def test_agents_leave_one_by_one() -> None:
    simulation = wl.Simulation(PARTY, 2, seed=0, config={"dies_at": 1, "leaves_at": 1, "max_steps": 9})
    everyone, some = seats_of(simulation, "Guest"), seats_of(simulation, "Guest[1:3]")
    assert everyone.may_leave and everyone.active().all()
    simulation.step()
    np.testing.assert_array_equal(everyone.terminated().view(2, 3), [[True, False, False]] * 2)
    assert not everyone.truncated().any() and not everyone.world_ended().any()
    simulation.step()
    np.testing.assert_array_equal(everyone.active().view(2, 3), [[False, False, True]] * 2)
    np.testing.assert_array_equal(some.active().view(2, 2), [[False, True]] * 2)
    np.testing.assert_array_equal(some.truncated().view(2, 2), [[True, False]] * 2)
    np.testing.assert_allclose(
        some.final_observations()["sight"].view(2, 2, 4)[0, 0], [0.0, 1.0, 0.0, 0.02]
    )  # the world went on
    simulation.step()
    assert everyone.world_ended().all() and everyone.active().all()
    np.testing.assert_array_equal(everyone.truncated().view(2, 3), [[False, False, True]] * 2)
    np.testing.assert_allclose(some.final_observations()["sight"].view(2, 2, 4)[0, 1], [0.0, 0.0, 1.0, 0.03])


# -- what they do ------------------------------------------------------------------------------------------------------


def test_actions_of_every_kind_are_described(farm: wl.Simulation) -> None:
    assert seats_of(farm, "Wolf").spec.action == ActionSpec("gaussian", low=(-2.0, -2.0), high=(2.0, 2.0))
    assert seats_of(farm, "Sheep").spec.action == ActionSpec("categorical", sizes=(3,))
    assert seats_of(wl.Simulation(KITCHEN, 1, "python"), "Diner").spec.action == ActionSpec("categorical", sizes=(4, 3))


def test_a_kinds_own_actions_are_written_in_place(farm: wl.Simulation) -> None:
    memory = seats_of(farm, "Wolf").action_view()
    assert memory is not None and memory.shape == (6, 2)
    assert memory.data_ptr() == farm["Wolf"]["leap"].torch().data_ptr()
    assert seats_of(farm, "Sheep[0:2]").action_view() is None and seats_of(farm, "Sheep,Ram").action_view() is None


def test_actions_of_several_kinds_and_of_some_reach_their_agents() -> None:
    simulation = wl.Simulation(FARM, 2, seed=0)
    simulation["Sheep"]["graze"].torch().fill_(2)
    seats_of(simulation, "Ram,Sheep[0],Sheep[2]").write_actions(
        torch.tensor([[0], [1], [2], [1], [0], [1]], dtype=torch.int32)
    )
    np.testing.assert_array_equal(simulation["Ram"]["graze"].numpy(), [[0], [1]])
    np.testing.assert_array_equal(simulation["Sheep"]["graze"].numpy(), [[1, 2, 2], [0, 2, 1]])


def test_several_action_components_are_one_action() -> None:
    class Crab(wl.Entity):
        left: wl.Action(wl.Discrete(2))
        right: wl.Action(wl.MultiDiscrete(3, 4))
        sight: wl.Observation(1)

    shore = wl.Definition("Shore-test", Kitchen, {Crab: 2})
    simulation = wl.Simulation(shore, 2, "python")
    agent_group = seats_of(simulation, "Crab")
    assert agent_group.spec.action.sizes == (2, 3, 4) and agent_group.action_view() is None
    agent_group.write_actions(torch.tensor([[1, 2, 3], [0, 1, 2], [1, 0, 0], [0, 2, 1]], dtype=torch.int32))
    np.testing.assert_array_equal(simulation["Crab"]["left"].numpy(), [[1, 0], [1, 0]])
    np.testing.assert_array_equal(simulation["Crab"]["right"].numpy(), [[[2, 3], [1, 2]], [[0, 0], [2, 1]]])


def test_the_world_itself_may_act() -> None:
    class Weather(wl.World):
        rain: wl.Action(wl.Box(0.0, 1.0, (2,)))
        wet: wl.Observation(1)
        gain: wl.Reward

    @wl.system
    def pour(world: Weather):
        world.gain = world.rain[0] + world.rain[1]
        world.wet[0] += world.rain[0]

    simulation = wl.Simulation(wl.Definition("Weather-test", Weather, {}, step=(pour,), max_steps=4), 3, seed=0)
    trainer = PPO(simulation, PPOConfig(num_steps=4, minibatches=1, total_steps=24))
    trainer.learn()
    kept = trainer.learners["World"].actor.storage
    assert kept.rows == 3
    given = (0.5 + 0.5 * kept.actions).clamp(0.0, 1.0).sum(-1)
    np.testing.assert_allclose(kept.rewards[:3], given[:3], atol=1e-6)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_unlike_kinds_cannot_share_a_policy(farm: wl.Simulation) -> None:
    with pytest.raises(InputError, match="Wolf and Sheep cannot share a policy"):
        seats_of(farm, "Wolf,Sheep")


def test_kinds_of_which_one_has_a_mask_cannot_share_a_policy() -> None:
    class Guest(wl.Entity):
        order: wl.Action(wl.MultiDiscrete(4, 3))
        sight: wl.Observation(2)

    simulation = wl.Simulation(
        wl.Definition("Table-test", Kitchen, {Diner: 1, Guest: 1}, step=(serve,), observe=(offer,)), 1, "python"
    )
    for agents in ("Diner,Guest", "Guest,Diner"):
        with pytest.raises(InputError, match="cannot share a policy: their observations, actions or masks differ"):
            seats_of(simulation, agents)


def refused(entity: type[wl.Entity], match: str) -> None:
    simulation = wl.Simulation(wl.Definition("Odd-test", Kitchen, {entity: 1, Diner: 1}), 1, "python")
    with pytest.raises(InputError, match=match):
        seats_of(simulation, entity.__name__)


def test_an_agent_that_sees_nothing_is_refused() -> None:
    class Mole(wl.Entity):
        dig: wl.Action(wl.Discrete(3))

    refused(Mole, "Mole has no observation")


def test_a_mask_of_another_size_is_refused() -> None:
    class Ox(wl.Entity):
        pull: wl.Action(wl.Discrete(3))
        action_mask: wl.Observation(2, dtype=bool)
        sight: wl.Observation(1)

    refused(Ox, "Ox.action_mask has 2 elements, but there are 3 choices")


def test_masks_can_be_left_out_of_account() -> None:
    taxi = wl.Simulation("Taxi-v3", 2, seed=0)
    assert AgentGroup(taxi, [AgentSlice("Cab")]).mask() is not None
    assert AgentGroup(taxi, [AgentSlice("Cab")], masks=False).mask() is None
    (learner,) = PPO("Taxi-v3", PPOConfig(num_envs=4, num_steps=4, device="cpu", action_masks=False)).learners.values()
    assert learner.actor.storage.masks is None
