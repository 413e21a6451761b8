"""Seconds of Atari training until the mean score of the last 100 games reaches a target, then 100 evaluation games.

python benchmarks/atari_training.py pong-vtrace pong-ppo --device cuda:0 --seconds 120 --out atari_training
python benchmarks/atari_training.py breakout-ppo --device cuda:0 --seconds 300 --overlap --out atari_training
python benchmarks/atari_training.py pong-vtrace --device cuda:0 --overlap --judge-every 2 --judge-from 0.75 \
    --out atari_training
python benchmarks/atari_training.py pong-ppo --num-envs 4 --num-steps 8 --minibatches 2 --seconds 20 --judged 2 \
    --judged-steps 50 --device cpu

The games of the mean started a game's length ago, with an earlier policy. With --judge-every the policy periodically
plays 100 new games instead, while the clock is paused, and the first evaluation that reaches the target ends the
training.

Games are whole and returns are unclipped scores of the learning policy. Training clips rewards to their sign and treats
a lost life as terminal. The clock starts at the first iteration, so it includes the autotuning and graph capture of
PyTorch (except with --warm). Construction and compilation are reported separately.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from atari_presets import PRESETS, Name, Preset
from rich.console import Console
from run import describe_machine
from safetensors.torch import save_file

from worldloom.core.base.device import resolve
from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn import Callback
from worldloom.learn.algorithms.registry import algorithm, config_to_dict
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import evaluate
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer
from worldloom.view.figure import new_figure, save_figure

FRAMES = 4
"""Frames per step."""
ENOUGH = 100
"""Games of the mean score."""
WARM = 4
"""Iterations after which all graphs are captured."""
JUDGED_FROM = 10_000
"""Seed of evaluation worlds, which differs from that of the training."""
console = Console(width=160, highlight=False)


@dataclass
class Settings:
    """Measure the training time of Atari games, one preset after the other. Omitted flags are those of the preset."""

    presets: tyro.conf.Positional[tuple[Name, ...]] = ("pong-vtrace", "pong-ppo", "breakout-ppo")
    """Presets to train."""
    device: str = "auto"
    """Device: cpu, cuda:0, or auto."""
    seconds: float = 300.0
    """Time limit of a training."""
    target: float | None = None
    """Target mean score."""
    seed: int = 0
    """Random seed."""
    num_envs: int | None = None
    """Consoles."""
    num_steps: int | None = None
    """Rollout length, or the window of V-trace."""
    steps_per_update: int | None = None
    """V-trace: environment steps per update."""
    batches: int | None = None
    """V-trace: groups of consoles."""
    minibatches: int | None = None
    """PPO: minibatches per epoch."""
    epochs: int | None = None
    """PPO: epochs per rollout."""
    learning_rate: float | None = None
    """Initial learning rate."""
    schedule: Literal["constant", "linear", "kl"] | None = None
    """Learning-rate schedule."""
    entropy_weight: float | None = None
    """Entropy bonus coefficient."""
    clip: float | None = None
    """PPO: clip range of the probability ratio."""
    lam: float | None = None
    """GAE lambda."""
    total_steps: int | None = None
    """Total environment steps: the end of the training, and of a linear learning-rate schedule."""
    precision: Literal["fp32", "bf16"] | None = None
    """Precision of the network."""
    overlap: bool = False
    """Overlap updates with the next rollout."""
    warm: bool = False
    """Run a few iterations and restart, so that the clock excludes the autotuning and graph capture of PyTorch."""
    judge_every: float = 0.0
    """Seconds between evaluations in new games, which end the training instead of the training mean; 0 for none."""
    judge_after: float | None = None
    """Seconds before the first evaluation; default: the interval between evaluations."""
    judge_from: float = -math.inf
    """Mean nonzero reward from which evaluations start: 0.75 if seven of eight points are won."""
    judged: int = ENOUGH
    """Evaluation games at the end; 0 for none."""
    judged_steps: int = 10_000
    """Step limit of an evaluation game."""
    greedy: bool = False
    """Evaluate greedy actions too, not only sampled ones."""
    every: float = 2.0
    """Seconds between two lines of progress."""
    out: Path = Path("atari_training")
    """Output folder for a JSON file, a figure and the weights of each preset."""


CHANGED = (
    "num_envs",
    "num_steps",
    "steps_per_update",
    "batches",
    "minibatches",
    "epochs",
    "learning_rate",
    "schedule",
    "entropy_weight",
    "clip",
    "lam",
    "total_steps",
    "precision",
    "seed",
)
"""Config fields that the command line may override."""
SHOWN = {"loss/entropy": "entropy", "update/kl": "KL", "update/explained_variance": "explained"}


def settings_of(preset: Preset, settings: Settings, device: str) -> TrainConfig:
    """The config: defaults of the game, overridden by the preset, overridden by the command line."""
    _, kind = algorithm(preset.algo)
    known = {field.name for field in dataclasses.fields(kind)}
    given = {name: getattr(settings, name) for name in CHANGED if getattr(settings, name) is not None and name in known}
    if settings.overlap and "overlap" in known:
        given["overlap"] = True
    return dataclasses.replace(
        tuned_config(preset.game, preset.algo, kind, device), **{**preset.changes, **given, "device": device}
    )


class Race(Callback):
    """Records, prints and writes the learning curve; stops at the target or at the time limit."""

    def __init__(self, name: str, target: float, settings: Settings, found: dict[str, Any]) -> None:
        self.name, self.target, self.settings, self.found = name, target, settings, found
        self.curve: list[dict[str, Any]] = found["curve"]
        self.paused = 0.0
        """Seconds of evaluations, which do not count."""
        self._next_line = self._next_point = 0.0
        self._next_judgement = settings.judge_every if settings.judge_after is None else settings.judge_after

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        score, games, seconds = (
            progress.metrics["episode/return"],
            progress.metrics["episode/count"],
            progress.seconds - self.paused,
        )
        if self.found["reached"] is not None:  # what was under way when it ended
            return
        reached = not self.settings.judge_every and games >= ENOUGH and score >= self.target
        counted = score  # the score that counts: of new games where they are played, else of the training
        if (
            self.settings.judge_every
            and seconds >= self._next_judgement
            and rewards_of(trainer) >= self.settings.judge_from
        ):
            reached, seconds, counted = self._judge(trainer, seconds)
        over = seconds >= self.settings.seconds
        ends = reached or over or progress.steps >= progress.total_steps
        if seconds >= self._next_point or ends:
            self._next_point = seconds + 0.25
            reported = {short: progress.metrics[name] for name, short in SHOWN.items() if name in progress.metrics} | {
                "reward": rewards_of(trainer)
            }
            point = {
                "seconds": seconds,
                "steps": progress.steps,
                "frames": progress.steps * FRAMES,
                "score": score,
                "games": games,
                **reported,
            }
            self.curve.append({k: v if math.isfinite(v) else None for k, v in point.items()})
        if reached or over:
            self.found |= {
                "reached": reached,
                "seconds": seconds,
                "frames": trainer.steps * FRAMES,
                "score": counted if math.isfinite(counted) else None,
            }
            trainer.stop()
        if seconds >= self._next_line or ends:
            self._next_line = seconds + self.settings.every
            self._tell(progress, seconds, score, games, rewards_of(trainer))
            self.found["shares"] = progress.shares
            write(self.found, self.settings.out / f"{self.name}.json")

    def _judge(self, trainer: Trainer, seconds: float) -> tuple[bool, float, float]:
        """Whether new games reach the target, the time, and their mean score."""
        began = time.perf_counter()
        if trainer.device.type == "cuda":
            torch.cuda.synchronize(
                trainer.device
            )  # iterations that are under way count, and so does the policy that they leave
        seconds += time.perf_counter() - began
        began = time.perf_counter()
        played = judge(PRESETS[self.name], trainer, self.settings, stochastic=True)
        self.paused += time.perf_counter() - began
        self._next_judgement = seconds + self.settings.judge_every
        self.found["judged"].append({"seconds": seconds, "score": played["mean_return"]})
        console.print(
            f"{self.name}: {seconds:.1f} s, evaluated: mean score {played['mean_return']:.2f} "
            f"in {self.settings.judged} new games"
        )
        return played["mean_return"] >= self.target, seconds, played["mean_return"]

    def _tell(self, progress: Progress, seconds: float, score: float, games: float, reward: float) -> None:
        shown = ", ".join(
            f"{short} {progress.metrics[name]:.3g}" for name, short in SHOWN.items() if name in progress.metrics
        )
        shares = ", ".join(f"{phase} {share:.0%}" for phase, share in progress.shares.items())
        pace = f"{progress.steps:,} steps, {progress.steps / seconds * FRAMES:,.0f} frames/s"
        console.print(
            f"{self.name}: {seconds:.1f} s, {pace}, {games:.0f} games, "
            f"score {score:.2f}, reward {reward:.2f}; {shown}; {shares}"
        )


def rewards_of(trainer: Any) -> float:
    """Mean nonzero reward of the last steps: an early estimate of the policy's quality, long before its games end."""
    found = torch.stack(
        [
            torch.stack([kept.rewards.sum(), (kept.rewards != 0).sum()])
            for kept in (k.actor.storage for k in trainer.learners.values())
        ]
    )
    total, count = found.sum(0).tolist()
    return float(total / max(count, 1.0))


