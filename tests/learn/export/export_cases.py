"""Policies of every kind of network and action, with random parameters and observation statistics."""

import math

import torch

from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

VECTOR = ObservationSpec((4,))
TWO = ActionSpec("categorical", (2,))
MASKED = {"masked", "q_network"}
"""Cases with an action mask."""
CASES = {
    "vector": ({"state": VECTOR}, TWO, PolicyConfig(normalize_observations=True)),
    "masked": (
        {
            "action": VECTOR,  # the name of an output
            "bytes": ObservationSpec((3,), torch.uint8, high=(2.0, 3.0, 4.0)),
            "kinds": ObservationSpec((2,), torch.int32, choices=(3, 5)),
        },
        ActionSpec("categorical", (2, 3)),
        PolicyConfig(layer_norm=True, normalize_observations=True),
    ),
    "lstm": (
        {"sight": VECTOR},
        ActionSpec("gaussian", (), (-2.0, 0.0, -3.0), (2.0, math.inf, 5.0)),
        PolicyConfig(memory="lstm", memory_size=16, normalize_observations=True),
    ),
    "gru": ({"sight": VECTOR}, TWO, PolicyConfig(memory="gru", memory_size=16, trunks="separate")),
    "nature": ({"screen": ObservationSpec((2, 36, 40), torch.uint8, channels="first")}, TWO, PolicyConfig()),
    "normalized_image": (
        {"screen": ObservationSpec((2, 36, 40), torch.uint8, channels="first")},
        TWO,
        PolicyConfig(normalize_images=True),
    ),
    "impala": ({"screen": ObservationSpec((20, 24, 3), torch.uint8)}, TWO, PolicyConfig()),
    "two_branch": ({"grid": ObservationSpec((6, 7, 3), torch.uint8), "body": VECTOR}, TWO, PolicyConfig()),
    "entities": (
        {
            "others": ObservationSpec((6, 5), entities=True, mask="seen"),
            "seen": ObservationSpec((6,), torch.bool),
            "body": VECTOR,
        },
        TWO,
        PolicyConfig(normalize_observations=True, attention_size=16, attention_heads=2),
    ),
    "mixed": (
        {"sight": VECTOR, "truth": ObservationSpec((3,), critic=True)},
        ActionSpec("mixed", (3,), (-1.0,), (2.0,), squashed=True, state_std=True),
        PolicyConfig(action_std="state", action_distribution="squashed_gaussian"),
    ),
    "q_network": ({"state": VECTOR}, ActionSpec("categorical", (5,)), PolicyConfig(dueling=True)),
}


def make_policy(case, seed=0):
    """The policy of a case, whose parameters and statistics are random."""
    observations, action, config = CASES[case]
    torch.manual_seed(seed)
    policy = (QNetwork if case == "q_network" else Policy)(PolicySpec(observations, action), config)
    with torch.no_grad():
        for name, head in policy.network.named_modules():
            if name in ("actor", "1.value.2"):  # its initial weights are too small to tell actions apart
                head.weight.mul_(50.0)
    if policy.normalizer is not None:
        policy.normalizer.update(random_observations(observations, 50, scale=3.0))
    return policy


def random_observations(specs, rows, scale=1.0):
    """Observations [rows, *shape] by name, within their choices and bounds."""
    return {name: _random_values(spec, (rows, *spec.shape), scale) for name, spec in specs.items()}


def _random_values(spec, shape, scale):
    if spec.choices:
        return (torch.rand(shape) * torch.tensor(spec.choices).view(spec.shape)).to(spec.dtype)
    if spec.dtype == torch.uint8:
        return torch.randint(0, 256, shape, dtype=torch.uint8)
    return torch.rand(shape) > 0.5 if spec.dtype == torch.bool else 1.0 + scale * torch.randn(shape)
