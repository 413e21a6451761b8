"""The CPU's side of benchmarks/economy.py: the economy in NumPy, a process per core, each with worlds of its own.

:func:`reference_rate` steps it with random allowed actions. :func:`reference_training` trains it: every process plays
its worlds with a copy of the policies on one thread, then the main process makes the step or steps of the optimiser
with as many threads as are fastest, and sends the new weights. Networks, batches and the algorithm's settings are those
of the other side; the update is written plainly in PyTorch.
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
TRIED = 2000
"""About so many world steps are learned from to find out how many threads are fastest."""
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

    @property
    def once(self) -> bool:
        """Whether a roll-out is learned from in one step."""
        return self.epochs * self.minibatches == 1


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
        "governors": (
            np.concatenate([o.governors for o in seen]).astype(np.float32),
            np.concatenate([o.governor_mask for o in seen]),
        ),
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
        rewards = {
            "governors": np.concatenate([o.governor_reward for o in seen]),
            "planner": np.array([o.planner_reward for o in seen]),
        }
        done = np.array([o.done for o in seen])
        for name in TEAMS:
            kept[name].setdefault("rewards", []).append(rewards[name].astype(np.float32))
            kept[name].setdefault("dones", []).append(np.repeat(done, len(rewards[name]) // len(done)))
        for place in np.flatnonzero(done):
            seen[place] = economies[place].reset()
    for name, (observations, masks) in _views(seen).items():
        kept[name]["last"] = [policies[name](torch.from_numpy(observations), torch.from_numpy(masks))[1].numpy()]
    return {name: {key: np.stack(parts) for key, parts in team.items()} for name, team in kept.items()}


def _batch(rollout: Tensors, training: Training) -> list[torch.Tensor]:
    """One team's roll-out as rows: what was seen, masks, actions, their log-probabilities, advantages and returns."""
    rewards, values, going_on = rollout["rewards"], rollout["values"], 1.0 - rollout["dones"].float()
    advantages, following, ahead = torch.zeros_like(rewards), rollout["last"][0], torch.zeros_like(rollout["last"][0])
    for step in reversed(range(len(rewards))):
        delta = rewards[step] + GAMMA * following * going_on[step] - values[step]
        advantages[step] = ahead = delta + GAMMA * (1.0 if training.once else LAMBDA) * going_on[step] * ahead
        following = values[step]
    returns = advantages + values
    return [
        t.flatten(0, 1)
        for t in (rollout["seen"], rollout["masks"], rollout["actions"], rollout["log_probs"], advantages, returns)
    ]


def _learn(policy: Policy, optimizer: torch.optim.Optimizer, batch: list[torch.Tensor], training: Training) -> None:
    """The steps of the optimiser of one epoch on one team's rows: clipped where there is more than one."""
    for chosen in torch.randperm(len(batch[0])).chunk(training.minibatches):
        seen, masks, actions, old, advantage, target = batch if training.once else (t[chosen] for t in batch)
        log_probs, value = policy(seen, masks)
        log_prob = log_probs.gather(1, actions[:, None]).squeeze(-1)
        if training.once:
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


class Learners:
    """Both teams' policies with their optimisers, in the process that updates them."""

    def __init__(self, first: Outcome, training: Training) -> None:
        self.training = training
        self.policies = make_policies(first, training.hidden)
        self.optimizers = {
            name: torch.optim.Adam(policy.parameters(), lr=1e-4) for name, policy in self.policies.items()
        }

    @property
    def weights(self) -> dict[str, dict[str, torch.Tensor]]:
        return {name: policy.state_dict() for name, policy in self.policies.items()}

    def seconds(self, rollouts: list[Rollout]) -> float:
        """How long an update takes on the roll-outs of all processes.

        One epoch is made and counted as often as there are epochs: they are alike.
        """
        start = time.perf_counter()
        batches = {}
        for name in TEAMS:
            joined = {
                key: torch.from_numpy(np.concatenate([part[name][key] for part in rollouts], axis=1))
                for key in rollouts[0][name]
            }
            batches[name] = _batch(joined, self.training)
        ready = time.perf_counter()
        for name, batch in batches.items():
            _learn(self.policies[name], self.optimizers[name], batch, self.training)
        return ready - start + self.training.epochs * (time.perf_counter() - ready)


def _fastest_threads(learners: Learners, rollouts: list[Rollout], processes: int) -> int:
    """With how many threads an update of a few days of the roll-outs is fastest: more are not always faster."""
    days = max(1, TRIED // learners.training.num_worlds)
    few = [
        {
            name: {key: part if key == "last" else part[:days] for key, part in team.items()}
            for name, team in rollout.items()
        }
        for rollout in rollouts
    ]
    taken = {}
    for threads in sorted({1, max(1, processes // 4), processes}):
        torch.set_num_threads(threads)
        taken[threads] = learners.seconds(few)
    return min(taken, key=taken.__getitem__)


def reference_training(parameters: Parameters, training: Training, processes: int, iterations: int) -> dict[str, float]:
    """World steps per second of whole iterations after a warm-up, shares of the time, and the threads that updated."""
    learners = Learners(Economy(parameters).reset(), training)
    parts = split(training.num_worlds, processes)
    before, threads = torch.get_num_threads(), 0
    rolling = updating = 0.0
    with workers(_play, [(parameters, count, seed, training) for seed, count in enumerate(parts)]) as pipes:
        for iteration in range(-1, iterations):
            start = time.perf_counter()
            weights = learners.weights
            for pipe in pipes:
                pipe.send(weights)
            found = [pipe.recv() for pipe in pipes]
            if iteration < 0:
                threads = _fastest_threads(learners, found, processes)
                torch.set_num_threads(threads)
            else:
                rolling += time.perf_counter() - start
                updating += learners.seconds(found)
    torch.set_num_threads(before)
    whole = rolling + updating
    rate = iterations * training.num_worlds * training.num_steps / whole
    return {
        "world_steps_per_second": rate,
        "rollout": rolling / whole,
        "update": updating / whole,
        "update_threads": threads,
    }
