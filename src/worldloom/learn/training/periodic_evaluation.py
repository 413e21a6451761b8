"""Evaluation during training: whole episodes of the current policies on separate worlds.

The worlds, their seeds and the random numbers of the actions are the evaluation's own, and nothing of the training is
written to. A training computes the same parameters, bit for bit, with and without evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Role
from worldloom.core.simulation import Simulation
from worldloom.core.state import snapshot
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.play.actors import TrainedPolicy, make_actors
from worldloom.learn.play.evaluation import evaluate, limit_steps, num_worlds_for


@dataclass(frozen=True)
class EvaluationScore:
    """The result of an evaluation during training.

    Attributes:
        iteration: The iteration after which the policies were evaluated.
        score: Mean return over the trained policies.
        metrics: ``eval/return`` and ``eval/length``, with several policies ``/<policy>`` is appended; and
            ``eval/<name>`` of every metric that the world declares.
    """

    iteration: int
    score: float
    metrics: dict[str, float] = field(default_factory=dict)


class _StoppedError(Exception):
    """The training is to stop, so the evaluation is not completed."""


class PeriodicEvaluation:
    """Evaluates policies on the same episodes again and again.

    Args:
        training: The worlds of the training. The evaluation's own have the same definition and configuration.
        policies: The policies in training, by name.
        trained: Names of the policies whose returns are the score.
        config: The ``eval_*`` settings.
    """

    def __init__(
        self, training: Simulation, policies: Mapping[str, TrainedPolicy], trained: set[str], config: TrainConfig
    ) -> None:
        self.policies, self.trained, self.config = policies, trained, config
        worlds = min(config.eval_worlds or num_worlds_for(config.eval_episodes), config.eval_episodes)
        self.simulation = Simulation(
            training.definition, worlds, training.device.alias, seed=config.eval_seed, exact=training.exact
        )
        _copy_config(training, self.simulation)
        limit_steps(self.simulation, config.eval_max_steps)
        self.simulation.reset(seeds=config.eval_seed)
        self._start = snapshot.copy_columns(self.simulation)

    def run(self, iteration: int, is_stopping: Callable[[], bool]) -> EvaluationScore | None:
        """Play the episodes with the current policies; None where ``is_stopping`` returned True in between."""

        def check(finished: int) -> None:
            if is_stopping():
                raise _StoppedError

        config = self.config
        snapshot.restore(self.simulation, self._start)
        actors = make_actors(self.policies, self.simulation, stochastic=config.eval_stochastic, seed=config.eval_seed)
        try:
            result = evaluate(self.simulation, actors, config.eval_episodes, on_progress=check)
        except _StoppedError:
            return None
        metrics: dict[str, float] = {}
        for name, mean_return in result.returns.items():
            suffix = f"/{name}" if len(result.returns) > 1 else ""
            metrics |= {f"eval/return{suffix}": mean_return, f"eval/length{suffix}": result.mean_length}
        metrics |= {f"eval/{name}": value for name, value in result.metrics.items()}
        scores = [result.returns[name] for name in result.returns if name in self.trained]
        return EvaluationScore(iteration, sum(scores) / len(scores), metrics)

    def close(self) -> None:
        """Free the worlds."""
        self.simulation.close()


def _copy_config(source: Simulation, target: Simulation) -> None:
    """Configure ``target`` like ``source``. Values per world are repeated, or left out where there are fewer worlds."""
    for column in source.columns(Role.CONFIG).values():
        name = column.field.name
        values, own = column.numpy(), target.tables[WORLD][name].numpy()
        if len(values) > 1:
            target.set_config(name, values[np.arange(target.num_worlds) % len(values)])
        elif not np.array_equal(values, own):
            target.set_config(name, values[0])
