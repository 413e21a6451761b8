"""Custom modules by their protocols: recurrent ones, the actor alone, and what is refused."""

import pytest
import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

T, B, S = 6, 4, 5
SPEC = PolicySpec({"sight": ObservationSpec((3,))}, ActionSpec("categorical", sizes=(2,)))
WITH_CRITIC = PolicySpec(
    {"sight": ObservationSpec((3,)), "secret": ObservationSpec((1,), critic=True)},
    ActionSpec("categorical", sizes=(2,)),
)


class Recurrent(nn.Module):
    state_size = S

    def __init__(self):
        super().__init__()
        self.cell, self.actor, self.critic = nn.GRUCell(3, S), nn.Linear(S, 2), nn.Linear(S, 1)

    def forward(self, sight, state):
        state = self.cell(sight, state)
        return self.actor(state), self.critic(state), state


class WithSequence(Recurrent):
    calls = 0

    def sequence(self, sights, state, resets):
        self.calls += 1
        outputs = []
        for sight, reset in zip(sights, resets, strict=True):
            state = self.cell(sight, torch.where(reset[:, None], 0.0, state))
            outputs.append(state)
        return self.actor(torch.stack(outputs)), self.critic(torch.stack(outputs)).squeeze(-1)


def test_a_recurrent_module_is_stepped_where_it_has_no_sequence():
    torch.manual_seed(0)
    plain, own = Recurrent(), WithSequence()
    own.load_state_dict(plain.state_dict())
    first, second = (Policy(SPEC, PolicyConfig(), module) for module in (plain, own))
    assert first.recurrent and first.state_size == S and first.initial_state(B, "cpu").shape == (B, S)
    sights, state, resets = torch.randn(T, B, 3), torch.randn(B, S), torch.rand(T, B) < 0.3
    torch.testing.assert_close(
        first.sequence({"sight": sights}, state, resets), second.sequence({"sight": sights}, state, resets)
    )
    assert own.calls == 1
    parameters, value, following = first({"sight": sights[0]}, state)
    assert parameters.shape == (B, 2) and value.shape == (B,) and following.shape == (B, S)
    acted, same = first.act({"sight": sights[0]}, state)
    assert torch.equal(acted, parameters) and torch.equal(same, following)


def returning(*outputs, state_size: int = 0, **methods) -> nn.Module:
    """A module whose forward returns ``outputs``."""
    kind = type("Odd", (nn.Module,), {"forward": lambda self, observations, *state: outputs, **methods})
    module = kind()
    module.state_size = state_size
    return module


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (returning(torch.zeros(B, 2)), r"Odd.forward must return a pair: 2 parameters .* not a tuple of 1"),
        (returning(torch.zeros(B, 3), torch.zeros(B)), r"as parameters .* tensor \(4, 3\): make it a tensor \(4, 2\)"),
        (returning([0.0, 1.0], torch.zeros(B)), r"as parameters of the action a list: make it a tensor \(4, 2\)"),
        (returning(torch.zeros(B, 2), torch.zeros(B, 2)), r"as value a tensor \(4, 2\): make it a tensor \(4,\)"),
        (returning(torch.zeros(B, 2), (1, 2)), r"as value a tuple of 2: make it a tensor \(4,\)"),
        (
            returning(torch.zeros(B, 2), torch.zeros(B), state_size=S),
            r"three tensors: .* not a tuple of 2 \(it has a state_size, so it is recurrent\)",
        ),
        (
            returning(torch.zeros(B, 2), torch.zeros(B), (torch.zeros(B, S), torch.zeros(B, S)), state_size=S),
            r"as next state a tuple of 2: make it one tensor \(4, 5\), for an LSTM its output and its cell",
        ),
    ],
)
def test_wrong_outputs_are_refused(module, words):
    policy = Policy(SPEC, PolicyConfig(), module)
    with pytest.raises(InputError, match=words):
        policy({"sight": torch.zeros(B, 3)}, policy.initial_state(B, "cpu"))


class StateWithoutSize(nn.Module):
    def forward(self, sight, state):
        return sight, state, state


class SizeWithoutState(nn.Module):
    state_size = 3

    def forward(self, sight):
        return sight, sight


class OddSequence(Recurrent):
    def sequence(self, sights):
        return sights


class OddAct(Recurrent):
    def act(self, sight):
        return sight


class Empty(nn.Module):
    pass


class OddSize(Recurrent):
    state_size = 2.5


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (StateWithoutSize(), r"StateWithoutSize.forward must take \(observations\) .* needs the attribute state_size"),
        (SizeWithoutState(), r"SizeWithoutState.forward must take \(observations, state\) and takes \(sight\)"),
        (OddSequence(), r"OddSequence.sequence must take \(observations, state, resets\)"),
        (OddAct(), r"OddAct.act must take \(observations, state\)"),
        (Empty(), "Empty has no method forward"),
        (OddSize(), "state_size of OddSize must be .* not 2.5"),
        (lambda sight: sight, "a network is an object of a class derived from torch.nn.Module"),
    ],
)
def test_modules_that_do_not_follow_a_protocol_are_refused(module, words):
    with pytest.raises(InputError, match=words):
        Policy(SPEC, PolicyConfig(), module)


def test_q_networks_are_not_recurrent():
    with pytest.raises(InputError, match="a Q network is not recurrent, and Recurrent has a state_size"):
        QNetwork(SPEC, PolicyConfig(), Recurrent())


class Asymmetric(nn.Module):
    def forward(self, observations):
        return observations["sight"][:, :2], observations["secret"]


class WithActor(Asymmetric):
    def act(self, observations):
        return observations["sight"][:, :2]


def test_a_custom_module_may_have_an_actor_that_needs_no_observations_of_the_critic():
    sight, state = torch.randn(B, 3), torch.zeros(B, 0)
    policy = Policy(WITH_CRITIC, PolicyConfig(), WithActor())
    parameters, value, _ = policy({"sight": sight, "secret": torch.ones(B, 1)}, state)
    assert value.tolist() == [1.0] * B
    assert torch.equal(policy.act({"sight": sight}, state)[0], parameters)
    with pytest.raises(InputError, match="Asymmetric needs the observation 'secret' of the critic"):
        Policy(WITH_CRITIC, PolicyConfig(), Asymmetric()).act({"sight": sight}, state)
