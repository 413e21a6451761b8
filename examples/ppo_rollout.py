"""PPO in PyTorch around `wl.Rollout`, which runs policy and worlds together: on a GPU as one CUDA graph."""

import time

import torch
from torch import nn

import worldloom as wl
from worldloom.learn import FusedLayers, gae


class Agent(nn.Module):
    """An actor and a critic for CartPole."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))
            for outputs in (2, 1)
        )
        self.networks = FusedLayers(self.actor, self.critic)  # both in one kernel on a GPU

    def forward(self, observations):
        """Log-probabilities of both actions, and the value."""
        logits, values = self.networks(observations)
        return logits.log_softmax(-1), values.squeeze(-1)

    def act(self, observations):
        """The policy of the rollout: actions, drawn by the Gumbel-max trick, and what the update needs."""
        logits, values = self(observations)
        actions = (logits - torch.empty_like(logits).exponential_().log()).argmax(-1)
        return actions, {"log_prob": gather(logits, actions), "value": values}


def gather(logits, actions):
    return logits.gather(-1, actions[..., None]).squeeze(-1)


def train(num_envs=64, num_steps=32, iterations=25, device="cpu", agent=None, epochs=4, minibatches=4, gamma=0.99):
    """Train, and return the number of poles that fell in each rollout, and the world steps per second."""
    torch.manual_seed(0)
    env = wl.make("CartPole-v1", num_envs, device=device, env_type="torch", seed=0)
    agent = agent or Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5, fused=True)
    rollout = wl.Rollout(env, agent.act, num_steps)
    falls, start = [], time.perf_counter()
    for _ in range(iterations):
        steps = rollout()
        dones = steps.terminations | steps.truncations
        falls.append(steps.terminations.sum())
        with torch.no_grad():  # values after the last step, and bootstrap values at truncations
            values = torch.cat([steps.extras["value"], agent(steps.last_observations)[1][None]])
            cut = (steps.truncations & ~steps.terminations).float()
            rewards = steps.rewards + gamma * cut * agent(steps.final_observations)[1]
        advantages, returns = gae(rewards, values, dones, gamma, 0.95)
        tensors = (steps.observations, steps.actions, steps.extras["log_prob"], advantages, returns)
        batch = [tensor.flatten(0, 1) for tensor in tensors]
        for _ in range(epochs):
            for rows in torch.randperm(dones.numel(), device=device).chunk(minibatches):
                observations, actions, old_log_probs, advantage, target = (tensor[rows] for tensor in batch)
                logits, values = agent(observations)
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                ratio = (gather(logits, actions) - old_log_probs).exp()
                policy_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                entropy = -(logits.exp() * logits).sum(-1).mean()
                loss = policy_loss + 0.25 * (values - target).square().mean() - 0.01 * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    falls = torch.stack(falls).tolist()  # the only synchronization
    return falls, iterations * num_steps * num_envs / (time.perf_counter() - start)


if __name__ == "__main__":
    torch.set_num_threads(1)  # several are slower for networks of this size
    falls, rate = train()
    last = sum(falls[-5:]) / 5
    print(f"poles that fell in 2,048 steps: {falls[0]} at first, {last:.0f} at last; {rate:,.0f} steps/s")
