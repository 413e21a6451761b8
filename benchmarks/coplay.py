"""Continuous Tag learned by the taggers, by the runners and by both: who is caught when, and a video.

The side that does not learn acts at random.

python benchmarks/coplay.py --device cuda:0 --seconds 45 --out coplay
python benchmarks/coplay.py --device cpu --film-from coplay/policies.safetensors --out coplay
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.console import Console
from safetensors.torch import load_file, save_file

from worldloom.core.simulation import Simulation
from worldloom.learn import PPO, Callback, PolicyConfig, PolicyGroup, PPOConfig, Progress, StopAfter
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import Evaluation
from worldloom.learn.play.frames import record_frames
from worldloom.learn.training.trainer import Trainer
from worldloom.view.figure import new_figure, save_figure
from worldloom.view.video import write_video

KINDS = ("Tagger", "Runner")
PHASES = {
    "taggers against random runners": ("Tagger",),
    "runners against random taggers": ("Runner",),
    "both together": KINDS,
}
"""The kinds that are trained. The others act with an untrained policy, whose actions are nearly uniform."""
JUDGED_FROM = 10_000
"""The seed of the worlds in which policies are judged: other episodes than those of the training."""
console = Console(width=140, highlight=False)


@dataclass
class Settings:
    """Train Tag three times and compare."""

    env: str = "TagContinuousDemo-v0"
    """The world: 5 taggers, 100 runners, 500 steps."""
    device: str = "auto"
    """Where to train."""
    num_envs: int = 2000
    """Worlds."""
    num_steps: int = 50
    """Steps of a roll-out."""
    seconds: float = 45.0
    """How long each of the three trains."""
    total_steps: int = 1_000_000_000
    """World steps after which it ends before that."""
    learning_rate: float = 1e-3
    """Step size."""
    gamma: float = 0.98
    """How much a reward counts that comes one step later."""
    entropy_weight: float = 0.01
    """How much a policy that tries more counts."""
    epochs: int = 2
    """How often a roll-out is learned from."""
    minibatches: int = 10
    """Into how many parts it is divided each time."""
    hidden: tuple[int, ...] = (128, 128)
    """Units of each layer."""
    memory: str = "none"
    """A memory of the policies: none, lstm or gru."""
    seed: int = 0
    """Where random numbers start."""
    judged: int = 200
    """Worlds in which policies are judged."""
    film_from: Path | None = None
    """Train nothing, and film the policies of such a file: policies.safetensors of an earlier run."""
    out: Path = Path("coplay")
    """The folder for coplay.json, coplay.png and coplay.mp4."""


class Curve(Callback):
    """Keeps the returns of both policies, a point for every length of an episode, and tells of them.

    Worlds that began together end together, and runners that are caught end before: only a whole length shows all.
    """

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.rows: list[dict[str, float]] = []
        self._counted = dict.fromkeys(KINDS, 0.0)
        self._sums = {kind: [0.0, 0.0] for kind in KINDS}
        self._iterations = 0

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        for kind in KINDS:
            mean, count = progress.metrics[f"episode/return/{kind}"], progress.metrics[f"episode/count/{kind}"]
            new, self._counted[kind] = count - self._counted[kind], count
            if new > 0:
                self._sums[kind][0] += new
                self._sums[kind][1] += new * mean
        self._iterations += 1
        if self._iterations * trainer.config.num_steps < trainer.simulation.definition.max_steps:  # type: ignore[attr-defined]
            return
        returns = {kind: total / count for kind, (count, total) in self._sums.items() if count}
        self.rows.append({"steps": progress.steps, "seconds": progress.seconds, **returns})
        self._iterations, self._sums = 0, {kind: [0.0, 0.0] for kind in KINDS}
        returns_text = ", ".join(f"{kind} {value:.4g}" for kind, value in returns.items())
        console.print(
            f"{self.phase}: {progress.seconds:.0f} s, {progress.steps:,} steps, "
            f"{progress.steps_per_second:,.0f} steps/s, return {returns_text}"
        )


def train(phase: str, settings: Settings) -> tuple[PPO, list[dict[str, float]]]:
    """One of the three trainings."""
    config = PPOConfig(
        num_envs=settings.num_envs,
        num_steps=settings.num_steps,
        total_steps=settings.total_steps,
        device=settings.device,
        seed=settings.seed,
        gamma=settings.gamma,
        learning_rate=settings.learning_rate,
        entropy_weight=settings.entropy_weight,
        epochs=settings.epochs,
        minibatches=settings.minibatches,
        normalize_rewards=True,
        policy=PolicyConfig(hidden=settings.hidden, memory=settings.memory),  # type: ignore[arg-type]
    )
    policy_groups = {kind: PolicyGroup(kind, train=kind in PHASES[phase]) for kind in KINDS}
    trainer, curve = PPO(settings.env, config, policy_groups=policy_groups), Curve(phase)
    trainer.learn(callbacks=[curve, StopAfter(settings.seconds)])
    return trainer, curve.rows


def caught(learners: dict[str, Any], settings: Settings, device: str) -> list[float]:
    """The fraction of runners that are out of the game after each step, the start included, in the mean over worlds."""
    with Simulation(settings.env, settings.judged, device, seed=JUDGED_FROM, autoreset="disabled") as worlds:
        match = Evaluation(worlds, make_actors(learners, worlds, stochastic=True))
        in_game = worlds["Runner"]["in_game"]
        found = [torch.zeros((), device=next(iter(match.actors.values()))[0].device)]
        for _ in range(worlds.definition.max_steps):
            match.step()
            found.append(1.0 - in_game.torch().float().mean())
        return [float(value) for value in torch.stack(found).cpu()]


def film(learners: dict[str, Any], settings: Settings, device: str, target: Path) -> None:
    """An episode of the policies at play."""
    with Simulation(settings.env, 1, device, seed=JUDGED_FROM, autoreset="disabled") as worlds:
        write_video(
            record_frames(worlds, make_actors(learners, worlds, stochastic=True)),
            target,
            worlds.definition.frames_per_second,
        )


def keep(learners: dict[str, Any], target: Path) -> None:
    """The weights of both policies, to film them elsewhere."""
    save_file(
        {
            f"{name}/{key}": value.cpu()
            for name, learner in learners.items()
            for key, value in learner.policy.state_dict().items()
        },
        target,
    )


def kept(settings: Settings) -> dict[str, Any]:
    """Learners with the weights of a file."""
    policy = PolicyConfig(hidden=settings.hidden, memory=settings.memory)  # type: ignore[arg-type]
    learners = PPO(
        settings.env, PPOConfig(num_envs=1, num_steps=2, minibatches=1, device=settings.device, policy=policy)
    ).learners
    tensors = load_file(settings.film_from)
    for name, learner in learners.items():
        learner.policy.load_state_dict(
            {key.removeprefix(f"{name}/"): value for key, value in tensors.items() if key.startswith(f"{name}/")}
        )
    return dict(learners)


def draw(found: dict[str, Any], target: Path) -> None:
    """Returns over the steps of each training, and who is caught when."""
    figure = new_figure("the picture", 13.0, 6.5)
    panels: Any = figure.subplots(2, 3)
    for panel, (phase, result) in zip(panels[0], found["phases"].items(), strict=False):
        for i, kind in enumerate(KINDS):
            points = [(row["steps"], row[kind]) for row in result["curve"] if kind in row]
            if points and kind in PHASES[phase]:
                panel.plot(*zip(*points, strict=True), color=f"C{i}", label=kind)
        panel.set(title=phase, xlabel="world steps", ylabel="return per agent")
        panel.legend()
    for panel, result in zip(panels[1], found["phases"].values(), strict=False):
        panel.plot(found["random"], color="0.6", label="random against random")
        for i, (who, course) in enumerate(result["caught"].items()):
            panel.plot(course, color=f"C{i + 2}", label=who)
        panel.set(xlabel="step of the episode", ylabel="fraction of runners caught", ylim=(-0.02, 1.02))
        panel.legend(fontsize=8)
    for panel in panels.flat:
        panel.grid(alpha=0.3)
    save_figure(figure, target)


def main(settings: Settings) -> None:
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.film_from is not None:
        film(kept(settings), settings, settings.device, settings.out / "coplay.mp4")
        return
    found: dict[str, Any] = {"settings": {**vars(settings), "out": str(settings.out)}, "random": [], "phases": {}}
    random: dict[str, Any] = {}
    for phase, learning in PHASES.items():
        if not random:  # the policies before anything is learned
            fresh = PPO(
                settings.env,
                PPOConfig(
                    num_envs=1,
                    num_steps=2,
                    minibatches=1,
                    device=settings.device,
                    policy=PolicyConfig(hidden=settings.hidden),
                ),
            )
            random = dict(fresh.learners)
            found["random"] = caught(random, settings, fresh.config.device)
            console.print(f"random against random: {found['random'][-1]:.1%} of the runners caught at the end")
        trainer, curve = train(phase, settings)
        learners, device = dict(trainer.learners), trainer.config.device
        courses = {"as trained": caught(learners, settings, device)}
        if len(learning) > 1:
            for kind, other in (KINDS, KINDS[::-1]):
                courses[f"{kind} of these, random {other}"] = caught({**random, kind: learners[kind]}, settings, device)
        found["phases"][phase] = {"steps": trainer.steps, "seconds": trainer.seconds, "curve": curve, "caught": courses}
        ends = ", ".join(f"{who} {course[-1]:.1%}" for who, course in courses.items())
        console.print(f"{phase}: {trainer.steps:,} steps in {trainer.seconds:.0f} s; runners caught at the end: {ends}")
        (settings.out / "coplay.json").write_text(
            json.dumps(found)
        )  # after each, so that a run that is cut off leaves what it has
        draw(found, settings.out / "coplay.png")
    keep(learners, settings.out / "policies.safetensors")
    film(learners, settings, device, settings.out / "coplay.mp4")
    console.print(f"wrote coplay.json, coplay.png and coplay.mp4 into {settings.out}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
