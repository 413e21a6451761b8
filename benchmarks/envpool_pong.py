"""PPO on Pong in a loop of the kind of CleanRL's for EnvPool: worlds on the device, NumPy arrays in and out.

python benchmarks/envpool_pong.py --device cuda:0 --seconds 300

Only ``worldloom.envpool`` is used of worldloom. Prints the mean return of the last 64 games, and stops at ``--goal``.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

import worldloom.envpool as envpool


@dataclass
class Settings:
    """Learn Pong through the interface of EnvPool."""

    device: str = "cuda:0"
    """Where worlds and network run."""
    num_envs: int = 4096
    """A step of 4,096 consoles takes a GPU as long as one of 512."""
    num_steps: int = 32
    epochs: int = 3
    minibatches: int = 32
    """Of 4,096 samples. With 1,024 and a learning rate of 5e-4 the return stayed at -20 for 4.3 million steps."""
    learning_rate: float = 7e-4
    total_steps: int = 40_000_000
    """Steps over which the learning rate decreases to 0."""
    goal: float = 18.0
    """Mean return of 64 games at which it stops."""
    seconds: float = 600.0
    """When it stops at the latest."""
    seed: int = 0
    out: Path | None = None
    """A file for the curve as JSON: seconds, steps and mean return."""


def initialized(layer: nn.Conv2d | nn.Linear, gain: float = 2**0.5) -> nn.Module:
    """``layer`` with orthogonal weights and without bias at first."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    """The network of DQN's paper, with an actor and a critic."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, size, stride in ((4, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)):
            layers += [initialized(nn.Conv2d(inputs, outputs, size, stride)), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.Flatten(), initialized(nn.Linear(64 * 7 * 7, 512)), nn.ReLU())
        self.actor = initialized(nn.Linear(512, num_actions), 0.01)
        self.critic = initialized(nn.Linear(512, 1), 1.0)

    def forward(self, observations: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        with torch.autocast(observations.device.type, torch.bfloat16):
            hidden = self.network(observations.float() / 255.0)
        hidden = hidden.float()
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).flatten()


def collect(env: Any, agent: Agent, state: dict[str, Any], settings: Settings) -> list[torch.Tensor]:
    """Observations, actions, log-probabilities, rewards, dones and values, each (num_steps, num_envs, ...)."""
    rows = []
    for _ in range(settings.num_steps):
        observation = torch.as_tensor(state["seen"]).to(settings.device)
        with torch.no_grad():
            distribution, value = agent(observation)
        action = distribution.sample()
        state["seen"], reward, terminated, truncated, info = env.step(action.cpu().numpy())
        done = terminated | truncated
        state["returns"] += info["reward"]
        state["games"].extend(state["returns"][done].tolist())
        state["returns"][done] = 0.0
        flags = torch.as_tensor(np.stack([reward, done]).astype(np.float32)).to(settings.device)
        rows.append((observation, action, distribution.log_prob(action), *flags, value))
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def advantages_of(rewards: torch.Tensor, dones: torch.Tensor, values: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """Generalized advantages, shape (num_steps, num_envs)."""
    advantages, following, running = torch.zeros_like(rewards), last, torch.zeros_like(last)
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        running = rewards[t] + 0.99 * alive * following - values[t] + 0.99 * 0.95 * alive * running
        advantages[t], following = running, values[t]
    return advantages


def update(agent: Agent, optimizer: torch.optim.Optimizer, batch: list[torch.Tensor], settings: Settings) -> None:
    observations, actions, log_probs, advantages, returns = batch
    for _ in range(settings.epochs):
        for rows in torch.randperm(len(actions), device=settings.device).chunk(settings.minibatches):
            distribution, values = agent(observations[rows])
            ratio = (distribution.log_prob(actions[rows]) - log_probs[rows]).exp()
            scaled = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
            policy_loss = torch.max(-scaled * ratio, -scaled * ratio.clamp(0.8, 1.2)).mean()
            loss = policy_loss - 0.01 * distribution.entropy().mean() + 0.25 * (values - returns[rows]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main(settings: Settings) -> None:
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    env = envpool.make(
        "Pong-v5", "gymnasium", num_envs=settings.num_envs, seed=settings.seed, device=settings.device, reward_clip=True
    )
    agent = Agent(env.action_space.n).to(settings.device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=settings.learning_rate, eps=1e-5, fused=True)
    state: dict[str, Any] = {"seen": env.reset()[0], "returns": np.zeros(settings.num_envs), "games": deque(maxlen=64)}
    curve: list[tuple[float, int, float]] = []
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < settings.seconds and steps < settings.total_steps:
        optimizer.param_groups[0]["lr"] = settings.learning_rate * (1.0 - steps / settings.total_steps)
        observations, actions, log_probs, rewards, dones, values = collect(env, agent, state, settings)
        with torch.no_grad():
            last = agent(torch.as_tensor(state["seen"]).to(settings.device))[1]
        advantages = advantages_of(rewards, dones, values, last)
        batch = [observations, actions, log_probs, advantages, advantages + values]
        update(agent, optimizer, [column.flatten(0, 1) for column in batch], settings)
        steps += settings.num_steps * settings.num_envs
        if state["games"]:
            seconds, mean = time.perf_counter() - start, float(np.mean(state["games"]))
            curve.append((seconds, steps, mean))
            print(f"{seconds:6.1f} s, {steps:,} steps, {steps / seconds:,.0f} steps/s: return {mean:.1f}", flush=True)
            if settings.out is not None:
                settings.out.write_text(json.dumps(curve))
            if mean >= settings.goal:
                break


if __name__ == "__main__":
    main(tyro.cli(Settings))
