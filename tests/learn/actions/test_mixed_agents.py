"""Agents with choices and numbers: the layout of their actions, their columns and their masks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from worlds import MINE, YARD, Kitchen

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import PolicyConfig

ACTIONS = torch.tensor(
    [[2, 1, 3, 0.1, -0.2, 5.0], [0, 0, 1, 0.3, 0.4, 6.0], [1, 1, 2, 0.5, 0.6, 7.0], [2, 0, 0, -0.7, 0.8, 8.0]]
)
"""tool, levers, reach and force of two cranes in two worlds."""


def group_of(definition: wl.Definition, agents: str, worlds: int = 2, **options: object) -> AgentGroup:
    simulation = wl.Simulation(definition, worlds, "python", seed=0)
    return AgentGroup(simulation, parse_agents(agents, definition), **options)


def test_choices_come_first_then_numbers_each_in_the_order_of_the_components() -> None:
    group = group_of(YARD, "Crane")
    assert group.spec.action == ActionSpec("mixed", (3, 2, 4), (-1.0, -1.0, 0.0), (1.0, 1.0, 10.0))
    assert group.spec.action.parameters == 12 and group.spec.action.width == 6
    assert list(group.spec.observations) == ["sight"], "a mask is no input of the network"


@pytest.mark.parametrize("agents", ["Crane", "Crane[0],Crane[1]"])
def test_every_component_gets_its_part(agents: str) -> None:
    group = group_of(YARD, agents)
    assert group.action_view() is None
    group.write_actions(ACTIONS)
    table = group.simulation["Crane"]
    np.testing.assert_array_equal(table.tool.numpy(), [[2, 0], [1, 2]])
    np.testing.assert_array_equal(table.levers.numpy(), [[[1, 3], [0, 1]], [[1, 2], [0, 0]]])
    np.testing.assert_allclose(table.reach.numpy()[1], [[0.5, 0.6], [-0.7, 0.8]], rtol=1e-6)
    np.testing.assert_array_equal(table.force.numpy(), [[5.0, 6.0], [7.0, 8.0]])
    group.simulation.step()
    np.testing.assert_allclose(group.rewards().numpy(), [214.0, 1.1, 112.0, 198.5], rtol=1e-5)


def test_one_choice_and_one_number_are_written_in_place() -> None:
    group = group_of(MINE, "Probe")
    choices, numbers = group.action_view()
    assert choices.dtype == torch.int32 and choices.shape == numbers.shape == (2, 1)
    assert choices.data_ptr() == group.simulation["Probe"].side.torch().data_ptr()
    assert numbers.data_ptr() == group.simulation["Probe"].depth.torch().data_ptr()


def test_each_component_of_choices_may_have_a_mask() -> None:
    mask = group_of(YARD, "Crane").mask()
    assert mask.dtype == torch.bool and mask.shape == (4, 9)
    assert mask[:2].tolist() == [[False, True, True] + [True] * 6, [True, False, True] + [True] * 6]
    assert group_of(YARD, "Crane", masks=False).mask() is None
    assert group_of(MINE, "Probe").mask() is None


def test_action_mask_covers_the_choices_of_all_components() -> None:
    class Bee(wl.Entity):
        thrust: wl.Action(wl.Box(-1.0, 1.0))
        turn: wl.Action(wl.Discrete(3))
        land: wl.Action(wl.Discrete(2))
        action_mask: wl.Observation(5, dtype=bool)
        sight: wl.Observation(1)

    class Ant(wl.Entity):
        turn: wl.Action(wl.Discrete(3))
        thrust: wl.Action(wl.Box(-1.0, 1.0))
        turn_mask: wl.Observation(4, dtype=bool)
        sight: wl.Observation(1)

    assert group_of(wl.Definition("Hive-test", Kitchen, {Bee: 3}), "Bee").mask().shape == (6, 5)
    with pytest.raises(InputError, match=r"Ant\.turn_mask has 4 elements, but there are 3 choices"):
        group_of(wl.Definition("Hill-test", Kitchen, {Ant: 1}), "Ant")


def test_settings_of_the_policy_choose_the_distribution() -> None:
    policy = PolicyConfig(action_distribution="squashed_gaussian", action_std="state")
    spec = group_of(YARD, "Crane", policy=policy).spec.action
    assert spec.squashed and spec.state_std and spec.parameters == 9 + 3 + 3

    class Mole(wl.Entity):
        dig: wl.Action(wl.Discrete(3))
        sight: wl.Observation(1)

    choices = group_of(wl.Definition("Hole-test", Kitchen, {Mole: 1}), "Mole", policy=policy).spec.action
    assert choices == ActionSpec("categorical", (3,)), "agents without numbers are not affected"


@pytest.mark.parametrize(("low", "high"), [(-math.inf, math.inf), (0.0, math.inf), ((0.0, -math.inf), 1.0)])
def test_squashed_numbers_need_bounds(low: object, high: object) -> None:
    class Bird(wl.Entity):
        turn: wl.Action(wl.Discrete(2))
        wings: wl.Action(wl.Box(-1.0, 1.0, (2,)))
        climb: wl.Action(wl.Box(low, high, (2,)))
        sight: wl.Observation(1)

    definition = wl.Definition("Sky-test", Kitchen, {Bird: 1})
    assert group_of(definition, "Bird").spec.action.numbers == 4
    match = r"Bird\.climb of world 'Sky-test' has an infinite bound, .* set action_distribution to gaussian"
    with pytest.raises(InputError, match=match):
        group_of(definition, "Bird", policy=PolicyConfig(action_distribution="squashed_gaussian"))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"action_distribution": "beta"}, "action_distribution must be one of gaussian, squashed_gaussian, not 'beta'"),
        ({"action_std": "learned"}, "action_std must be one of constant, state, not 'learned'"),
        (
            {"action_std": "state", "initial_std": 100.0},
            r"initial_std must lie between 4\.5e-05 and 55 where action_std",
        ),
        ({"action_std": "state", "initial_std": 1e-5}, "initial_std must lie between"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        PolicyConfig(**settings)
    PolicyConfig(initial_std=100.0)
