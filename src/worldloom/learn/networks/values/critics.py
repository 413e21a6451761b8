"""Critics of continuous actions: the expected return, or its distribution, of an observation and an action."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from worldloom.learn.agents.specs import PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.actor_critic_base import Observations
from worldloom.learn.networks.encoder import build_encoder, resolve_network
from worldloom.learn.networks.inputs import VectorInput
from worldloom.learn.networks.layers import FeatureModule
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.values.ensemble import EnsembleMLP

MEMBERS = 2
"""Critics of an ensemble, as in TD3 (Fujimoto et al., 2018)."""


class Critics(nn.Module):
    """Observations and an action -> outputs of two critics, [2, N, outputs].

    Vector observations are the inputs of both critics; for others both share an encoder. Actions have numbers from -1
    to 1.

    Args:
        spec: Observations and action.
        config: Architecture of the policy; that of the critics is the same, with the critic's observations.
        hidden: Hidden units of the layers after the inputs or the encoder.
        outputs: Outputs of a critic: 1 for the expected return, or one per atom of its distribution.
    """

    def __init__(self, spec: PolicySpec, config: PolicyConfig, hidden: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        self.observations = network_inputs(spec.observations, config).critic
        plain = resolve_network(self.observations, config) == "mlp"
        self.inputs: VectorInput | FeatureModule = (
            VectorInput(self.observations) if plain else build_encoder(self.observations, config)
        )
        self.network = EnsembleMLP(
            MEMBERS, self.inputs.features + spec.action.numbers, hidden, outputs, config.activation, config.layer_norm
        )

    def forward(self, observations: Observations, actions: Tensor) -> Tensor:
        """Normalized observations [N, *shape] by name and actions [N, numbers] -> [2, N, outputs] float32."""
        features = self.inputs({name: observations[name] for name in self.observations})
        outputs: Tensor = self.network(torch.cat([features, actions.to(features.dtype)], dim=1))
        return outputs.float()
