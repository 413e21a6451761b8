"""``worldloom replay``: replay one recorded episode of one world, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.table import Table

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_of
from worldloom.core.registry.registry import registered, unavailable
from worldloom.core.registry.world_files import find
from worldloom.core.simulation import Simulation
from worldloom.core.state.replay_log import KIND, VERSION, Episode, ReplayLog
from worldloom.terminal import console
from worldloom.terminal.flags import Json
from worldloom.terminal.progress_bar import ProgressBar

Log = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LOG")]
Name = Annotated[str | None, tyro.conf.arg(metavar="ENV")]
Number = Annotated[int | None, tyro.conf.arg(metavar="INT")]


@dataclass
class Replay:
    """Replay an episode of a recording, in a simulation of that world alone, and print its actions and rewards.

    Without --episode it lists the episodes of the world. If the replay differs from the recording, it exits with 2 and
    names the step.
    """

    log: Log
    """A file written by ReplayLog.save."""
    world: int = 0
    """The world's index in its batch."""
    episode: Number = None
    """The episode's number; the last one if several have it."""
    env: Name = None
    """The recorded world, if it is not registered: pond.py or pond.py:Pond-v0."""
    device: str = "python"
    """Device: with python, breakpoints in systems work."""
    verify: bool = True
    """Compare every step with the recording."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            log = self._load()
            if self.episode is None:
                episodes = log.episodes(self.world)
            else:
                replay = log.replay(self.world, self.episode, self.device, self.verify)
                steps: list[dict[str, Any]] = []
                with replay, ProgressBar(f"replaying {log.definition.id}", len(replay)) as bar:
                    for simulation in replay:
                        steps.append(_step_report(simulation, replay.episode.first_step + len(steps)))
                        bar.show(len(steps))
                    faults = [
                        str(fault) for fault in replay.simulation.errors() if fault.episode == replay.episode.number
                    ]
        if self.episode is None:
            self._list(log, episodes)
        else:
            self._show(log, replay.episode, steps, faults)
        return 0

    def _load(self) -> ReplayLog:
        if self.env is not None:
            return ReplayLog.load(self.log, find(self.env))
        try:
            return ReplayLog.load(self.log)
        except InputError:
            recorded = tensor_file.read(self.log, KIND, VERSION).facts.get("world")
            if recorded in registered() or recorded in unavailable() or family_of(str(recorded)) is not None:
                raise
            raise InputError(
                f"{self.log} was recorded in '{recorded}', which is not registered: name its file, as in --env pond.py"
            ) from None

    def _list(self, log: ReplayLog, episodes: list[Episode]) -> None:
        if self.json:
            console.print_json(
                {
                    "env": log.definition.id,
                    "steps": len(log),
                    "worlds": len(log.worlds),
                    "world": self.world,
                    "episodes": [_episode_report(episode) for episode in episodes],
                }
            )
            return
        table = Table("episode", "seed", "from step", "steps", "end")
        for episode in episodes:
            table.add_row(*map(str, (episode.number, episode.seed, episode.first_step, len(episode), _end(episode))))
        console.out().print(
            f"{log.definition.id}: {len(log):,} steps of {len(log.worlds):,} worlds, recorded on {log.device}; "
            f"world {self.world}:"
        )
        console.out().print(table)

    def _show(self, log: ReplayLog, episode: Episode, steps: list[dict[str, Any]], faults: list[str]) -> None:
        if self.json:
            console.print_json(
                {
                    "env": log.definition.id,
                    "device": self.device,
                    **_episode_report(episode),
                    "played": steps,
                    "faults": faults,
                }
            )
            return
        names = [*log.definition.actions(), *log.definition.rewards()]
        table = Table("step", *names)
        for step in steps:
            values = {**step["actions"], **step["rewards"]}
            table.add_row(str(step["step"]), *[_text(values[name]) for name in names])
        console.out().print(table)
        for fault in faults:
            console.out().print(fault, markup=False, soft_wrap=True)
        subject = f"{log.definition.id}, world {episode.world}, episode {episode.number}"
        console.out().print(
            f"{subject}: {len(steps):,} steps on {self.device}, {_end(episode)}", markup=False, soft_wrap=True
        )


def _step_report(simulation: Simulation, step: int) -> dict[str, Any]:
    """The actions and rewards of the step that the simulation has just taken."""

    def values(named: dict[str, Any]) -> dict[str, Any]:
        return {
            name: simulation.tables[table][field.name].numpy()[0].tolist() for name, (table, field) in named.items()
        }

    return {
        "step": step,
        "actions": values(simulation.definition.actions()),
        "rewards": values(simulation.definition.rewards()),
    }


def _text(value: Any) -> str:
    """The values of one world, without the brackets of a single entity."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list):
        return f"[{', '.join(_text(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _episode_report(episode: Episode) -> dict[str, Any]:
    return {
        "world": episode.world,
        "episode": episode.number,
        "seed": episode.seed,
        "first_step": episode.first_step,
        "steps": len(episode),
        "terminated": episode.terminated,
        "truncated": episode.truncated,
    }


def _end(episode: Episode) -> str:
    flags = {"terminated": episode.terminated, "truncated": episode.truncated}
    return " and ".join(name for name, value in flags.items() if value) or "unfinished"
