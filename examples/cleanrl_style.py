"""PPO in one linear file, in plain PyTorch, on a worldloom environment: nothing of worldloom.learn is used.

All steps are in one function. `worldloom.learn.PPO` does the same without a device synchronization.
"""

import time

import torch
from torch import nn
from torch.distributions import Categorical

import worldloom as wl


def layer(inputs, outputs, gain=2**0.5):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    def __init__(self, observation, actions):
        super().__init__()
        self.critic = nn.Sequential(layer(observation, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0))
        self.actor = nn.Sequential(
            layer(observation, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01)
        )


def train(
    num_envs=64, num_steps=32, iterations=30, device="cpu", epochs=4, minibatches=4, gamma=0.99, lam=0.95, seed=0
):
    """Train, and return the mean return of the last finished episodes and the world steps per second."""
    torch.manual_seed(seed)
    env = wl.make("CartPole-v1", num_envs=num_envs, device=device, seed=seed, env_type="torch")
    agent = Agent(4, 2).to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
    shape = (num_steps, num_envs)
    observations, actions = (
        torch.zeros((*shape, 4), device=device),
        torch.zeros(shape, dtype=torch.int64, device=device),
    )
    log_probs, rewards, dones, values = (torch.zeros(shape, device=device) for _ in range(4))
    running, finished = torch.zeros(num_envs, device=device), []
    seen, _ = env.reset()
    start, score = time.perf_counter(), 0.0
    for _ in range(iterations):
        for step in range(num_steps):
            observations[step] = seen
            with torch.no_grad():
                choice = Categorical(logits=agent.actor(seen))
                values[step] = agent.critic(seen).flatten()
            action = choice.sample()
            actions[step], log_probs[step] = action, choice.log_prob(action)
            seen, reward, terminated, truncated, infos = env.step(action.int())
            with torch.no_grad():  # bootstrap value at truncation, from the last observation
                rewards[step] = reward + gamma * agent.critic(infos["final_obs"]).flatten() * (truncated & ~terminated)
            dones[step] = (terminated | truncated).float()
            running += reward
            finished += running[dones[step] > 0].tolist()
            running *= 1.0 - dones[step]
        with torch.no_grad():
            following, advantage = agent.critic(seen).flatten(), 0.0
            advantages = torch.zeros_like(rewards)
            for step in reversed(range(num_steps)):
                going_on = 1.0 - dones[step]
                delta = rewards[step] + gamma * following * going_on - values[step]
                advantages[step] = advantage = delta + gamma * lam * going_on * advantage
                following = values[step]
            returns = advantages + values
        flat = [t.flatten(0, 1) for t in (observations, actions, log_probs, advantages, returns)]
        for _ in range(epochs):
            for chosen in torch.randperm(num_steps * num_envs, device=device).chunk(minibatches):
                o, a, old, adv, ret = (t[chosen] for t in flat)
                choice = Categorical(logits=agent.actor(o))
                ratio = (choice.log_prob(a) - old).exp()
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                policy_loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                value_loss = 0.5 * (agent.critic(o).flatten() - ret).square().mean()
                optimizer.zero_grad()
                (policy_loss + 0.5 * value_loss).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        finished = finished[-100:]
        score = sum(finished) / max(len(finished), 1)
    return score, iterations * num_steps * num_envs / (time.perf_counter() - start)


if __name__ == "__main__":
    score, rate = train()
    print(f"mean return of the last 100 episodes {score:.0f} at {rate:,.0f} steps/s")
