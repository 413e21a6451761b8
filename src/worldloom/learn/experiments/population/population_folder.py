"""The folder of a population.

- ``population.json``: the request that all members share, how they change, and the result of every generation.
- ``member_00/``: the run of a member, with a checkpoint for each of the last generations.
- ``member_00.log``: what its processes printed, where members are trained side by side.
- ``history.csv`` and ``population.svg``: the table and the figure, which the command line writes.

The folder may come from an untrusted source: ``population.json`` is checked, and links are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.learn.config.json_files import as_float, is_count, short_repr
from worldloom.learn.experiments.experiment_file import read_experiment
from worldloom.learn.experiments.population.changeable import as_floats, check_changeable
from worldloom.learn.experiments.population.evolution import Evolution, Initial, Start, first_starts, next_starts
from worldloom.learn.experiments.population.member_result import MemberResult, checked_member
from worldloom.learn.experiments.search.apply_settings import setting_of, with_settings
from worldloom.learn.experiments.search.search_space import parse_space
from worldloom.learn.runs.request_message import request_to_message
from worldloom.learn.runs.run_folder import POPULATION
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict, request_to_dict
from worldloom.learn.training.world_identity import KEY

FORMAT = 1
"""Version of the layout of ``population.json``."""
MAX_MEMBERS = 1000
"""Maximum size of a population."""


@dataclass(frozen=True)
class PopulationPlan:
    """How a population is trained.

    Attributes:
        search: The searched settings as text, see :func:`~worldloom.learn.experiments.search.search_space.parse_space`.
        population: The number of members.
        generation_steps: Environment steps of a generation, of each member.
        quantile, resample, perturb: See :class:`Evolution`.
        initial: Whether members start with random settings, or all with the given ones.
    """

    search: tuple[str, ...]
    population: int = 8
    generation_steps: int = 100_000
    quantile: float = 0.25
    resample: float = 0.25
    perturb: float = 1.25
    initial: Initial = "random"

    def __post_init__(self) -> None:
        if not 2 <= self.population <= MAX_MEMBERS:
            raise InputError(f"--population must be 2 to {MAX_MEMBERS:,} members, not {self.population}")
        if self.generation_steps < 1:
            raise InputError(f"--generation-steps must be 1 or more, not {self.generation_steps}")
        self.evolution()

    def evolution(self) -> Evolution:
        """How members change."""
        return Evolution(self.quantile, self.resample, self.perturb)


class PopulationFolder:
    """The folder of a population, new or resumed.

    Args:
        path: The folder.
        request: What to train; searched settings, seed and folder are replaced by those of each member.
        plan: How the population is trained.
        results: Results of generations that ended before.

    Attributes:
        path, request, plan: As given.
        space: The searched settings.
        results: Results by generation and member.
        world: The identity of the world that it is trained in, for its file; None where that does not say.
    """

    def __init__(
        self, path: Path, request: TrainingRequest, plan: PopulationPlan, results: Sequence[MemberResult] = ()
    ) -> None:
        self.path, self.request, self.plan = path, request, plan
        self.world: dict[str, Any] | None = None
        self.space = as_floats(parse_space(plan.search, request), request)
        check_changeable(self.space, request)
        replace(request.config, seed=request.config.seed + plan.population - 1)  # InputError where it is too large
        self.results = {(result.generation, result.member): result for result in results}
        if plan.initial == "given":
            self._check_given()

    def _check_given(self) -> None:
        for dimension in self.space:
            value = setting_of(self.request, dimension.name)
            if not dimension.contains(value):
                raise InputError(
                    f"--initial given: {dimension.name} is {short_repr(value)}, which --search does not contain; "
                    "extend the range, or use --initial random"
                )

    @property
    def generations(self) -> int:
        """The number of generations."""
        return -(-self.request.config.total_steps // self.plan.generation_steps)

    def member_path(self, member: int) -> Path:
        """The folder of a member."""
        return self.path / f"member_{member:02d}"

    def first_run(self) -> Path:
        """The folder of the first member."""
        return self.member_path(0)

    def generation(self, number: int) -> list[MemberResult] | None:
        """The results of a generation, by member; None where one is missing."""
        keys = [(number, member) for member in range(self.plan.population)]
        return [self.results[key] for key in keys] if all(key in self.results for key in keys) else None

    def finished_generations(self) -> int:
        """How many generations have ended, from the first."""
        count = 0
        while count < self.generations and self.generation(count) is not None:
            count += 1
        return count

    def is_over(self) -> bool:
        """Whether nothing is left to train: all generations have ended, or one reached the request's ``stop_at``."""
        best, stop_at = self.best, self.request.stop_at
        reached = best is not None and stop_at is not None and (best.score or 0.0) >= stop_at
        return reached or self.finished_generations() == self.generations

    def starts(self, generation: int) -> list[Start]:
        """How each member starts a generation whose predecessors have ended."""
        seed = self.request.config.seed
        if generation == 0:
            given = {dimension.name: setting_of(self.request, dimension.name) for dimension in self.space}
            return first_starts(self.space, self.plan.population, seed, given if self.plan.initial == "given" else None)
        results = self.generation(generation - 1)
        assert results is not None
        return next_starts(self.space, self.plan.evolution(), seed, results)

    def start_steps(self, generation: int, start: Start) -> int:
        """Environment steps at which a member starts a generation."""
        previous = self.results.get((generation - 1, start.source))
        return 0 if previous is None else previous.steps

    def message(self, generation: int, member: int, start: Start) -> dict[str, Any]:
        """The training of a member, see :func:`~worldloom.learn.experiments.population.member_job.train_member`."""
        request = with_settings(self.request, start.settings)
        config = replace(request.config, seed=self.request.config.seed + member)
        request = replace(request, config=config, expected_world=self.world)
        return {
            **request_to_message(request, self.member_path(member).absolute()),
            "search": [dimension.name for dimension in self.space],
            "source": "" if start.source == member else str(self.member_path(start.source).absolute()),
            "start": self.start_steps(generation, start),
            "end": min((generation + 1) * self.plan.generation_steps, self.request.config.total_steps),
        }

    @property
    def best(self) -> MemberResult | None:
        """The best member of the last generation that has ended; None where none has a score."""
        count = self.finished_generations()
        results = (self.generation(count - 1) or []) if count else []
        scored = [result for result in results if result.score is not None]
        return max(scored, key=lambda result: (result.score or 0.0, -result.member)) if scored else None

    def record(self, result: MemberResult) -> None:
        """Store the result of a member."""
        self.results[result.generation, result.member] = result
        self.write()

    def write(self) -> None:
        """Write ``population.json``."""
        content = {
            "format": FORMAT,
            **asdict(self.plan),
            "request": request_to_dict(self.request),
            KEY: self.world,
            "results": [self.results[key].as_dict() for key in sorted(self.results)],
        }
        write_file(self.path / POPULATION, json.dumps(content, indent=2) + "\n")


