"""Atari games learned against the clock: seconds until the mean score of the last 100 finished games reaches a target, then 100 games of the policy.

python benchmarks/atari_training.py pong-vtrace pong-ppo --device cuda:0 --seconds 120 --out atari_training
python benchmarks/atari_training.py breakout-ppo --device cuda:0 --seconds 300 --overlap --out atari_training
python benchmarks/atari_training.py pong-vtrace --device cuda:0 --overlap --judge-every 2 --judge-from 0.75 --out atari_training
python benchmarks/atari_training.py pong-ppo --num-envs 4 --num-steps 8 --minibatches 2 --seconds 20 --judged 2 --judged-steps 50 --device cpu

The games that a mean is taken over began a game's length ago, with a policy that knew less. With --judge-every the policy plays 100 new games every
so often instead, while the clock stands still, and the first that reach the target end the training.

Games are whole and scores are the console's own, of the policy that learns; it learns from their signs, and takes a lost life for an end. The clock
runs from the first iteration on, so that it counts what PyTorch tries and records at first (but with --warm); what is made or compiled before is told apart.
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
"""Frames of the console in a step."""
ENOUGH = 100
"""Games that a mean is taken over."""
WARM = 4
"""Iterations after which all graphs are recorded."""
JUDGED_FROM = 10_000
"""The seed of the worlds in which a policy is judged: other games than those of the training."""
console = Console(width=160, highlight=False)


@dataclass(frozen=True)
class Preset:
    """What to learn, to which score, and how: settings other than those that suit the game."""

    game: str
    target: float
    algo: str
    changes: dict[str, Any]


PONG, BREAKOUT = ("Pong-v5", 18.0), ("Breakout-v5", 300.0)
OFTEN = {"batches": 16, "steps_per_update": 1}
"""A step of the optimiser after every step of all consoles, from a 16th of them: as many as there can be in a game's length."""
PRESETS = {
    "pong-vtrace": Preset(
        *PONG, "vtrace", {**OFTEN, "num_envs": 1024, "learning_rate": 7e-4, "total_steps": 20_000_000}
    ),
    "pong-vtrace-wide": Preset(
        *PONG, "vtrace", {**OFTEN, "num_envs": 2048, "learning_rate": 1e-3, "total_steps": 30_000_000}
    ),
    # Minibatches of 4,096: the smallest that keep a large GPU busy.
    "pong-ppo": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 1024,
            "num_steps": 32,
            "minibatches": 8,
            "epochs": 3,
            "learning_rate": 1e-3,
            "clip": 0.2,
            "total_steps": 20_000_000,
        },
    ),
    # The update runs while the next roll-out is taken, which is the slower one: many steps of the optimiser cost nothing.
    "pong-ppo-often": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 2048,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 5e-4,
            "clip": 0.2,
            "total_steps": 30_000_000,
        },
    ),
    # A step of 4,096 consoles takes as long as one of 512.
    "pong-ppo-wide": Preset(
        *PONG,
        "ppo",
        {
            "num_envs": 4096,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 7e-4,
            "clip": 0.2,
            "total_steps": 40_000_000,
        },
    ),
    "breakout-ppo": Preset(
        *BREAKOUT,
        "ppo",
        {
            "num_envs": 1024,
            "num_steps": 64,
            "minibatches": 16,
            "epochs": 3,
            "learning_rate": 8e-4,
            "clip": 0.1,
            "total_steps": 60_000_000,
        },
    ),
    "breakout-ppo-wide": Preset(
        *BREAKOUT,
        "ppo",
        {
            "num_envs": 8192,
            "num_steps": 32,
            "minibatches": 32,
            "epochs": 3,
            "learning_rate": 7e-4,
            "clip": 0.1,
            "total_steps": 150_000_000,
        },
    ),
    "breakout-vtrace": Preset(
        *BREAKOUT, "vtrace", {**OFTEN, "num_envs": 2048, "learning_rate": 6e-4, "total_steps": 150_000_000}
    ),
    # The games of the settings that `worldloom train` starts from, as they are.
    "mspacman-ppo": Preset("MsPacman-v5", 1500.0, "ppo", {}),
    "assault-ppo": Preset("Assault-v5", 800.0, "ppo", {}),
    "asterix-ppo": Preset("Asterix-v5", 1000.0, "ppo", {}),
}
Name = Literal[
    "pong-vtrace",
    "pong-vtrace-wide",
    "pong-ppo",
    "pong-ppo-wide",
    "pong-ppo-often",
    "breakout-ppo",
    "breakout-ppo-wide",
    "breakout-vtrace",
    "mspacman-ppo",
    "assault-ppo",
    "asterix-ppo",
]


