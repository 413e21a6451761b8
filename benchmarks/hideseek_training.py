"""HideSeek learned by both teams: returns, world steps per second and the statistics that show the stages of play.

python benchmarks/hideseek_training.py --device cuda:0 --seconds 500 --run-dir runs/hideseek
python benchmarks/hideseek_training.py --device cuda:0 --seconds 500 --run-dir runs/hideseek --resume

Trains with the default settings of ``worldloom train``, changed by ``--set``, against a pool of past selves where
``--pool`` is positive. ``metrics.jsonl`` of the run folder holds the means of the last episodes of all worlds as
``episode/boxes_moved_before`` and so on: distances that boxes and ramps moved before and after the preparation, locks
of each team, the fraction of steps in which a hider was seen, and passages through doors. A resumed run continues
bit for bit.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from worldloom.core.simulation import Simulation
from worldloom.learn import (
    PPO,
    OpponentPool,
    PolicyGroup,
    PPOConfig,
    RunFolder,
    RunRecorder,
    StopAfter,
    config_to_dict,
)
from worldloom.learn.config.tuned_defaults import tuned_config

ID = "HideSeek-v0"
KINDS = ("Hider", "Seeker")


@dataclass
class Settings:
    """Train HideSeek, and record the stages of play."""

    run_dir: Path = Path("runs/hideseek")
    """The folder of the run."""
    resume: bool = False
    """Continue the run in the folder."""
    device: str = "auto"
    """cpu or cuda:0."""
    seconds: float = 500.0
    """Time of this part of the training."""
    seed: int = 0
    """Random seed."""
    pool: float = 0.1
    """Share of the worlds in which past selves act, for each team; 0 for the current policies alone."""
    set: tuple[str, ...] = ()
    """Settings of the training, as in num_envs=512 or policy.memory="lstm"."""
    config: tuple[str, ...] = ()
    """Configuration of the worlds, as in hiders=2."""


def assignments(texts: tuple[str, ...]) -> dict[str, Any]:
    """Values by name, of texts such as num_envs=512."""
    return {name: ast.literal_eval(text) for name, _, text in (change.partition("=") for change in texts)}


def training_config(settings: Settings) -> PPOConfig:
    """The default settings with those of the command line."""
    config = replace(tuned_config(ID, "ppo", PPOConfig, settings.device), device=settings.device, seed=settings.seed)
    assert isinstance(config, PPOConfig)
    for name, value in assignments(settings.set).items():
        if name.startswith("policy."):
            config = replace(config, policy=replace(config.policy, **{name.removeprefix("policy."): value}))
        else:
            config = replace(config, **{name: value})
    return config


def main(settings: Settings) -> None:
    config = training_config(settings)
    pool = OpponentPool(share=settings.pool) if settings.pool > 0.0 else None
    groups = {kind: PolicyGroup(kind, pool=pool) for kind in KINDS}
    with RunFolder(settings.run_dir, config_to_dict(config), resume=settings.resume) as folder:
        changes = assignments(settings.config)
        worlds = Simulation(ID, config.num_envs, settings.device, seed=config.seed, config=changes)
        trainer = PPO(worlds, config, policy_groups=groups)
        if folder.resumed_from is not None:
            saved = folder.checkpoints.load(folder.resumed_from)
            trainer.load_state(saved.tensors, saved.state)
        first = trainer.steps
        trainer.learn(callbacks=[RunRecorder(folder), StopAfter(settings.seconds)])
        done = trainer.steps - first
    rows = [json.loads(line) for line in (settings.run_dir / "metrics.jsonl").read_text().splitlines()]
    print(f"{done:,} world steps, {trainer.steps:,} in all; last metrics:")
    print(json.dumps(rows[-1], indent=2))


if __name__ == "__main__":
    main(tyro.cli(Settings))
