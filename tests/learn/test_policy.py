"""Policies: shapes, the value alone, sequences against steps, normalisation, outside modules, and refusals."""

import itertools
import math

import pytest
import torch
from thorough import covering, sample

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy

T, B = 5, 3
OBSERVATIONS = {
    "vector": {"sight": ObservationSpec((7,))},
    "choices": {"place": ObservationSpec((), torch.int32, (16,))},
    "mixed": {"sight": ObservationSpec((7,)), "hand": ObservationSpec((2,), torch.int32, (3, 5))},
    "image": {"screen": ObservationSpec((41, 37, 3), torch.uint8)},
    "small image": {"screen": ObservationSpec((2, 5, 6))},
    "entities": {
        "others": ObservationSpec((4, 3), entities=True, mask="present"),
        "present": ObservationSpec((4,), torch.bool),
        "cards": ObservationSpec((2, 2), torch.int32, (3, 5) * 2, entities=True),
        "sight": ObservationSpec((7,)),
    },
    "image and vector": {"screen": ObservationSpec((1, 15, 11), channels="first"), "sight": ObservationSpec((7,))},
}
ACTIONS = {
    "choice": ActionSpec("categorical", sizes=(4,)),
    "choices": ActionSpec("categorical", sizes=(2, 3, 5)),
    "numbers": ActionSpec("gaussian", low=(-1.0, -2.0), high=(1.0, 2.0)),
}


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def seen(observations: dict[str, ObservationSpec], *leading: int) -> dict[str, torch.Tensor]:
    """Random observations [*leading, *shape]."""
    values = {}
    for name, spec in observations.items():
        if spec.dtype.is_floating_point:
            values[name] = torch.randn(*leading, *spec.shape)
        else:
            values[name] = torch.randint(0, min(spec.choices, default=256), (*leading, *spec.shape)).to(spec.dtype)
    return values


def busy(policy: Policy) -> Policy:
    """``policy`` with other weights in the last layer, which start too small to show a difference."""
    torch.nn.init.normal_(policy.network.actor.weight)
    return policy


@pytest.mark.parametrize(
    ("kind", "action", "shared", "memory"),
    sample(itertools.product(OBSERVATIONS, ACTIONS, [False, True], ["none", "lstm", "gru"]), 41),
)
def test_every_combination(kind, action, shared, memory):
    spec = PolicySpec(OBSERVATIONS[kind], ACTIONS[action])
    policy = busy(Policy(spec, PolicyConfig(shared=shared, memory=memory, memory_size=6, hidden=(9, 8))))
    assert policy.recurrent == (memory != "none")
    assert policy.state_size == {"none": 0, "gru": 6, "lstm": 12}[memory]
    rollout = seen(spec.observations, T, B)
    state = policy.initial_state(B, "cpu")
    assert state.shape == (B, policy.state_size) and not state.any()
    resets = torch.rand(T, B) < 0.3
    many, values = policy.sequence(rollout, state, resets)
    assert many.shape == (T, B, spec.action.parameters) and values.shape == (T, B)
    for t in range(T):
        now = {name: value[t] for name, value in rollout.items()}
        state = state * ~resets[t][:, None]
        alone = policy.value(now, state)
        parameters, value, state = policy(now, state)
        assert parameters.dtype == value.dtype == state.dtype == torch.float32
        assert parameters.is_contiguous() and value.is_contiguous()
        assert torch.equal(alone, value)
        torch.testing.assert_close(parameters, many[t], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(value, values[t], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "memory"), covering(["vector", "image and vector"], ["none", "lstm"]))
def test_outputs_are_float32_under_autocast(kind, memory):
    policy = Policy(PolicySpec(OBSERVATIONS[kind], ACTIONS["choice"]), PolicyConfig(memory=memory))
    with torch.autocast("cpu", torch.bfloat16):
        outputs = policy(seen(OBSERVATIONS[kind], B), policy.initial_state(B, "cpu"))
        many = policy.sequence(
            seen(OBSERVATIONS[kind], T, B), policy.initial_state(B, "cpu"), torch.zeros(T, B, dtype=torch.bool)
        )
        values = policy.value(seen(OBSERVATIONS[kind], B), policy.initial_state(B, "cpu"))
    assert all(output.dtype == torch.float32 for output in (*outputs, *many, values))


def test_actor_and_critic_share_layers_or_not():
    spec = PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"])
    body = 7 * 64 + 64 + 64 * 64 + 64
    heads = 64 * 4 + 4 + 64 + 1
    sizes = {
        shared: sum(p.numel() for p in Policy(spec, PolicyConfig(shared=shared)).parameters())
        for shared in (False, True)
    }
    assert sizes == {False: 2 * body + heads, True: body + heads}