def write(found: dict[str, Any], target: Path) -> None:
    """Write the results so far, in case the run is interrupted."""
    target.write_text(json.dumps(found, indent=1))


def judge(preset: Preset, trainer: Any, settings: Settings, stochastic: bool) -> dict[str, Any]:
    """Evaluate the policy in new worlds."""
    limit = {"max_steps": settings.judged_steps}  # as configuration, so that nothing is recompiled
    with Simulation(preset.game, settings.judged, trainer.config.device, seed=JUDGED_FROM, config=limit) as worlds:
        played = evaluate(
            worlds, make_actors(trainer.learners, worlds, stochastic=stochastic, seed=JUDGED_FROM), settings.judged
        )
    return {
        k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in dataclasses.asdict(played).items()
    }


def warm_up(trainer: Any) -> None:
    """Run the autotuning and graph capture, then restart."""
    tensors, plain = trainer.state()
    fresh = {name: tensor.clone() for name, tensor in tensors.items()}
    trainer.learn(WARM * trainer.new_steps * trainer.config.num_envs)
    trainer.load_state(fresh, plain)


def train(name: str, settings: Settings, device: str) -> dict[str, Any]:
    """Train and evaluate one preset."""
    preset = PRESETS[name]
    target = preset.target if settings.target is None else settings.target
    config, began = settings_of(preset, settings, device), time.perf_counter()
    trainer = algorithm(preset.algo)[0](preset.game, config)
    found: dict[str, Any] = {
        "preset": name,
        "game": preset.game,
        "algorithm": preset.algo,
        "target": target,
        "settings": config_to_dict(config),
    }
    found |= {
        "made_s": time.perf_counter() - began,
        "reached": None,
        "seconds": None,
        "frames": None,
        "score": None,
        "curve": [],
        "judged": [],
    }
    console.print(f"{name}: {config.num_envs:,} consoles on {device}, made in {found['made_s']:.1f} s")
    if settings.warm:
        warm_up(trainer)
    race = Race(name, target, settings, found)
    trainer.learn(config.total_steps, callbacks=race)
    if found["reached"] is None:
        found |= {"reached": False, "seconds": trainer.seconds - race.paused, "frames": trainer.steps * FRAMES}
    console.print(
        f"{name}: {'REACHED' if found['reached'] else 'did not reach'} {target:g} "
        f"in {found['seconds']:.1f} s, {found['frames']:,} frames"
    )
    write(found, settings.out / f"{name}.json")
    learners: Any = trainer.learners  # type: ignore[attr-defined]
    save_file(
        {f"{who}/{k}": v.cpu() for who, learner in learners.items() for k, v in learner.policy.state_dict().items()},
        settings.out / f"{name}.safetensors",
    )
    try:
        draw(found, settings.out / f"{name}.png")
    except InputError as problem:  # the figures are written
        console.print(str(problem), markup=False)
    for stochastic in (True, *([False] if settings.greedy else [])) if settings.judged else ():
        found["drawn" if stochastic else "likeliest"] = judged = judge(preset, trainer, settings, stochastic)
        kind = "drawn" if stochastic else "likeliest"
        spread = f"from {judged['least_return']:.4g} to {judged['greatest_return']:.4g}"
        console.print(
            f"{name}: mean score {judged['mean_return']:.2f} in {settings.judged} new games with {kind} actions, "
            f"{spread}, {judged['mean_length']:.0f} steps each"
        )
        write(found, settings.out / f"{name}.json")
    trainer.simulation.close()
    return found