def holds_population(path: Path) -> bool:
    """Whether ``path`` is the folder of a population."""
    return (Path(path).expanduser() / POPULATION).is_file()


def read_population_folder(path: Path) -> PopulationFolder:
    """The population in ``path``; InputError, which names the file, where it is not one."""
    folder = Path(path).expanduser()
    file = folder / POPULATION
    values = read_experiment(file, FORMAT, "a population")
    request, results = values.get("request"), values.get("results")
    if not isinstance(request, dict):
        raise InputError(f"'request' in {file} must be an object with settings, not {short_repr(request)}")
    if not isinstance(results, list):
        raise InputError(f"'results' in {file} must be a list of results, not {short_repr(results)}")
    plan = _checked_plan(values, file)
    population = PopulationFolder(folder, request_from_dict(request, folder, file=file), plan)
    population.world = values.get(KEY)
    for entry in results:
        try:
            result = checked_member(entry, population.space, plan.population)
            if result.generation >= population.generations:
                raise ValueError("there is no such generation")
        except ValueError:
            raise InputError(
                f"'results' in {file} holds {short_repr(entry)}, which is not that of a member: "
                "restore the file from a copy"
            ) from None
        population.results[result.generation, result.member] = result
    return population


def _checked_plan(values: Mapping[str, Any], file: Path) -> PopulationPlan:
    """The plan of ``population.json``; InputError where a value is missing or impossible."""
    own = {field.name: values.get(field.name) for field in fields(PopulationPlan)}
    checks = {
        "search": isinstance(own["search"], list) and all(isinstance(text, str) for text in own["search"]),
        "population": is_count(own["population"]),
        "generation_steps": is_count(own["generation_steps"]),
        **{name: type(own[name]) in (int, float) for name in ("quantile", "resample", "perturb")},
        "initial": own["initial"] in get_args(Initial),
    }
    for name, is_valid in checks.items():
        if not is_valid:
            raise InputError(f"'{name}' in {file} cannot be {short_repr(own[name])}: restore the file from a copy")
    try:
        own["search"] = tuple(own["search"] or ())
        own |= {name: as_float(own[name]) for name in ("quantile", "resample", "perturb")}
        return PopulationPlan(**own)  # type: ignore[arg-type]
    except (InputError, ValueError) as error:
        raise InputError(f"{file} cannot be used: {error}") from None