def test_the_value_spares_the_actor():
    policy = Policy(PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"]), PolicyConfig())
    policy.value(seen(OBSERVATIONS["vector"], B), policy.initial_state(B, "cpu")).sum().backward()
    assert all(p.grad is None for p in [*policy.network.actor_encoder.parameters(), *policy.network.actor.parameters()])
    assert all(p.grad is not None for p in policy.network.critic_encoder.parameters())


@pytest.mark.parametrize("shared", [False, True])
def test_the_last_layers_start_orthogonal(shared):
    network = Policy(PolicySpec(OBSERVATIONS["vector"], ACTIONS["choices"]), PolicyConfig(shared=shared)).network
    for layer, gain in ((network.actor, 0.01), (network.critic, 1.0)):
        torch.testing.assert_close(torch.linalg.svdvals(layer.weight), torch.full((len(layer.weight),), gain))
        assert not layer.bias.any()


def test_standard_deviation_belongs_to_real_numbers():
    policy = Policy(PolicySpec(OBSERVATIONS["vector"], ACTIONS["numbers"]), PolicyConfig(initial_std=0.5))
    torch.testing.assert_close(policy.log_std.detach(), torch.full((2,), math.log(0.5)))
    assert "log_std" in dict(policy.named_parameters())
    assert Policy(PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"]), PolicyConfig()).log_std is None


def test_observations_of_real_numbers_are_normalised():
    spec = PolicySpec(OBSERVATIONS["mixed"], ACTIONS["choice"])
    policy = busy(Policy(spec, PolicyConfig(normalize_observations=True)))
    assert policy.normalizer.names == ["sight"]
    rollout = seen(spec.observations, 50, B)
    policy.normalizer.update({**rollout, "sight": rollout["sight"] * 3 + 40})
    state = policy.initial_state(B, "cpu")
    now = {name: values[0] for name, values in rollout.items()}
    given = policy({**now, "sight": now["sight"] * 3 + 40}, state)
    moments = rollout["sight"].flatten(0, 1)
    by_hand = {**now, "sight": (now["sight"] - moments.mean(0)) / moments.std(0, correction=0)}
    for ours, theirs in zip(given[:2], policy.network(by_hand, state)[:2], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(policy.value({**now, "sight": now["sight"] * 3 + 40}, state), given[1])


@pytest.mark.parametrize("kind", ["choices", "image"])
def test_nothing_is_normalised_where_there_are_no_real_numbers(kind):
    assert (
        Policy(PolicySpec(OBSERVATIONS[kind], ACTIONS["choice"]), PolicyConfig(normalize_observations=True)).normalizer
        is None
    )


class OneComponent(torch.nn.Module):
    def __init__(self, width: int, column: bool):
        super().__init__()
        self.layer, self.column = torch.nn.Linear(7, width), column

    def forward(self, sight):
        return self.layer(sight), sight.sum(1, keepdim=self.column)


class TwoComponents(torch.nn.Module):
    def forward(self, observations):
        return observations["sight"][:, :4], observations["hand"].sum(1).double()


@pytest.mark.parametrize("column", [False, True])
def test_a_module_from_outside(column):
    spec = PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"])
    module = OneComponent(4, column)
    policy = Policy(spec, PolicyConfig(), module)
    rollout, state = seen(spec.observations, T, B), policy.initial_state(B, "cpu")
    parameters, values = policy.sequence(rollout, state, torch.zeros(T, B, dtype=torch.bool))
    torch.testing.assert_close(parameters, module.layer(rollout["sight"]))
    torch.testing.assert_close(values, rollout["sight"].sum(-1))
    now = {"sight": rollout["sight"][0]}
    assert torch.equal(policy.value(now, state), policy(now, state)[1])
    assert set(module.parameters()) <= set(policy.parameters())


def test_a_module_from_outside_sees_several_components_by_name():
    spec = PolicySpec(OBSERVATIONS["mixed"], ACTIONS["choice"])
    policy = Policy(spec, PolicyConfig(), TwoComponents())
    now = seen(spec.observations, B)
    parameters, value, _ = policy(now, policy.initial_state(B, "cpu"))
    assert torch.equal(parameters, now["sight"][:, :4]) and parameters.is_contiguous()
    assert torch.equal(value, now["hand"].sum(1).float())


def test_a_module_from_outside_with_the_wrong_width_is_refused():
    spec = PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"])
    policy = Policy(spec, PolicyConfig(), OneComponent(3, False))
    with pytest.raises(
        InputError, match=r"OneComponent.forward returned as parameters .* tensor \(3, 3\): make it a tensor \(3, 4\)"
    ):
        policy(seen(spec.observations, B), policy.initial_state(B, "cpu"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hidden": ()}, r"hidden must hold .* not \(\)"),
        ({"hidden": (64, 0)}, "hidden must hold"),
        ({"hidden": (64.0,)}, "hidden must hold"),
        ({"memory_size": 0}, "memory_size must be a whole number of 1 or more, not 0"),
        ({"attention_size": 30}, r"attention_size must be a multiple of attention_heads \(4\), not 30"),
        ({"attention_heads": 0}, "attention_heads must be a whole number of 1 or more, not 0"),
        ({"attention_layers": 1001}, "attention_layers must be at most 1000"),
        ({"trunks": "both"}, "trunks must be one of auto, shared, separate, not 'both'"),
        ({"shared": True, "trunks": "separate"}, "shared and trunks 'separate' contradict"),
        ({"input_rules": "0.2"}, "input_rules must be one of declared, 0.1, not '0.2'"),
        ({"initial_std": 0.0}, "initial_std must be greater than 0"),
        ({"initial_std": math.nan}, "initial_std must be a finite number, not nan"),
        (
            {"network": "resnet"},
            "network must be one of auto, mlp, nature, impala, grid, two_branch, attention, not 'resnet'",
        ),
        ({"activation": "gelu"}, "activation must be one of tanh, relu, elu, selu, not 'gelu'"),
        ({"memory": "rnn"}, "memory must be one of none, lstm, gru, not 'rnn'"),
    ],
)
def test_settings_that_make_no_network_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        PolicyConfig(**settings)


def test_settings_that_do_not_go_together_are_refused():
    spec = PolicySpec(OBSERVATIONS["vector"], ACTIONS["choice"])
    with pytest.raises(InputError, match="dueling is for Q networks"):
        Policy(spec, PolicyConfig(dueling=True))
    with pytest.raises(InputError, match="memory 'lstm' applies to worldloom's networks only"):
        Policy(spec, PolicyConfig(memory="lstm"), OneComponent(4, False))