@dataclass
class Settings:
    """Train Atari games against the clock, one preset after the other. What is left out is as the preset has it."""

    presets: tyro.conf.Positional[tuple[Name, ...]] = ("pong-vtrace", "pong-ppo", "breakout-ppo")
    """What to train."""
    device: str = "auto"
    """Where: cpu, cuda:0, or auto."""
    seconds: float = 300.0
    """When a training ends that has not reached its target."""
    target: float | None = None
    """The mean score to reach."""
    seed: int = 0
    """Where random numbers start."""
    num_envs: int | None = None
    """Consoles."""
    num_steps: int | None = None
    """Steps of a roll-out, or those that V-trace learns from."""
    steps_per_update: int | None = None
    """V-trace: steps of all consoles between two updates."""
    batches: int | None = None
    """V-trace: groups of consoles."""
    minibatches: int | None = None
    """PPO: parts of a roll-out."""
    epochs: int | None = None
    """PPO: how often each is learned from."""
    learning_rate: float | None = None
    """Step size at the start."""
    schedule: Literal["constant", "linear", "kl"] | None = None
    """How it changes."""
    entropy_weight: float | None = None
    """How much a policy that tries more counts."""
    clip: float | None = None
    """PPO: how far a probability may change."""
    lam: float | None = None
    """How far advantages look ahead."""
    total_steps: int | None = None
    """Steps of all consoles over which a linear schedule goes to 0, and after which the training ends."""
    precision: Literal["fp32", "bf16"] | None = None
    """Numbers in the network's products."""
    overlap: bool = False
    """Learn from a roll-out while the next one is taken."""
    warm: bool = False
    """Run a few iterations first and begin anew, so that the clock does not count what PyTorch tries and records in them."""
    judge_every: float = 0.0
    """Seconds of the clock between two judgements of the policy in new games, which end the training in place of the mean of its own games; 0 for none."""
    judge_after: float | None = None
    """Seconds of the clock before the first judgement; as many as between two where it is left out."""
    judge_from: float = -math.inf
    """The mean of the rewards that are not 0 from which on it is judged: 0.75 where seven of eight points are won."""
    judged: int = ENOUGH
    """Games that the policy plays at the end; 0 for none."""
    judged_steps: int = 10_000
    """Steps after which such a game is cut off."""
    greedy: bool = False
    """Judge the likeliest actions too, not only those that are drawn as in the training."""
    every: float = 2.0
    """Seconds between two lines of progress."""
    out: Path = Path("atari_training")
    """The folder for a JSON file, a picture and the weights of each preset."""


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
"""Settings of the learner that the command line may change."""
SHOWN = {"loss/entropy": "entropy", "update/kl": "KL", "update/explained_variance": "explained"}


def settings_of(preset: Preset, settings: Settings, device: str) -> TrainConfig:
    """The learner's settings: those that suit the game, those of the preset, those of the command line."""
    _, kind = algorithm(preset.algo)
    known = {field.name for field in dataclasses.fields(kind)}
    given = {name: getattr(settings, name) for name in CHANGED if getattr(settings, name) is not None and name in known}
    if settings.overlap and "overlap" in known:
        given["overlap"] = True
    return dataclasses.replace(
        tuned_config(preset.game, preset.algo, kind, device), **{**preset.changes, **given, "device": device}
    )


