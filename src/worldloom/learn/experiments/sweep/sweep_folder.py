"""The folder of a sweep.

- ``sweep.json``: the request that all trials share, what is searched and how, and the result of each trial that ended.
- ``trial_0000/``: the run of a trial; with several seeds, ``trial_0000/seed_<seed>/``.
- ``trial_0000.log``: what its process printed, where trials are trained side by side.
- ``trials.csv`` and ``parallel_coordinates.svg``: the table and the figure, which the command line writes.

The folder may come from an untrusted source: ``sweep.json`` is checked value by value, and links are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.learn.config.json_files import as_float, is_count, is_seed, short_repr
from worldloom.learn.experiments.experiment_file import read_experiment
from worldloom.learn.experiments.search.apply_settings import with_settings
from worldloom.learn.experiments.search.search_space import parse_space
from worldloom.learn.experiments.sweep.objective import Objective, ObjectiveName
from worldloom.learn.experiments.sweep.proposals import PrunerName, SamplerName, propose
from worldloom.learn.experiments.sweep.trial_result import TrialResult, checked_result
from worldloom.learn.runs.request_message import request_to_message
from worldloom.learn.runs.run_folder import SWEEP
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict, request_to_dict
from worldloom.learn.training.world_identity import KEY

FORMAT = 1
"""Version of the layout of ``sweep.json``."""
MAX_TRIALS = 100_000
"""Maximum number of trials of a sweep."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep searches, and how.

    Attributes:
        search: The searched settings as text, see :func:`~worldloom.learn.experiments.search.search_space.parse_space`.
        trials: The number of trials.
        seeds: Seeds of the trainings of every trial; the first is also that of the sampler.
        sampler, pruner: Their names.
        objective, target: See :class:`Objective`.
        parallel: Trials side by side. The proposal of trial n uses the results of the trials 0 to n - ``parallel``.
    """

    search: tuple[str, ...]
    trials: int = 20
    seeds: tuple[int, ...] = (0,)
    sampler: SamplerName = "tpe"
    pruner: PrunerName = "median"
    objective: ObjectiveName = "final"
    target: float | None = None
    parallel: int = 1

    def __post_init__(self) -> None:
        for name in ("trials", "parallel"):
            if not 1 <= getattr(self, name) <= MAX_TRIALS:
                raise InputError(f"{name} must be 1 to {MAX_TRIALS:,}, not {getattr(self, name)}")
        if not self.seeds:
            raise InputError("a sweep needs a seed")
        Objective(self.objective, self.target)


class SweepFolder:
    """The folder of a sweep, new or resumed.

    Args:
        path: The folder.
        request: What to train; searched settings, seed and folder are replaced by those of each trial.
        plan: What is searched.
        results: Results of trials that ended before.

    Attributes:
        path, request, plan: As given.
        space: The searched settings.
        objective: What is optimized.
        results: The result of every trial that has ended, by number.
        world: The identity of the world that it is trained in, for its file; None where that does not say.
    """

    def __init__(
        self, path: Path, request: TrainingRequest, plan: SweepPlan, results: Sequence[TrialResult] = ()
    ) -> None:
        self.path, self.request, self.plan = path, request, plan
        self.world: dict[str, Any] | None = None
        self.space = parse_space(plan.search, request)
        self.objective = Objective(plan.objective, plan.target)
        self.results = {result.number: result for result in results}

    def trial_path(self, number: int) -> Path:
        """The folder of a trial."""
        return self.path / f"trial_{number:04d}"

    def run_paths(self, number: int) -> list[Path]:
        """The folder of the run of each seed of a trial."""
        path, seeds = self.trial_path(number), self.plan.seeds
        return [path] if len(seeds) == 1 else [path / f"seed_{seed}" for seed in seeds]

    def first_run(self) -> Path:
        """The folder of the first run of the first trial."""
        return self.run_paths(0)[0]

    def known_results(self, number: int) -> list[TrialResult] | None:
        """The results that trial ``number`` depends on; None where one is missing."""
        earlier = range(number - self.plan.parallel + 1)
        return [self.results[n] for n in earlier] if all(n in self.results for n in earlier) else None

    def propose(self, number: int) -> dict[str, Any]:
        """The settings of a trial whose :meth:`known_results` are complete."""
        results = self.known_results(number)
        assert results is not None
        return propose(self.space, self.plan.sampler, self.plan.seeds[0], number, results, self.objective)

    def message(self, number: int, settings: Mapping[str, Any], tracking: Mapping[str, Any]) -> dict[str, Any]:
        """The training of a trial, see :func:`~worldloom.learn.experiments.sweep.trial_job.train_trial`."""
        request = replace(with_settings(self.request, settings), expected_world=self.world)
        runs = [
            request_to_message(replace(request, config=replace(request.config, seed=seed)), p.absolute())
            for seed, p in zip(self.plan.seeds, self.run_paths(number), strict=True)
        ]
        earlier = None
        if self.plan.pruner == "median":
            known = self.known_results(number) or []
            earlier = [r.as_dict()["reports"] for r in known if r.state == "complete"]
        return {
            "runs": runs,
            "objective": self.plan.objective,
            "target": self.plan.target,
            "earlier": earlier,
            "tracking": dict(tracking),
        }

    def pending(self) -> list[int]:
        """The numbers of the trials that have not ended."""
        return [number for number in range(self.plan.trials) if number not in self.results]

    def is_over(self) -> bool:
        """Whether all trials have ended."""
        return not self.pending()

    def ranked(self) -> list[TrialResult]:
        """The results, the best first: complete ones, then pruned ones, then those without a value."""
        order = {"complete": 0, "pruned": 1, "failed": 2}
        sign = 1.0 if self.objective.until_target else -1.0

        def key(result: TrialResult) -> tuple[bool, int, float, int]:
            value = result.value
            return (value is None, order[result.state], 0.0 if value is None else sign * value, result.number)

        return sorted(self.results.values(), key=key)

    @property
    def best(self) -> TrialResult | None:
        """The best complete trial; None where none has a value."""
        first = next(iter(self.ranked()), None)
        return first if first is not None and first.value is not None and first.state == "complete" else None

    def record(self, result: TrialResult) -> None:
        """Store the result of a trial."""
        self.results[result.number] = result
        self.write()

    def write(self) -> None:
        """Write ``sweep.json``."""
        content = {
            "format": FORMAT,
            **asdict(self.plan),
            "request": request_to_dict(self.request),
            KEY: self.world,
            "results": [self.results[number].as_dict() for number in sorted(self.results)],
        }
        write_file(self.path / SWEEP, json.dumps(content, indent=2) + "\n")


def holds_sweep(path: Path) -> bool:
    """Whether ``path`` is the folder of a sweep."""
    return (Path(path).expanduser() / SWEEP).is_file()


def read_sweep_folder(path: Path) -> SweepFolder:
    """The sweep in ``path``; InputError, which names the file, where it is not one."""
    folder = Path(path).expanduser()
    file = folder / SWEEP
    values = read_experiment(file, FORMAT, "a sweep")
    request, results = values.get("request"), values.get("results")
    if not isinstance(request, dict):
        raise InputError(f"'request' in {file} must be an object with settings, not {short_repr(request)}")
    if not isinstance(results, list):
        raise InputError(f"'results' in {file} must be a list of results, not {short_repr(results)}")
    sweep = SweepFolder(folder, request_from_dict(request, folder, file=file), _checked_plan(values, file))
    sweep.world = values.get(KEY)
    for entry in results:
        try:
            result = checked_result(entry, sweep.space)
            if result.number >= sweep.plan.trials:
                raise ValueError("there is no such trial")
        except ValueError:
            raise InputError(
                f"'results' in {file} holds {short_repr(entry)}, which is not that of a trial: "
                "restore the file from a copy"
            ) from None
        sweep.results[result.number] = result
    return sweep


def _checked_plan(values: Mapping[str, Any], file: Path) -> SweepPlan:
    """The plan of ``sweep.json``; InputError where a value is missing or impossible."""
    own = {field.name: values.get(field.name) for field in fields(SweepPlan)}
    target = own["target"]
    checks = {
        "search": isinstance(own["search"], list) and all(isinstance(text, str) for text in own["search"]),
        "trials": is_count(own["trials"]),
        "seeds": isinstance(own["seeds"], list) and all(map(is_seed, own["seeds"])),
        "sampler": own["sampler"] in get_args(SamplerName),
        "pruner": own["pruner"] in get_args(PrunerName),
        "objective": own["objective"] in get_args(ObjectiveName),
        "parallel": is_count(own["parallel"]),
        "target": target is None or type(target) in (int, float),
    }
    for name, is_valid in checks.items():
        if not is_valid:
            raise InputError(f"'{name}' in {file} cannot be {short_repr(own[name])}: restore the file from a copy")
    try:
        own |= {name: tuple(own[name] or ()) for name in ("search", "seeds")}
        return SweepPlan(**{**own, "target": None if target is None else as_float(target)})  # type: ignore[arg-type]
    except (InputError, ValueError) as error:
        raise InputError(f"{file} cannot be used: {error}") from None
