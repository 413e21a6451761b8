"""Social welfare of governors and planner trained together with PPO, against the best constant policy.

python benchmarks/welfare.py --device cuda:0 --seconds 120 --out welfare
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from rich.console import Console

from worldloom.core.registry.registry import definition
from worldloom.core.simulation import Simulation
from worldloom.envs.covid.economy import parameters_of
from worldloom.envs.covid.economy_command import best, policy_table
from worldloom.envs.covid.figures import draw_country, draw_states
from worldloom.envs.covid.history import EpisodeHistory, real_history
from worldloom.envs.covid.policies import play_constant, sweep_constant
from worldloom.envs.covid.recording import play_policies
from worldloom.learn import PPO, Callback, PolicyConfig, PolicyGroup, PPOConfig, Progress, StopAfter
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import Evaluation
from worldloom.learn.training.trainer import Trainer

console = Console(width=140, highlight=False)


@dataclass
class Settings:
    """Train governors and planner together with PPO, and compare with constant policies."""

    env: str = "CovidEconomy-v0"
    """The economy; CovidEconomySynthetic-v0 needs no data."""
    device: str = "auto"
    """Where to train."""
    num_envs: int = 1000
    """Worlds."""
    num_steps: int = 540
    """Days of a roll-out."""
    seconds: float = 120.0
    """How long to train."""
    total_steps: int = 1_000_000_000
    """World steps after which it ends before that."""
    learning_rate: float = 1e-3
    """Step size at the start."""
    schedule: Literal["constant", "linear", "kl"] = "constant"
    """How it changes; linear falls to 0 over the total steps."""
    gamma: float = 0.999
    """How much a reward counts that comes a day later."""
    lam: float = 0.995
    """How far advantages look ahead."""
    entropy_weight: float = 0.01
    """How much governors that try more count."""
    planner_entropy_weight: float = 0.005
    """The same of the planner."""
    epochs: int = 4
    """How often a roll-out is learned from."""
    minibatches: int = 20
    """Into how many parts it is divided each time."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each layer."""
    seed: int = 0
    """Where random numbers start."""
    judge_every: float = 15.0
    """Seconds between two episodes of the likeliest actions."""
    out: Path = Path("welfare")
    """The folder for welfare.json, welfare.md and the figures."""


class Judge(Callback):
    """Lets the policies play an episode now and then, with their likeliest actions, and keeps what came of it."""

    def __init__(self, settings: Settings, report: dict[str, Any]) -> None:
        self.settings, self.report = settings, report
        self.best: EpisodeHistory | None = None
        self._due = 0.0

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if progress.seconds >= self._due:
            self._due = progress.seconds + self.settings.judge_every
            self.judge(trainer, progress.steps, progress.seconds)

    def on_end(self, trainer: Trainer) -> None:
        self.judge(trainer, trainer.steps, trainer.seconds)

    def judge(self, trainer: Any, steps: int, seconds: float) -> None:
        made = trainer.simulation.definition
        if trainer.device.type == "cuda":
            torch.cuda.synchronize()  # policies must not change during the evaluation
        with Simulation(made, 1, trainer.config.device, seed=0, autoreset="disabled") as worlds:
            evaluation = Evaluation(worlds, make_actors(trainer.learners, worlds))
            history = play_policies(evaluation, parameters_of(made), "learned, best judged")
        totals = history.totals()
        self.report["curve"].append({"steps": steps, "seconds": seconds, **totals})
        self.report["last"] = {"label": "learned, at the end", "steps": steps, "seconds": seconds, **totals}
        if self.best is None or totals["planner_welfare"] > self.best.totals()["planner_welfare"]:
            self.best = history
            self.report["learned"] = {"steps": steps, "seconds": seconds, **totals}
        self.report["learned"]["label"] = f"learned, best of {len(self.report['curve'])} judged"
        against = self.report["best"]["planner_welfare"]["planner_welfare"]
        console.print(
            f"{seconds:.0f} s, {steps:,} steps: planner {totals['planner_welfare']:.2f} (best constant {against:.2f}), "
            f"governors {totals['governor_welfare']:.2f}, deaths {totals['deaths']:,.0f}, "
            f"mean level {totals['level']:.2f}"
        )
        self.write()

    def write(self) -> None:
        """After each episode, so that a training that is cut off leaves what it has."""
        self.settings.out.mkdir(parents=True, exist_ok=True)
        (self.settings.out / "welfare.json").write_text(json.dumps(self.report, indent=1))
        (self.settings.out / "welfare.md").write_text(markdown(rows_of(self.report)))


def rows_of(report: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [report.get("last"), report.get("learned"), *report["constant"][:3], report["best"]["governor_welfare"]]
    found = {row["label"]: row for row in rows if row is not None}
    return list(found.values())


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| policy | planner's welfare | governors' welfare | deaths | unemployed % | bn $ a day | subsidies bn $ |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        money = f"{row['productivity'] / 1e9:.2f} | {row['subsidies'] / 1e9:,.0f}"
        welfare = f"{row['planner_welfare']:.2f} | {row['governor_welfare']:.2f}"
        lines.append(f"| {row['label']} | {welfare} | {row['deaths']:,.0f} | {row['unemployment']:.2f} | {money} |")
    return "\n".join(lines) + "\n"


def train(settings: Settings, judge: Judge) -> None:
    """Governors share a policy, and the planner has one of its own."""
    config = PPOConfig(
        num_envs=settings.num_envs,
        num_steps=settings.num_steps,
        total_steps=settings.total_steps,
        device=settings.device,
        seed=settings.seed,
        gamma=settings.gamma,
        lam=settings.lam,
        learning_rate=settings.learning_rate,
        schedule=settings.schedule,
        entropy_weight=settings.entropy_weight,
        epochs=settings.epochs,
        minibatches=settings.minibatches,
        normalize_rewards=True,
        policy=PolicyConfig(hidden=settings.hidden, normalize_observations=True),
    )
    policy_groups = {
        "Governor": PolicyGroup("Governor"),
        "Planner": PolicyGroup("Planner", replace(config, entropy_weight=settings.planner_entropy_weight)),
    }
    trainer = PPO(settings.env, config, policy_groups=policy_groups)
    trainer.learn(callbacks=[judge, StopAfter(settings.seconds)])


def main(settings: Settings) -> None:
    made = definition(settings.env)
    data = parameters_of(made)
    found = sweep_constant(made, data, settings.device)
    constant = [
        {"label": policy.label, "level": policy.level, "subsidy": policy.subsidy, **policy.totals} for policy in found
    ]
    report: dict[str, Any] = {
        "settings": {**vars(settings), "out": str(settings.out)},
        "constant": constant,
        "best": best(found),
        "curve": [],
    }
    console.print(policy_table(rows_of(report), f"{made.id}: the best of {len(found)} constant policies"))
    judge = Judge(settings, report)
    try:
        train(settings, judge)
    finally:
        if judge.best is not None:
            top = found[0]
            histories = [
                judge.best,
                play_constant(made, data, top.level, top.subsidy, settings.device),
                real_history(data),
            ]
            draw_country(histories, settings.out / "country.png", made.id)
            draw_states(histories, "stringency", settings.out / "stringency.png", made.id)
            console.print(policy_table(rows_of(report), made.id))
            console.print(f"wrote welfare.json, welfare.md, country.png and stringency.png into {settings.out}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
