"""Parts of worldloom.learn in a custom training loop: the sampler and GAE; the rest is plain PyTorch."""

import torch
from torch import nn

import worldloom as wl
from worldloom.learn import ActionSpec, Sampler, gae

WORLDS, STEPS, GAMMA = 64, 32, 0.98

torch.manual_seed(0)
sim = wl.Simulation("CartPole-v1", num_worlds=WORLDS, device="cpu", seed=0)
# Views of the worlds' own columns.
sight, push = sim["Cart"].sight.torch().view(WORLDS, 4), sim["Cart"].push.torch().view(WORLDS, 1)
reward, last_sight = sim["Cart"].reward.torch().view(WORLDS), sim["Cart"].final_sight.torch().view(WORLDS, 4)
terminated, truncated = sim.terminated.torch(), sim.truncated.torch()

actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1), nn.Flatten(0))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
sampler = Sampler(ActionSpec("categorical", sizes=(2,)), WORLDS, sim.terminated.torch().device, seed=0)

sights = torch.zeros(STEPS, WORLDS, 4)
actions = torch.zeros(STEPS, WORLDS, 1, dtype=torch.int32)
log_probs, rewards, entropy = torch.zeros(STEPS, WORLDS), torch.zeros(STEPS, WORLDS), torch.zeros(WORLDS)
dones, values = torch.zeros(STEPS, WORLDS, dtype=torch.bool), torch.zeros(STEPS + 1, WORLDS)

for iteration in range(27):
    ended = 0
    with torch.no_grad():
        for step in range(STEPS):
            sights[step], values[step] = sight, critic(sight)
            sampler.sample(
                actor(sight), action=actions[step], log_prob=log_probs[step], entropy=entropy, world_action=push
            )
            sampler.advance()
            sim.step()
            dones[step] = terminated | truncated
            ended += int(terminated.sum())
            rewards[step] = reward + GAMMA * critic(last_sight) * (truncated & ~terminated)  # bootstrap at truncation
        values[-1] = critic(sight)
    advantages, returns = gae(rewards, values, dones, GAMMA, 0.95)
    for _ in range(8):
        for part in torch.randperm(STEPS * WORLDS).chunk(4):
            seen, old, worth = sights.view(-1, 4)[part], log_probs.flatten()[part], advantages.flatten()[part]
            worth = (worth - worth.mean()) / (worth.std() + 1e-8)
            new = actor(seen).log_softmax(1).gather(1, actions.view(-1, 1)[part].long()).flatten()
            ratio = (new - old).exp()
            loss = (
                -torch.min(ratio * worth, ratio.clamp(0.8, 1.2) * worth).mean()
                + 0.25 * (critic(seen) - returns.flatten()[part]).square().mean()
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
    if iteration % 13 == 0:
        print(f"iteration {iteration}: {ended} poles fell in {STEPS * WORLDS} steps")
