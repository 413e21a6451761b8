"""PPO with the hyperparameters of EnvPool's Table 3, in plain PyTorch, for any engine with the interface of Games."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import benchmarks_path  # noqa: F401
import numpy as np
import torch
from atari_engines import Games
from published import published
from torch import nn
from torch.distributions import Categorical

TABLE = published("envpool")["figure7"]
RECENT = 64
"""Games of the mean return."""


@dataclass(frozen=True)
class PpoSettings:
    """Hyperparameters; the defaults are those of Table 3."""

    num_envs: int = TABLE["num_envs"]
    num_steps: int = TABLE["num_steps"]
    total_steps: int = TABLE["total_steps"]
    learning_rate: float = TABLE["learning_rate"]
    gamma: float = TABLE["gamma"]
    lam: float = TABLE["lam"]
    minibatches: int = TABLE["minibatches"]
    epochs: int = TABLE["epochs"]
    clip: float = TABLE["clip"]
    value_weight: float = TABLE["value_weight"]
    entropy_weight: float = TABLE["entropy_weight"]
    max_gradient_norm: float = TABLE["max_gradient_norm"]


class Agent(nn.Module):
    """The network of DQN's paper with an actor and a critic, and orthogonal initial weights."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, size, stride in ((4, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)):
            layers += [_orthogonal(nn.Conv2d(inputs, outputs, size, stride), 2**0.5), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Flatten(), _orthogonal(nn.Linear(64 * 7 * 7, 512), 2**0.5), nn.ReLU())
        self.actor = _orthogonal(nn.Linear(512, num_actions), 0.01)
        self.critic = _orthogonal(nn.Linear(512, 1), 1.0)

    def forward(self, observations: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Action distribution and value of uint8 observations (N, 4, 84, 84)."""
        hidden = self.network(observations.float() / 255.0)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).flatten()


def _orthogonal(layer: Any, gain: float) -> Any:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


@dataclass
class Ppo:
    """A training.

    Attributes:
        games: The engine's games.
        steps: Steps of all games so far.
        returns: Returns of the games under way, (num_envs,).
        recent: Returns of the last complete games.
        seconds: Time spent, by what: ``engine`` in steps of the games, ``inference``, and ``update``.
    """

    games: Games
    settings: PpoSettings
    device: torch.device
    steps: int = 0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("engine", "inference", "update"), 0.0))

    def __post_init__(self) -> None:
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")
            torch.backends.cudnn.benchmark = True
        self.agent = Agent(self.games.num_actions).to(self.device)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), self.settings.learning_rate, eps=1e-5)
        self.returns = np.zeros(self.settings.num_envs)
        self.observation = self.games.reset()

    def iterate(self) -> None:
        """One rollout and its update."""
        settings = self.settings
        left = max(0.0, 1.0 - self.steps / settings.total_steps)
        self.optimizer.param_groups[0]["lr"] = settings.learning_rate * left
        observations, actions, log_probs, rewards, dones, values = self.collect()
        began = time.perf_counter()
        with torch.no_grad():
            last = self.agent(self._seen())[1]
        advantages = advantages_of(rewards, dones, values, last, settings.gamma, settings.lam)
        batch = [observations, actions, log_probs, advantages, advantages + values, values]
        self.update([column.flatten(0, 1) for column in batch])
        self.synchronize()
        self.seconds["update"] += time.perf_counter() - began
        self.steps += settings.num_steps * settings.num_envs

    def collect(self) -> list[torch.Tensor]:
        """Observations, actions, log-probabilities, rewards, dones and values, each (num_steps, num_envs, ...)."""
        rows = []
        for _ in range(self.settings.num_steps):
            began = time.perf_counter()
            observation = self._seen()
            with torch.no_grad():
                distribution, value = self.agent(observation)
                action = distribution.sample()
            choices = action.to(torch.int32).cpu().numpy()
            acted = time.perf_counter()
            step = self.games.step(choices)
            stepped = time.perf_counter()
            self.observation = step.observations
            self.returns += step.points
            self.recent.extend(self.returns[step.game_over].tolist())
            self.returns[step.game_over] = 0.0
            flags = torch.as_tensor(np.stack([step.rewards, step.dones]).astype(np.float32)).to(self.device)
            rows.append((observation, action, distribution.log_prob(action), *flags, value))
            self.seconds["inference"] += acted - began + time.perf_counter() - stepped
            self.seconds["engine"] += stepped - acted
        return [torch.stack(column) for column in zip(*rows, strict=True)]

    def update(self, batch: list[torch.Tensor]) -> None:
        """Epochs of minibatches with clipped probability ratios and clipped value losses."""
        settings, (observations, actions, log_probs, advantages, targets, before) = self.settings, batch
        for _ in range(settings.epochs):
            for rows in torch.randperm(len(actions), device=self.device).chunk(settings.minibatches):
                distribution, values = self.agent(observations[rows])
                ratio = (distribution.log_prob(actions[rows]) - log_probs[rows]).exp()
                scaled = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
                clipped = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
                policy_loss = torch.max(-scaled * ratio, -scaled * clipped).mean()
                near = before[rows] + (values - before[rows]).clamp(-settings.clip, settings.clip)
                errors = torch.max((values - targets[rows]).square(), (near - targets[rows]).square())
                loss = policy_loss + settings.value_weight * 0.5 * errors.mean()
                loss = loss - settings.entropy_weight * distribution.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), settings.max_gradient_norm)
                self.optimizer.step()

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _seen(self) -> torch.Tensor:
        return torch.as_tensor(self.observation).to(self.device)

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Tensors of network and optimizer, and plain values. Games are not part of it: they start anew."""
        tensors = {f"agent/{name}": tensor for name, tensor in self.agent.state_dict().items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam/{number}/{name}": torch.as_tensor(value) for name, value in values.items()}
        return tensors, {"steps": self.steps, "recent": list(self.recent), "seconds": self.seconds}

    def load_state(self, tensors: dict[str, torch.Tensor], plain: dict[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        agent = {k.removeprefix("agent/"): v for k, v in tensors.items() if k.startswith("agent/")}
        self.agent.load_state_dict(agent)
        adam: dict[int, dict[str, torch.Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith("adam/"):
                _, number, name = key.split("/")
                adam.setdefault(int(number), {})[name] = tensor
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": adam, "param_groups": groups})
        self.steps, self.seconds = int(plain["steps"]), dict(plain["seconds"])
        self.recent.extend(float(value) for value in plain["recent"])


def advantages_of(
    rewards: torch.Tensor, dones: torch.Tensor, values: torch.Tensor, last: torch.Tensor, gamma: float, lam: float
) -> torch.Tensor:
    """Generalized advantages, shape (num_steps, num_envs)."""
    advantages, following, running = torch.zeros_like(rewards), last, torch.zeros_like(last)
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        running = rewards[t] + gamma * alive * following - values[t] + gamma * lam * alive * running
        advantages[t], following = running, values[t]
    return advantages
