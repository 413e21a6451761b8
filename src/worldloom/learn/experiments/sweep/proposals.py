"""Optuna's samplers and pruner. A proposal depends only on the seed, its number and the results that it is given.

Each proposal has a study of its own in memory and a sampler with its own seed, so that a sweep that was killed
continues with the proposals that it would have made.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.search.dimension import Choices, Dimension
from worldloom.learn.experiments.sweep.objective import Objective, ReportTimes
from worldloom.learn.experiments.sweep.trial_result import TrialResult

SamplerName = Literal["tpe", "random"]
PrunerName = Literal["median", "none"]
STARTUP_TRIALS = 5
"""Complete trials before the first may be pruned."""
WARM_UP = 0.25
"""Fraction of a training before it may be pruned."""


def require_optuna() -> None:
    """InputError where Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise InputError("a sweep needs Optuna: pip install 'worldloom[sweep]' adds it")


def propose(
    space: Sequence[Dimension],
    sampler: SamplerName,
    seed: int,
    number: int,
    results: Sequence[TrialResult],
    objective: Objective,
) -> dict[str, Any]:
    """The settings of trial ``number``, by name.

    Args:
        space: The searched settings.
        sampler: ``random``, or ``tpe`` (tree-structured Parzen estimator), which is random in the first ten trials.
        seed: The seed of the sweep.
        number: The number of the trial.
        results: The results that are known, in the order of their numbers.
        objective: What is optimized.
    """
    optuna = _optuna()
    own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    kind = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler}[sampler]
    direction = "minimize" if objective.until_target else "maximize"
    study = optuna.create_study(direction=direction, sampler=kind(seed=own_seed))
    distributions = {dimension.name: _distribution(optuna, dimension) for dimension in space}
    for result in results:
        params = {d.name: d.values.index(v) if isinstance(d, Choices) else v for d, v in _pairs(space, result)}
        study.add_trial(_frozen(optuna, result, params, distributions, objective))
    chosen = study.ask(distributions).params
    return {d.name: d.values[chosen[d.name]] if isinstance(d, Choices) else chosen[d.name] for d in space}


def _pairs(space: Sequence[Dimension], result: TrialResult) -> list[tuple[Dimension, Any]]:
    return [(dimension, result.settings[dimension.name]) for dimension in space]


def _distribution(optuna: Any, dimension: Dimension) -> Any:
    if isinstance(dimension, Choices):
        return optuna.distributions.CategoricalDistribution(range(len(dimension.values)))
    if dimension.integer:
        step = max(1, int(dimension.step))
        return optuna.distributions.IntDistribution(int(dimension.low), int(dimension.high), dimension.log, step)
    return optuna.distributions.FloatDistribution(
        dimension.low, dimension.high, dimension.log, step=dimension.step or None
    )


def _frozen(optuna: Any, result: TrialResult, params: dict[str, Any], distributions: Any, objective: Objective) -> Any:
    """The result of a trial as Optuna has it. A target that was not reached took infinitely long."""
    states, value = optuna.trial.TrialState, result.value
    state = states.COMPLETE
    if objective.until_target:
        value = math.inf if value is None or result.state != "complete" else value
    elif result.state == "pruned":
        state = states.PRUNED
    if result.state == "failed" or (state == states.COMPLETE and value is None):
        state, value = states.FAIL, None
    return optuna.trial.create_trial(
        state=state,
        value=value,
        params=params,
        distributions=distributions,
        intermediate_values={} if objective.until_target else dict(result.reports),
    )


def median_rule(
    earlier: Sequence[Mapping[int, float]], times: ReportTimes, offset: int = 0
) -> Callable[[int, float], bool]:
    """Whether a training is behind the median of others, by Optuna's median pruner.

    Args:
        earlier: The reported returns of the complete trials by number of the report.
        times: When a training reports its return.
        offset: Added to the numbers of the reports, which keeps those of several seeds apart.
    """
    optuna = _optuna()
    warm_up = math.ceil(WARM_UP * times.count)
    study = optuna.create_study(
        direction="maximize", pruner=optuna.pruners.MedianPruner(STARTUP_TRIALS, n_warmup_steps=warm_up)
    )
    for reports in earlier:
        if reports:
            last = reports[max(reports)]
            study.add_trial(optuna.trial.create_trial(value=last, intermediate_values=dict(reports)))
    trial = study.ask()

    def is_behind(index: int, value: float) -> bool:
        trial.report(value, offset + index)
        return bool(trial.should_prune())

    return is_behind


def _optuna() -> Any:
    """Optuna, which prints only warnings from now on."""
    require_optuna()
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
