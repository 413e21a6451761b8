"""A PPO loop of the kind of CleanRL's for EnvPool's Atari games: it runs, and its returns are those of the games."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical

import worldloom as wl
from worldloom.envpool import gym_v21 as envpool

pytest.importorskip("ale_py", reason="it holds the ROM of Breakout")
NUM_ENVS, NUM_STEPS, ITERATIONS, SEED = 4, 32, 20, 3
SETTINGS = {"episodic_life": True, "reward_clip": True, "noop_max": 1, "img_height": 42, "img_width": 42}


class EpisodeStatistics:
    """Returns and lengths of whole games, from unclipped rewards: a life that is lost does not end a game."""

    def __init__(self, env):
        self.env, self.num_envs = env, len(env)
        self.has_lives = env.reset() is not None and env.step(np.zeros(self.num_envs, int))[-1]["lives"].sum() > 0

    def reset(self):
        self.returns, self.lengths = np.zeros(self.num_envs, np.float32), np.zeros(self.num_envs, np.int32)
        return self.env.reset()

    def step(self, action):
        observations, rewards, dones, infos = self.env.step(action)
        self.returns += infos["reward"]
        self.lengths += 1
        infos["r"], infos["l"] = self.returns.copy(), self.lengths.copy()
        ended = infos["terminated"] if self.has_lives else dones
        self.returns *= 1 - ended
        self.lengths *= 1 - ended
        return observations, rewards, dones, infos


class Agent(nn.Module):
    def __init__(self, num_actions):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(4, 8, 8, 4),
            nn.ReLU(),
            nn.Conv2d(8, 8, 4, 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(72, 32),
            nn.ReLU(),
        )
        self.actor, self.critic = nn.Linear(32, num_actions), nn.Linear(32, 1)

    def forward(self, observations):
        hidden = self.network(observations / 255.0)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden).flatten()


def advantages_of(rewards, dones, values, next_value, next_done, gamma=0.99, lam=0.95):
    advantages, last = torch.zeros_like(rewards), torch.zeros(NUM_ENVS)
    for t in reversed(range(NUM_STEPS)):
        alive = 1.0 - (next_done if t == NUM_STEPS - 1 else dones[t + 1])
        following = next_value if t == NUM_STEPS - 1 else values[t + 1]
        last = rewards[t] + gamma * following * alive - values[t] + gamma * lam * alive * last
        advantages[t] = last
    return advantages


def update(agent, optimizer, batch):
    observations, actions, log_probs, advantages, returns = batch
    for rows in torch.randperm(len(actions)).split(len(actions) // 2):
        distribution, values = agent(observations[rows])
        ratio = (distribution.log_prob(actions[rows]) - log_probs[rows]).exp()
        scaled = (advantages[rows] - advantages[rows].mean()) / (advantages[rows].std() + 1e-8)
        policy_loss = torch.max(-scaled * ratio, -scaled * ratio.clamp(0.9, 1.1)).mean()
        loss = policy_loss - 0.01 * distribution.entropy().mean() + 0.25 * (values - returns[rows]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    return loss.item()


def train():
    """Returns and lengths of the games of each environment, and all actions, shape (steps, NUM_ENVS)."""
    torch.manual_seed(SEED)
    env = envpool.make("Breakout-v5", env_type="gym", num_envs=NUM_ENVS, seed=SEED, **SETTINGS)
    assert isinstance(env.action_space.n.item(), int) and env.observation_space.shape == (4, 42, 42)
    env = EpisodeStatistics(env)
    agent = Agent(4)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    games, taken, losses = [[] for _ in range(NUM_ENVS)], [], []
    seen, done = torch.as_tensor(env.reset()), torch.zeros(NUM_ENVS)
    for _ in range(ITERATIONS):
        rollout = []
        for _ in range(NUM_STEPS):
            with torch.no_grad():
                distribution, value = agent(seen)
            action = distribution.sample()
            taken.append(action.numpy().copy())
            following, reward, ends, info = env.step(action.numpy())
            rollout.append((seen, action, distribution.log_prob(action), torch.as_tensor(reward), done, value))
            seen, done = torch.as_tensor(following), torch.as_tensor(ends).float()
            for k in np.flatnonzero(ends & (info["lives"] == 0)):
                games[k].append((float(info["r"][k]), int(info["l"][k])))
        observations, actions, log_probs, rewards, dones, values = (
            torch.stack(column) for column in zip(*rollout, strict=True)
        )
        with torch.no_grad():
            advantages = advantages_of(rewards, dones, values, agent(seen)[1], done)
        batch = (observations, actions, log_probs, advantages, advantages + values)
        losses.append(update(agent, optimizer, [column.flatten(0, 1) for column in batch]))
    assert np.isfinite(losses).all()
    return games, np.stack(taken)


def count_by_hand(actions):
    """The same games in ``worldloom.make``, with Gymnasium's conventions: points and steps from reset to reset."""
    env = wl.make("Breakout-v5", NUM_ENVS, seed=SEED, autoreset="next_step", **SETTINGS)
    env.reset()
    env.step(np.zeros(NUM_ENVS, np.int32))
    env.reset()
    games, points, steps = [[] for _ in range(NUM_ENVS)], np.zeros(NUM_ENVS), np.zeros(NUM_ENVS, int)
    for row in actions:
        _, _, terminations, _, infos = env.step(row)
        points += infos["points"]
        steps += 1
        for k in np.flatnonzero(terminations & (infos["lives"] == 0)):
            games[k].append((points[k], int(steps[k])))
            points[k], steps[k] = 0.0, 0
    return games


def test_a_ppo_loop_counts_the_returns_of_whole_games():
    games, actions = train()
    assert sum(map(len, games)) >= NUM_ENVS and any(total > 0 for env in games for total, _ in env)
    assert games == count_by_hand(actions)
