"""Which observations the networks of actor and critic take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import BYTE_MAX, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig


@dataclass(frozen=True)
class NetworkInputs:
    """The observations of actor and critic by name; the critic's include those of the actor."""

    actor: dict[str, ObservationSpec]
    critic: dict[str, ObservationSpec]

    @property
    def asymmetric(self) -> bool:
        """Whether the critic has observations of its own."""
        return len(self.critic) > len(self.actor)


def network_inputs(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> NetworkInputs:
    """The observations of actor and critic under the settings ``asymmetric``, ``network`` and ``input_rules``."""
    used = {
        name: _resolved(spec, config) for name, spec in observations.items() if config.asymmetric or not spec.critic
    }
    actor = {name: spec for name, spec in used.items() if not spec.critic}
    if not actor:
        raise InputError(
            "a policy needs an observation: give the world's agents at least one component that is an Observation "
            "and not for the critic only"
        )
    return NetworkInputs(actor, used)


def widest_layer(spec: PolicySpec, config: PolicyConfig) -> int:
    """Approximate width of a network's widest layer per sample, including the observations."""
    observed = sum(part.features for part in spec.observations.values())
    tokens = sum(part.shape[0] for part in spec.observations.values() if part.entities)
    return max(observed, tokens * config.attention_size, *config.hidden)


def _resolved(spec: ObservationSpec, config: PolicyConfig) -> ObservationSpec:
    """``spec`` as a network takes it: sets are plain arrays for networks without attention."""
    if config.input_rules == "0.1":
        spec = replace(spec, high=BYTE_MAX, channels="first" if spec.shape[:1] <= spec.shape[-1:] else "last")
    return spec if config.network in ("auto", "attention") else replace(spec, entities=False, mask="")
