"""The CPU's side of benchmarks/economy.py: the economy in NumPy, a process per core, each with worlds of its own.

:func:`reference_rate` steps it with random allowed actions. :func:`reference_training` trains it: every process plays its worlds with a copy of the
policies on one thread, then the main process makes the step or steps of the optimiser with as many threads as are fastest, and sends the new
weights. Networks, batches and the algorithm's settings are those of the other side; the update is written plainly in PyTorch.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
from processes import split, workers
from torch import nn

from worldloom.envs.covid.data import Parameters

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity" / "references"))
from covid import Economy, Outcome

GAMMA, LAMBDA, CLIP = 0.98, 0.95, 0.2
TEAMS = ("governors", "planner")
Tensors = dict[str, torch.Tensor]
Rollout = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Training:
    """How both sides train.

    Attributes:
        num_steps: Days of a roll-out; the batch is this times the worlds.
        epochs, minibatches: 1 and 1 for A2C, which has no clipping then.
    """

    num_worlds: int
    num_steps: int
    epochs: int
    minibatches: int
    hidden: tuple[int, ...]


def drawn(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One allowed choice for each row of ``masks``, all as likely."""
    return np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=-1)


def _step_at_random(pipe: Connection, parameters: Parameters, num_worlds: int, seed: int) -> None:
    """Step worlds for as long as each message says, and answer with world steps and seconds."""
    rng = np.random.default_rng(seed)
    economies = [Economy(parameters) for _ in range(num_worlds)]
    seen = [economy.reset() for economy in economies]
    pipe.send("ready")
    while True:
        try:
            seconds = pipe.recv()
        except EOFError:
            return
        start, steps = time.perf_counter(), 0
        while (taken := time.perf_counter() - start) < seconds or not steps:
            for place, economy in enumerate(economies):
                last = seen[place]
                now = economy.step(drawn(last.governor_mask, rng), int(drawn(last.planner_mask, rng)))
                seen[place] = economy.reset() if now.done else now
            steps += num_worlds
        pipe.send((steps, taken))


def reference_rate(parameters: Parameters, num_worlds: int, processes: int, seconds: float, rounds: int = 3) -> float:
    """World steps per second of all processes together, the median of ``rounds``."""
    parts = split(num_worlds, processes)
    rates = []
    with workers(_step_at_random, [(parameters, count, seed) for seed, count in enumerate(parts)]) as pipes:
        for _ in range(rounds):
            for pipe in pipes:
                pipe.send(seconds / rounds)
            rates.append(sum(steps / taken for steps, taken in (pipe.recv() for pipe in pipes)))
    return statistics.median(rates)


