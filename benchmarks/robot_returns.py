"""Whether robots behave alike on both devices: returns of episodes in MuJoCo Warp and in the C engine.

python benchmarks/robot_returns.py play --world LocomotionAnt-v0 --device cuda:0 --out gpu.json
python benchmarks/robot_returns.py play --run runs/ant --device cpu --out cpu.json
python benchmarks/robot_returns.py compare gpu.json cpu.json
python benchmarks/robot_returns.py transfer runs/ant    # in Gymnasium's own environment of the same id

Actions are uniform random, or those of a trained policy, sampled. The two-sample Kolmogorov-Smirnov test compares the
distributions; seeds differ, so that the samples are independent.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro

import worldloom as wl
from worldloom.learn.play.evaluation import MAX_STEPS, play_episodes
from worldloom.learn.runs.saved_run import open_run


@dataclass
class Play:
    """Play one episode in each of many worlds."""

    out: Path
    """A file for the returns as JSON."""
    world: str = ""
    """The world, for random actions."""
    run: str = ""
    """The folder of a run, for the actions of its policy."""
    device: str = "cpu"
    """The device."""
    episodes: int = 1000
    """Number of episodes."""
    seed: int = 0
    """Seed of the worlds and actions."""

    def main(self) -> None:
        returns = self._trained() if self.run else self._random()
        report = {"what": self.run or self.world, "device": self.device, "returns": returns.tolist()}
        self.out.write_text(json.dumps(report))
        print(f"{report['what']} on {self.device}: mean {returns.mean():.5g}, std {returns.std():.4g}")

    def _trained(self) -> np.ndarray:
        run = open_run(Path(self.run), "last", "")
        with run.worlds(self.episodes, self.device, self.seed) as worlds:
            actors = run.actors(worlds, stochastic=True, seed=self.seed, epsilon=None)
            played = play_episodes(worlds, actors, self.episodes, lambda _: None, MAX_STEPS, 0)
        (returns,) = played.returns.values()
        return returns.flatten().numpy()

    def _random(self) -> np.ndarray:
        simulation = wl.Simulation(self.world, self.episodes, self.device, seed=self.seed)
        (kind,) = simulation.definition.entities
        ((_, action),) = simulation.definition.actions().values()
        actions, rewards = simulation[kind].action.torch(), simulation[kind].reward.torch()
        generator = torch.Generator(actions.device).manual_seed(self.seed)
        low, high = (torch.as_tensor(bound, device=actions.device) for bound in (action.space.low, action.space.high))
        total = torch.zeros(rewards.shape, dtype=torch.float64, device=actions.device)
        playing = torch.ones(self.episodes, dtype=torch.bool, device=actions.device)
        while playing.any():
            draws = torch.rand(actions.shape, generator=generator, device=actions.device)
            simulation.step((low + (high - low) * draws).to(actions.dtype))
            total += rewards * playing.reshape(-1, *[1] * (rewards.ndim - 1))
            playing &= ~(simulation.terminated.torch() | simulation.truncated.torch())
        return total.mean(dim=tuple(range(1, total.ndim))).cpu().numpy()


@dataclass
class Compare:
    """Compare the returns of two files."""

    first: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FIRST")]
    """A file of play."""
    second: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="SECOND")]
    """A file of play."""

    def main(self) -> None:
        one, two = (np.sort(json.loads(file.read_text())["returns"]) for file in (self.first, self.second))
        statistic, p_value = kolmogorov_smirnov(one, two)
        print(f"means {one.mean():.5g} and {two.mean():.5g}, KS statistic {statistic:.4f}, p = {p_value:.3f}")


@dataclass
class Transfer:
    """Play the policy of a run in Gymnasium's own environment, with its most likely actions."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    episodes: int = 100
    """Number of episodes."""
    seed: int = 0
    """Seed of the environments."""

    def main(self) -> None:
        import gymnasium

        run = open_run(self.run, "last", "")
        with run.worlds(1, "cpu", self.seed) as worlds:
            ((_, (agents, actor)),) = run.actors(worlds).items()
            (name,) = agents.observations()
        envs = gymnasium.make_vec(run.definition.id, self.episodes)
        observations, _ = envs.reset(seed=self.seed)
        state, total = actor.initial_state(self.episodes, "cpu"), np.zeros(self.episodes)
        length, playing = np.zeros(self.episodes), np.ones(self.episodes, bool)
        while playing.any():
            rows = {name: torch.as_tensor(observations, dtype=torch.float32)}
            actions, state = actor.act(rows, state, None)
            observations, rewards, terminated, truncated, _ = envs.step(actions.numpy())
            total += rewards * playing
            length += playing
            playing &= ~(terminated | truncated)
        print(
            f"{run.definition.id} in Gymnasium: mean {total.mean():.5g}, std {total.std():.4g}, "
            f"{length.mean():.0f} of {length.max():.0f} steps"
        )


def kolmogorov_smirnov(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Statistic and asymptotic p-value of the two-sample test; both samples sorted."""
    points = np.concatenate([one, two])
    shares = [np.searchsorted(sample, points, side="right") / len(sample) for sample in (one, two)]
    statistic = float(np.abs(shares[0] - shares[1]).max())
    size = math.sqrt(len(one) * len(two) / (len(one) + len(two)))
    scaled = (size + 0.12 + 0.11 / size) * statistic
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return statistic, min(1.0, max(0.0, sum(terms)))


if __name__ == "__main__":
    command = tyro.extras.subcommand_cli_from_dict({"play": Play, "compare": Compare, "transfer": Transfer})
    command.main()
