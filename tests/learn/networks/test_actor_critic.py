"""Shared and separate layers of actor and critic, and critics with observations of their own."""

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic import SeparateActorCritic, SeparateRecurrentActorCritic, SharedActorCritic
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

T, B = 4, 3
ACTION = ActionSpec("categorical", sizes=(3,))
OBSERVATIONS = {
    "mlp": {"sight": ObservationSpec((5,))},
    "grid": {"screen": ObservationSpec((4, 4, 2))},
    "two_branch": {"screen": ObservationSpec((4, 4, 2)), "sight": ObservationSpec((5,))},
    "attention": {"others": ObservationSpec((4, 3), entities=True), "sight": ObservationSpec((5,))},
}


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def policy_of(observations: dict[str, ObservationSpec], **settings) -> Policy:
    policy = Policy(PolicySpec(observations, ACTION), PolicyConfig(memory_size=6, hidden=(8,), **settings))
    torch.nn.init.normal_(policy.network.actor.weight)  # it starts too small to show a difference
    return policy


def seen(observations: dict[str, ObservationSpec], *leading: int) -> dict[str, torch.Tensor]:
    return {name: torch.randn(*leading, *spec.shape) for name, spec in observations.items()}


@pytest.mark.parametrize("memory", ["none", "lstm", "gru"])
@pytest.mark.parametrize("trunks", ["shared", "separate"])
@pytest.mark.parametrize("network", OBSERVATIONS)
def test_layers_are_shared_or_separate_for_every_network(network, trunks, memory):
    policy = policy_of(OBSERVATIONS[network], network=network, trunks=trunks, memory=memory)
    separate = trunks == "separate"
    kinds = {"none": SeparateActorCritic}
    assert type(policy.network) is (kinds.get(memory, SeparateRecurrentActorCritic) if separate else SharedActorCritic)
    size = {"none": 0, "gru": 6, "lstm": 12}[memory]
    assert policy.state_size == (2 * size if separate else size)
    state = torch.randn(B, policy.state_size)
    parameters, value, _ = policy(seen(policy.spec.observations, B), state)
    value.sum().backward()
    reached = [name for name, p in policy.named_parameters() if p.grad is not None and p.grad.any()]
    assert any(name.startswith("network.critic") for name in reached)
    assert all(name.startswith("network.critic") for name in reached) == separate
    assert parameters.shape == (B, 3)


@pytest.mark.parametrize("memory", ["lstm", "gru"])
@pytest.mark.parametrize("network", OBSERVATIONS)
def test_a_sequence_of_separate_layers_equals_its_steps(network, memory):
    policy = policy_of(OBSERVATIONS[network], network=network, trunks="separate", memory=memory)
    rollout, resets = seen(policy.spec.observations, T, B), torch.rand(T, B) < 0.3
    start = state = torch.randn(B, policy.state_size)
    steps = []
    for step in range(T):
        now = {name: values[step] for name, values in rollout.items()}
        state = state * ~resets[step][:, None]
        parameters, value, following = policy(now, state)
        torch.testing.assert_close(policy.value(now, state), value)
        acted, after = policy.act(now, state)
        torch.testing.assert_close(acted, parameters)
        half = policy.state_size // 2
        assert torch.equal(after[:, :half], following[:, :half]) and torch.equal(after[:, half:], state[:, half:])
        state = following
        steps.append((parameters, value))
    parameters, values = policy.sequence(rollout, start, resets)
    torch.testing.assert_close(parameters, torch.stack([p for p, _ in steps]))
    torch.testing.assert_close(values, torch.stack([v for _, v in steps]))


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("network", OBSERVATIONS)
@pytest.mark.parametrize("normalize", [False, True])
def test_the_actor_never_gets_the_observations_of_the_critic(network, memory, normalize):
    observations = {**OBSERVATIONS[network], "secret": ObservationSpec((2,), critic=True)}
    policy = policy_of(observations, memory=memory, normalize_observations=normalize)
    assert type(policy.network) is (SeparateActorCritic if memory == "none" else SeparateRecurrentActorCritic)
    now, state = seen(observations, B), torch.zeros(B, policy.state_size)
    parameters, value, following = policy(now, state)
    changed = {**now, "secret": now["secret"] + 1.0}
    assert torch.equal(policy(changed, state)[0], parameters)
    assert not torch.allclose(policy(changed, state)[1], value)
    del changed["secret"]
    acted, after = policy.act(changed, state)
    assert torch.equal(acted, parameters)
    half = policy.state_size // 2
    assert torch.equal(after[:, :half], following[:, :half])


def test_a_symmetric_critic_leaves_the_observations_of_the_critic_out():
    observations = {"sight": ObservationSpec((5,)), "secret": ObservationSpec((2,), critic=True)}
    policy = policy_of(observations, asymmetric=False, trunks="shared", normalize_observations=True)
    sight = {"sight": torch.randn(B, 5)}
    assert policy(sight, torch.zeros(B, 0))[1].shape == (B,) and policy.normalizer.names == ["sight"]


def test_q_networks_do_not_get_the_observations_of_a_critic():
    observations = {"sight": ObservationSpec((5,)), "secret": ObservationSpec((2,), critic=True)}
    network = QNetwork(PolicySpec(observations, ACTION), PolicyConfig())
    assert network({"sight": torch.randn(B, 5)}).shape == (B, 3)


@pytest.mark.parametrize("settings", [{"trunks": "shared"}, {"shared": True}])
def test_shared_layers_cannot_have_an_asymmetric_critic(settings):
    observations = {"sight": ObservationSpec((5,)), "secret": ObservationSpec((2,), critic=True)}
    with pytest.raises(InputError, match="would give the actor the critic's observation secret"):
        policy_of(observations, **settings)


def test_an_actor_needs_an_observation():
    with pytest.raises(InputError, match="not for the critic only"):
        policy_of({"secret": ObservationSpec((2,), critic=True)})