class Policy(nn.Module):
    """An actor and a critic of their own, both of tanh layers."""

    def __init__(self, inputs: int, choices: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.actor, self.critic = _layers(inputs, choices, hidden), _layers(inputs, 1, hidden)

    def forward(self, seen: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities of the choices, shape (rows, choices), and values, shape (rows,)."""
        logits = self.actor(seen).masked_fill(~mask, -1e9)
        return logits.log_softmax(-1), self.critic(seen).squeeze(-1)


def _layers(inputs: int, outputs: int, hidden: tuple[int, ...]) -> nn.Sequential:
    widths = (inputs, *hidden)
    layers: list[nn.Module] = []
    for i in range(len(hidden)):
        layers += [nn.Linear(widths[i], widths[i + 1]), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def make_policies(outcome: Outcome, hidden: tuple[int, ...]) -> dict[str, Policy]:
    governors = Policy(outcome.governors.shape[1], outcome.governor_mask.shape[1], hidden)
    return {"governors": governors, "planner": Policy(len(outcome.planner), len(outcome.planner_mask), hidden)}


def _views(seen: list[Outcome]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Observations and masks of all rows, by team."""
    return {
        "governors": (np.concatenate([o.governors for o in seen]).astype(np.float32), np.concatenate([o.governor_mask for o in seen])),
        "planner": (np.stack([o.planner for o in seen]).astype(np.float32), np.stack([o.planner_mask for o in seen])),
    }


def _play(pipe: Connection, parameters: Parameters, num_worlds: int, seed: int, training: Training) -> None:
    """Roll out with the weights of each message, and answer with what was seen, done and got."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    economies = [Economy(parameters) for _ in range(num_worlds)]
    seen = [economy.reset() for economy in economies]
    policies = make_policies(seen[0], training.hidden)
    pipe.send("ready")
    while True:
        try:
            for name, weights in pipe.recv().items():
                policies[name].load_state_dict(weights)
        except EOFError:
            return
        with torch.no_grad():
            pipe.send(_roll_out(economies, seen, policies, training.num_steps))


def _roll_out(economies: list[Economy], seen: list[Outcome], policies: dict[str, Policy], num_steps: int) -> Rollout:
    kept: dict[str, dict[str, list[np.ndarray]]] = {name: {} for name in TEAMS}
    for _ in range(num_steps):
        actions = {}
        for name, (observations, masks) in _views(seen).items():
            log_probs, values = policies[name](torch.from_numpy(observations), torch.from_numpy(masks))
            choice = torch.multinomial(log_probs.exp(), 1)
            action = choice.squeeze(-1)
            actions[name] = action.numpy()
            chance = log_probs.gather(1, choice).squeeze(-1)
            parts = {"seen": observations, "masks": masks, "actions": action, "log_probs": chance, "values": values}
            for key, part in parts.items():
                kept[name].setdefault(key, []).append(np.asarray(part))
        governors = actions["governors"].reshape(len(economies), -1)
        for place, economy in enumerate(economies):
            seen[place] = economy.step(governors[place], int(actions["planner"][place]))
        rewards = {"governors": np.concatenate([o.governor_reward for o in seen]), "planner": np.array([o.planner_reward for o in seen])}
        done = np.array([o.done for o in seen])
        for name in TEAMS:
            kept[name].setdefault("rewards", []).append(rewards[name].astype(np.float32))
            kept[name].setdefault("dones", []).append(np.repeat(done, len(rewards[name]) // len(done)))
        for place in np.flatnonzero(done):
            seen[place] = economies[place].reset()
    for name, (observations, masks) in _views(seen).items():
        kept[name]["last"] = [policies[name](torch.from_numpy(observations), torch.from_numpy(masks))[1].numpy()]
    return {name: {key: np.stack(parts) for key, parts in team.items()} for name, team in kept.items()}


def _update(policy: Policy, optimizer: torch.optim.Optimizer, rollout: Tensors, training: Training) -> None:
    """The steps of the optimiser on one team's roll-out: clipped where there is more than one."""
    rewards, values, going_on = rollout["rewards"], rollout["values"], 1.0 - rollout["dones"].float()
    advantages, following, ahead = torch.zeros_like(rewards), rollout["last"][0], torch.zeros_like(rollout["last"][0])
    once = training.epochs * training.minibatches == 1
    for step in reversed(range(len(rewards))):
        delta = rewards[step] + GAMMA * following * going_on[step] - values[step]
        advantages[step] = ahead = delta + GAMMA * (1.0 if once else LAMBDA) * going_on[step] * ahead
        following = values[step]
    returns = advantages + values
    flat = [t.flatten(0, 1) for t in (rollout["seen"], rollout["masks"], rollout["actions"], rollout["log_probs"], advantages, returns)]
    for _ in range(training.epochs):
        for chosen in torch.randperm(len(flat[0])).chunk(training.minibatches):
            seen, masks, actions, old, advantage, target = flat if once else (t[chosen] for t in flat)
            log_probs, value = policy(seen, masks)
            log_prob = log_probs.gather(1, actions[:, None]).squeeze(-1)
            if once:
                gain = log_prob * advantage
            else:
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                ratio = (log_prob - old).exp()
                gain = torch.min(ratio * advantage, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * advantage)
            entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
            loss = -gain.mean() + 0.5 * (value - target).square().mean() - 0.05 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


def reference_training(parameters: Parameters, training: Training, processes: int, iterations: int) -> dict[str, float]:
    """World steps per second of whole iterations after those that warm up, the shares of the time, and the threads that updated."""
    policies = make_policies(Economy(parameters).reset(), training.hidden)
    optimizers = {name: torch.optim.Adam(policy.parameters(), lr=1e-4) for name, policy in policies.items()}
    parts = split(training.num_worlds, processes)
    before, trials = torch.get_num_threads(), sorted({1, max(1, processes // 4), processes})
    updates: dict[int, float] = {}
    rolling = whole = 0.0
    with workers(_play, [(parameters, count, seed, training) for seed, count in enumerate(parts)]) as pipes:
        for iteration in range(-len(trials), iterations):
            threads = trials[iteration] if iteration < 0 else min(updates, key=updates.__getitem__)  # more are not always faster
            torch.set_num_threads(threads)
            start = time.perf_counter()
            weights = {name: policy.state_dict() for name, policy in policies.items()}
            for pipe in pipes:
                pipe.send(weights)
            found = [pipe.recv() for pipe in pipes]
            rolled = time.perf_counter()
            for name, policy in policies.items():
                joined = {key: torch.from_numpy(np.concatenate([part[name][key] for part in found], axis=1)) for key in found[0][name]}
                _update(policy, optimizers[name], joined, training)
            ended = time.perf_counter()
            if iteration < 0:
                updates[threads] = ended - rolled
            else:
                rolling, whole = rolling + rolled - start, whole + ended - start
    torch.set_num_threads(before)
    rate = iterations * training.num_worlds * training.num_steps / whole
    return {"world_steps_per_second": rate, "rollout": rolling / whole, "update": 1.0 - rolling / whole, "update_threads": threads}
