"""A custom torch module as the policy: observations in, logits (or means) and a value out."""

import torch
from torch import nn

from worldloom.learn import PPO, PPOConfig, StopAt


class Mirrored(nn.Module):
    """Uses the mirror symmetry of CartPole: what is learned for one side holds for the other."""

    def __init__(self) -> None:
        super().__init__()
        # An odd function: f(-x) = -f(x).
        self.push = nn.Sequential(nn.Linear(4, 64, bias=False), nn.Tanh(), nn.Linear(64, 1, bias=False))
        self.worth = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, sight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        push = self.push(sight)
        return torch.cat([-push, push], dim=1), self.worth(sight.abs())


torch.manual_seed(0)
config = PPOConfig(
    num_envs=64, num_steps=32, epochs=8, gamma=0.98, learning_rate=3e-3, total_steps=100_000, device="cpu"
)
trainer = PPO("CartPole-v1", config, network=Mirrored())
trainer.learn(callbacks=[StopAt(400.0)])
print(
    "solved with",
    sum(p.numel() for p in trainer.learners["Cart"].policy.parameters()),
    "parameters:",
    trainer.score >= 400.0,
)
