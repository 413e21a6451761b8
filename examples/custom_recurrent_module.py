"""A custom recurrent module as the policy, by the protocol ``RecurrentPolicyModule``.

The player sees a card in the first step only, and names it in the fourth.
"""

import torch
from torch import Tensor, nn

import worldloom as wl
from worldloom.learn import PPO, PPOConfig

CARDS = 3


class Player(wl.Entity):
    name: wl.Action(wl.Discrete(CARDS))
    sight: wl.Observation(CARDS)
    card: int
    reward: wl.Reward


class Table(wl.World):
    pass


@wl.system
def answer(player: Player, world: Table):
    if world.step == 3 and player.name == player.card:
        player.reward = 1.0


@wl.system
def show(player: Player, world: Table):
    if world.step == 0:
        player.card = world.integer(CARDS)
    for k in range(CARDS):
        player.sight[k] = 1.0 if world.step == 0 and k == player.card else 0.0


WORLD = wl.Definition("Table-example", Table, {Player: 1}, step=(answer,), observe=(show,), max_steps=4)


class Remember(nn.Module):
    """A GRU with two output layers. The state of an agent is 16 numbers."""

    state_size = 16

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(CARDS, self.state_size)
        self.actor, self.critic = nn.Linear(self.state_size, CARDS), nn.Linear(self.state_size, 1)

    def forward(self, sight: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step: sights [N, CARDS] and states [N, 16] -> logits, values and next states."""
        state = self.cell(sight, state)
        return self.actor(state), self.critic(state), state

    def sequence(self, sights: Tensor, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        """T steps of the update. Optional: without it, forward is called step by step."""
        states = []
        for sight, reset in zip(sights, resets, strict=True):
            state = self.cell(sight, state * ~reset[:, None])
            states.append(state)
        memory = torch.stack(states)
        return self.actor(memory), self.critic(memory)


if __name__ == "__main__":
    torch.manual_seed(0)
    config = PPOConfig(
        num_envs=64, num_steps=16, learning_rate=1e-2, entropy_weight=0.01, total_steps=40_000, device="cpu"
    )
    trainer = PPO(WORLD, config, network=Remember())
    trainer.learn()
    print(f"right names: {trainer.score:.0%}, state of {trainer.learners['Player'].policy.state_size} numbers")
