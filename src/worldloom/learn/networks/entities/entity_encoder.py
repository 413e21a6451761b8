"""Attention over sets of entities: agents, boxes, cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.entities.attention import AttentionLayer
from worldloom.learn.networks.fused import sets
from worldloom.learn.networks.fused.support import note
from worldloom.learn.networks.inputs import ScaledNumbers, VectorInput, flat_input
from worldloom.learn.networks.layers import RELU_GAIN, FeatureModule, LayerNorm, linear
from worldloom.learn.networks.mlp import build_mlp


class EntityEncoder(FeatureModule):
    """Sets of entities and other observations by name -> [N, features].

    Every entity is one token, embedded by the layers of its set. All other observations together are one more token,
    the agent itself. After self-attention among all tokens, the agent's token and the mean over the entities present
    go through the ``hidden`` layers of ``config``. The result does not depend on the order of the entities in a set.

    Entities whose mask is 0 have no influence, even where their numbers are NaN. Without any entity the mean is 0.

    Args:
        observations: All observations of the network.
        config: Architecture.
        images: Encoders of images among the observations.
    """

    def __init__(
        self, observations: Mapping[str, ObservationSpec], config: PolicyConfig, images: Sequence[FeatureModule] = ()
    ) -> None:
        super().__init__()
        self.sets = {name: spec for name, spec in sorted(observations.items()) if spec.entities}
        if not self.sets:
            raise InputError(
                "network 'attention' needs a set of entities, and there is none among the observations "
                f"{', '.join(sorted(observations))}: declare one, as in wl.Observation(16, 5, entities=True)"
            )
        masks = {spec.mask for spec in self.sets.values()}
        vectors = {
            name: spec
            for name, spec in observations.items()
            if not spec.entities and name not in masks and not spec.is_image
        }
        size = config.attention_size
        self.inputs = nn.ModuleList(
            flat_input(spec.entity) if spec.choices else ScaledNumbers(spec.high) for spec in self.sets.values()
        )
        self.embeddings = nn.ModuleList(_embedding(spec.entity.features, size) for spec in self.sets.values())
        self.vectors = VectorInput(vectors) if vectors else None
        self.images = nn.ModuleList(images)
        context = (self.vectors.features if self.vectors is not None else 0) + sum(image.features for image in images)
        self.agent = _embedding(context, size) if context else None
        self.agent_token = None if context else nn.Parameter(torch.zeros(size))
        self.layers = nn.ModuleList(
            AttentionLayer(size, config.attention_heads) for _ in range(config.attention_layers)
        )
        self.norm = LayerNorm(size)
        self.output = build_mlp(2 * size, config.hidden, config.activation, config.layer_norm)
        self.features = self.output.features

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """Observations [N, *shape] by name -> [N, features]."""
        values, present = [], []
        for (name, spec), numbers in zip(self.sets.items(), self.inputs, strict=True):
            mask = _present(observations, name, spec)
            rows, count = mask.shape
            entities = observations[name].reshape(rows * count if spec.choices else rows, -1)
            values.append(numbers(entities).view(rows, count, -1))
            present.append(mask)
        agent = self._agent_token(observations, values[0])
        tokens = 1 + sum(mask.shape[1] for mask in present)
        fused = sets.usable(self.set_embeddings, self.attention_layers, self.norm, agent, tokens)
        features: Tensor = self.output((self._fused if fused else self._plain)(agent, values, present))
        return features

    @property
    def set_embeddings(self) -> list[nn.Sequential]:
        return [cast(nn.Sequential, layers) for layers in self.embeddings]

    @property
    def attention_layers(self) -> list[AttentionLayer]:
        return [layer for layer in self.layers if isinstance(layer, AttentionLayer)]

    def _plain(self, agent: Tensor, values: list[Tensor], present: list[Tensor]) -> Tensor:
        """The agent's token [N, D] and entities [N, K, features] -> its last token and the mean of theirs, [N, 2 D]."""
        entities = [
            embedding(numbers.masked_fill(~mask[:, :, None], 0.0))
            for embedding, numbers, mask in zip(self.embeddings, values, present, strict=True)
        ]
        tokens = torch.cat([agent[:, None].to(entities[0].dtype), *entities], dim=1)
        mask = torch.cat([torch.ones_like(present[0][:, :1]), *present], dim=1)
        for layer in self.layers:
            tokens = layer(tokens, mask)
        tokens = self.norm(tokens)
        return torch.cat([tokens[:, 0], _masked_mean(tokens[:, 1:], mask[:, 1:])], dim=1)

    def _fused(self, agent: Tensor, values: list[Tensor], present: list[Tensor]) -> Tensor:
        """The same by kernels of a GPU."""
        note(self, sets.NAME)
        return sets.features(agent, values, present, self.set_embeddings, self.attention_layers, self.norm)

    def _agent_token(self, observations: Mapping[str, Tensor], like: Tensor) -> Tensor:
        """The token of the agent itself, [N, D] of the type of ``like``."""
        if self.agent is None:
            assert self.agent_token is not None
            return self.agent_token.to(like.dtype).expand(like.shape[0], -1)
        parts = [] if self.vectors is None else [self.vectors(observations)]
        parts += [image(observations) for image in self.images]
        token: Tensor = self.agent(parts[0] if len(parts) == 1 else torch.cat(parts, dim=1))
        return token


def _embedding(inputs: int, size: int) -> nn.Sequential:
    """Two layers from [..., inputs] to a token [..., size]."""
    return nn.Sequential(linear(inputs, size, RELU_GAIN), nn.ReLU(inplace=True), linear(size, size, gain=1.0))


def _present(observations: Mapping[str, Tensor], name: str, spec: ObservationSpec) -> Tensor:
    """Which entities of a set are present, [N, K] bool."""
    if spec.mask:
        return observations[spec.mask] != 0
    values = observations[name]
    return torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)


def _masked_mean(tokens: Tensor, present: Tensor) -> Tensor:
    """The mean of the tokens [N, T, D] that are ``present`` [N, T], [N, D]; 0 where there are none."""
    total = (present.to(tokens.dtype)[:, None] @ tokens).squeeze(1)
    return total / present.sum(1, keepdim=True).clamp_min(1)
