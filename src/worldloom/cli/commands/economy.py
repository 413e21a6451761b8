"""``worldloom economy``: the command of the COVID-19 economy, with the episodes of trained policies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from worldloom.core.registry.definition import Definition
from worldloom.envs.covid import economy_command
from worldloom.terminal.progress_bar import ProgressBar

if TYPE_CHECKING:
    from worldloom.envs.covid.history import EpisodeHistory


@dataclass
class Economy(economy_command.Economy):
    __doc__ = economy_command.Economy.__doc__

    def run_definition(self, folder: Path) -> Definition:
        from worldloom.learn.runs.saved_run import open_run

        return open_run(folder, self.checkpoint, allow_changed_world=self.allow_changed_world).definition

    def play_run(self, folder: Path) -> EpisodeHistory:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.recording import play_policies
        from worldloom.learn.play.evaluation import Evaluation
        from worldloom.learn.runs.saved_run import open_run

        is_file = self.env.endswith(".py") or ".py:" in self.env
        env, allow = self.env if is_file else "", self.allow_changed_world
        run = open_run(folder, self.checkpoint, env, allow_changed_world=allow)
        definition = run.definition
        with (
            run.worlds(1, self.device, self.seed, reset=False) as worlds,
            ProgressBar(f"playing {definition.id}", definition.max_steps) as bar,
        ):
            actors = run.actors(worlds, stochastic=self.stochastic, seed=self.seed)
            label = f"learned ({run.folder.name})"
            return play_policies(Evaluation(worlds, actors), parameters_of(definition), label, bar.show)