def draw(found: dict[str, Any], target: Path) -> None:
    """Plot the score over time: of the games that ended in the training as a line, of evaluations as points."""
    figure = new_figure("the picture", 7.0, 4.5)
    panel = figure.add_subplot()
    points = [(row["seconds"], row["score"]) for row in found["curve"] if row["score"] is not None]
    if points:
        panel.plot(*zip(*points, strict=True), label=f"training, last {ENOUGH} games")
    if found["judged"]:
        panel.plot(
            [row["seconds"] for row in found["judged"]],
            [row["score"] for row in found["judged"]],
            marker="o",
            linestyle="none",
            label="evaluation, new games",
        )
    panel.axhline(found["target"], color="0.6", linestyle="--", label="target")
    panel.set(
        title=f"{found['game']} with {found['algorithm']}",
        xlabel="seconds",
        ylabel="mean score",
    )
    panel.legend()
    panel.grid(alpha=0.3)
    save_figure(figure, target)


def main(settings: Settings) -> None:
    device, _ = resolve(settings.device)
    settings.out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine(device) | {"torch": torch.__version__}
    console.print(machine)
    rows = []
    for name in settings.presets:
        found = train(name, settings, device.alias)
        rows.append(
            {k: found[k] for k in ("preset", "target", "reached", "seconds", "frames", "score", "made_s")}
            | {"drawn": found.get("drawn")}
        )
        write({"machine": machine, "presets": rows}, settings.out / "summary.json")
        del found
        gc.collect()  # the trainer, so that the next has its memory
        if device.is_cuda:
            torch.cuda.empty_cache()
    for row in rows:
        console.print(row)


if __name__ == "__main__":
    main(tyro.cli(Settings))