class Race(Callback):
    """Keeps the curve, tells of it, writes it down as it goes, and stops at the target or when the time is over."""

    def __init__(self, name: str, target: float, settings: Settings, found: dict[str, Any]) -> None:
        self.name, self.target, self.settings, self.found = name, target, settings, found
        self.curve: list[dict[str, Any]] = found["curve"]
        self.paused = 0.0
        """Seconds that the policy was judged for, which do not count."""
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
        if (
            self.settings.judge_every
            and seconds >= self._next_judgement
            and rewards_of(trainer) >= self.settings.judge_from
        ):
            reached, seconds, score = self._judge(trainer, seconds)
        over = seconds >= self.settings.seconds
        ends = reached or over or progress.steps >= progress.total_steps
        if seconds >= self._next_point or ends:
            self._next_point = seconds + 0.25
            told = {short: progress.metrics[name] for name, short in SHOWN.items() if name in progress.metrics} | {
                "reward": rewards_of(trainer)
            }
            point = {
                "seconds": seconds,
                "steps": progress.steps,
                "frames": progress.steps * FRAMES,
                "score": score,
                "games": games,
                **told,
            }
            self.curve.append({k: v if math.isfinite(v) else None for k, v in point.items()})
        if reached or over:
            self.found |= {
                "reached": reached,
                "seconds": seconds,
                "frames": trainer.steps * FRAMES,
                "score": score if math.isfinite(score) else None,
            }
            trainer.stop()
        if seconds >= self._next_line or ends:
            self._next_line = seconds + self.settings.every
            self._tell(progress, seconds, score, games, rewards_of(trainer))
            self.found["shares"] = progress.shares
            write(self.found, self.settings.out / f"{self.name}.json")

    def _judge(self, trainer: Trainer, seconds: float) -> tuple[bool, float, float]:
        """Whether new games reach the target, what the clock shows, and their mean score."""
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
            f"{self.name}: {seconds:.1f} s, judged: mean score {played['mean_return']:.2f} in {self.settings.judged} new games"
        )
        return played["mean_return"] >= self.target, seconds, played["mean_return"]

    def _tell(self, progress: Progress, seconds: float, score: float, games: float, reward: float) -> None:
        shown = ", ".join(
            f"{short} {progress.metrics[name]:.3g}" for name, short in SHOWN.items() if name in progress.metrics
        )
        shares = ", ".join(f"{phase} {share:.0%}" for phase, share in progress.shares.items())
        pace = f"{progress.steps:,} steps, {progress.steps / seconds * FRAMES:,.0f} frames/s"
        console.print(
            f"{self.name}: {seconds:.1f} s, {pace}, {games:.0f} games, score {score:.2f}, reward {reward:.2f}; {shown}; {shares}"
        )


def rewards_of(trainer: Any) -> float:
    """The mean of the rewards of the last steps that were not 0: what the policy is worth now, long before its games end."""
    found = torch.stack(
        [
            torch.stack([kept.rewards.sum(), (kept.rewards != 0).sum()])
            for kept in (k.actor.storage for k in trainer.learners.values())
        ]
    )
    total, count = found.sum(0).tolist()
    return float(total / max(count, 1.0))


def write(found: dict[str, Any], target: Path) -> None:
    """What is known so far, so that a run that is cut off leaves it."""
    target.write_text(json.dumps(found, indent=1))


def judge(preset: Preset, trainer: Any, settings: Settings, stochastic: bool) -> dict[str, Any]:
    """Games of the policy in new worlds."""
    limit = {"max_steps": settings.judged_steps}  # as configuration, so that nothing is compiled anew
    with Simulation(preset.game, settings.judged, trainer.config.device, seed=JUDGED_FROM, config=limit) as worlds:
        played = evaluate(
            worlds, make_actors(trainer.learners, worlds, stochastic=stochastic, seed=JUDGED_FROM), settings.judged
        )
    return {
        k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in dataclasses.asdict(played).items()
    }


def warm_up(trainer: Any) -> None:
    """Have all tried and recorded, and begin anew."""
    tensors, plain = trainer.state()
    fresh = {name: tensor.clone() for name, tensor in tensors.items()}
    trainer.learn(WARM * trainer.new_steps * trainer.config.num_envs)
    trainer.load_state(fresh, plain)


def train(name: str, settings: Settings, device: str) -> dict[str, Any]:
    """One preset from the first step to the judgement."""
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
        f"{name}: {'REACHED' if found['reached'] else 'did not reach'} {target:g} in {found['seconds']:.1f} s, {found['frames']:,} frames"
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
        spread = f"from {judged['least_return']:.4g} to {judged['greatest_return']:.4g}, {judged['mean_length']:.0f} steps each"
        console.print(
            f"{name}: mean score {judged['mean_return']:.2f} in {settings.judged} new games with {kind} actions, {spread}"
        )
        write(found, settings.out / f"{name}.json")
    trainer.simulation.close()
    return found


def draw(found: dict[str, Any], target: Path) -> None:
    """The score over the time."""
    figure = new_figure("the picture", 7.0, 4.5)
    panel = figure.add_subplot()
    points = [(row["seconds"], row["score"]) for row in found["curve"] if row["score"] is not None]
    if points:
        panel.plot(*zip(*points, strict=True))
    if found["judged"]:
        panel.plot(
            [row["seconds"] for row in found["judged"]],
            [row["score"] for row in found["judged"]],
            marker="o",
            linestyle="none",
        )
    panel.axhline(found["target"], color="0.6", linestyle="--")
    panel.set(
        title=f"{found['game']} with {found['algorithm']}",
        xlabel="seconds",
        ylabel=f"mean score of the last {ENOUGH} games",
    )
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
