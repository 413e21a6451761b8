"""Specs of observations from the declarations of a world: bounds, channels, sets with masks, and critics."""

import pytest
import torch

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.agents.specs import ObservationSpec


class Player(wl.Entity):
    move: wl.Action(wl.Discrete(2))
    plane: wl.Observation(5, 4, 26, dtype=wl.uint8, low=0, high=1)
    frames: wl.Observation(4, 6, 6, dtype=wl.uint8, channels="first")
    hand: wl.Observation(3, dtype=wl.uint8, low=0, high=(1, 4, 255))
    others: wl.Observation(6, 2, entities=True, mask="near")
    near: wl.Observation(6, dtype=bool)
    secret: wl.Observation(2, critic=True)


class Card(wl.Entity):
    face: wl.Observation(wl.MultiDiscrete(3, 5), entities=True, mask="dealt")
    dealt: wl.Observation(wl.Discrete(2))


class Joker(wl.Entity):
    place: wl.Observation(2, entities=True)


def specs_of(definition: wl.Definition) -> dict[str, ObservationSpec]:
    simulation = wl.Simulation(definition, 2, "cpu", seed=0)
    agents = AgentGroup(simulation, parse_agents("Player", definition))
    for name, values in agents.observations().items():
        assert values.shape == (2, *agents.spec.observations[name].shape)
    return agents.spec.observations


def test_specs_follow_the_declarations():
    specs = specs_of(wl.Definition("Specs-test", wl.World, {Player: 1, Card: 4, Joker: 1}))
    assert specs == {
        "plane": ObservationSpec((5, 4, 26), torch.uint8, high=1.0),
        "frames": ObservationSpec((4, 6, 6), torch.uint8, high=255.0, channels="first"),
        "hand": ObservationSpec((3,), torch.uint8, high=(1.0, 4.0, 255.0)),
        "others": ObservationSpec((6, 2), entities=True, mask="near"),
        "near": ObservationSpec((6,), torch.bool),
        "secret": ObservationSpec((2,), critic=True),
        "face": ObservationSpec((4, 2), torch.int32, (3, 5) * 4, entities=True, mask="dealt"),
        "dealt": ObservationSpec((4,), torch.int32, (2,) * 4),
        "place": ObservationSpec((1, 2), entities=True),
    }
    assert specs["face"].entity == ObservationSpec((2,), torch.int32, (3, 5)) and not specs["others"].is_image


def player_with(**components) -> wl.Definition:
    annotations = {"move": wl.Action(wl.Discrete(2)), **components}
    kind = type("Player", (wl.Entity,), {"__annotations__": annotations, "__module__": __name__})
    return wl.Definition("Odd-test", wl.World, {kind: 1})


@pytest.mark.parametrize(
    ("components", "words"),
    [
        (
            {"others": wl.Observation(6, entities=True)},
            r"Player.others is declared as a set .* shape \(6,\): give it two",
        ),
        (
            {"others": wl.Observation(6, 2, entities=True, mask="near")},
            r"mask of Player.others is 'near', which is no observation of Player: declare it, as in near: wl.Ob.*\(6",
        ),
        (
            {"others": wl.Observation(6, 2, entities=True, mask="near"), "near": wl.Observation(5)},
            r"mask Player.near has the shape \(5,\), and Player.others has 6 entities: make it \(6,\)",
        ),
    ],
)
def test_sets_that_do_not_fit_are_refused(components, words):
    with pytest.raises(InputError, match=words):
        specs_of(player_with(**components))
