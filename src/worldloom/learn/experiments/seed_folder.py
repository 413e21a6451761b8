"""The folder of a training with several seeds.

- ``seeds.json``: the request that all seeds share, the seeds, and the result of each that has ended.
- ``seed_<seed>/``: the run of a seed, as ``worldloom train --seed`` writes it.
- ``seed_<seed>.log``: what its process printed, where seeds are trained side by side.
- ``curve.png``: the mean over the seeds with its interval, which the command line draws.

The folder may come from an untrusted source: ``seeds.json`` is checked value by value, and links are not followed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_file
from worldloom.core.registry.world_files import find
from worldloom.learn.config.json_files import as_float, is_count, is_seed, short_repr
from worldloom.learn.experiments.experiment_file import continued_world, make_folder, read_experiment
from worldloom.learn.experiments.seed_list import format_seeds
from worldloom.learn.runs.run_folder import SEEDS, default_folder, holds_run
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict, request_to_dict
from worldloom.learn.runs.training_run import TrainingResult
from worldloom.learn.training.world_identity import KEY, identity_of

FORMAT = 1
"""Version of the layout of ``seeds.json``."""


@dataclass(frozen=True)
class SeedResult:
    """The result of one seed.

    Attributes:
        seed: The seed.
        steps: Environment steps, over all resumed parts.
        seconds: Training time, over all resumed parts.
        steps_per_second: Environment steps per second of wall time, of the last part.
        mean_return: Mean return of the last episodes; None where none ended.
        eval_return: Return of the last evaluation; None where there was none.
        finished: Whether the training reached its end, and was not interrupted.
        reached: The ``stop_at`` at which it ended; None where it took all its steps.
        error: Why it failed; empty where it did not.
    """

    seed: int
    steps: int = 0
    seconds: float = 0.0
    steps_per_second: float = 0.0
    mean_return: float | None = None
    eval_return: float | None = None
    finished: bool = False
    reached: float | None = None
    error: str = ""


def seed_result(request: TrainingRequest, result: TrainingResult, finished: bool) -> SeedResult:
    """The result of the training ``request`` of one seed, which ``finished`` unless it was interrupted."""
    return SeedResult(
        request.config.seed,
        result.steps,
        result.seconds,
        result.steps_per_second,
        result.mean_return if math.isfinite(result.mean_return) else None,
        result.eval_return if math.isfinite(result.eval_return) else None,
        finished,
        request.stop_at if finished and not result.complete else None,
    )


class SeedFolder:
    """The folder of a training with several seeds, new or resumed.

    Args:
        path: The folder.
        request: What to train; its seed and its folder are replaced by those of each seed.
        seeds: The seeds.
        results: The results of seeds that were trained before.

    Attributes:
        path, request, seeds: As given.
        results: The result of every seed that has one, by seed.
        world: The identity of the world that they are trained in, for the file; None where that does not say.
    """

    def __init__(
        self, path: Path, request: TrainingRequest, seeds: Sequence[int], results: Sequence[SeedResult] = ()
    ) -> None:
        self.path, self.request, self.seeds = path, request, tuple(seeds)
        self.world: dict[str, Any] | None = None
        self.results = {result.seed: result for result in results}

    def run_path(self, seed: int) -> Path:
        """The folder of a seed's run."""
        return self.path / f"seed_{seed}"

    def request_of(self, seed: int) -> TrainingRequest:
        """The training of one seed; it continues the run that its folder may hold."""
        config = replace(self.request.config, seed=seed)
        run_dir, expected = self.run_path(seed), self.world
        return replace(self.request, config=config, run_dir=run_dir, resume="auto", expected_world=expected)

    def pending(self) -> list[int]:
        """The seeds whose training has not reached its end."""
        return [seed for seed in self.seeds if not self._is_finished(seed)]

    def _is_finished(self, seed: int) -> bool:
        result = self.results.get(seed)
        if result is None or not result.finished or result.error:
            return False
        by_score = result.reached is not None and result.reached == self.request.stop_at
        return by_score or result.steps >= self.request.config.total_steps

    def record(self, result: SeedResult) -> None:
        """Store the result of a seed."""
        self.results[result.seed] = result
        self.write()

    def write(self) -> None:
        """Write ``seeds.json``."""
        content = {
            "format": FORMAT,
            "seeds": list(self.seeds),
            "request": request_to_dict(self.request),
            KEY: self.world,
            "results": [asdict(self.results[seed]) for seed in self.seeds if seed in self.results],
        }
        write_file(self.path / SEEDS, json.dumps(content, indent=2) + "\n")


def holds_seeds(path: Path) -> bool:
    """Whether ``path`` is the folder of a training with several seeds."""
    return (Path(path).expanduser() / SEEDS).is_file()


@contextmanager
def open_seed_folder(request: TrainingRequest, seeds: Sequence[int]) -> Iterator[SeedFolder]:
    """Create the folder of ``request``, or open the one to resume; ``seeds`` may be more than it had.

    It is kept from other processes until the exit. Raises InputError where there is no folder to resume, or one that
    must not be.
    """
    path = None if request.run_dir is None else request.run_dir.expanduser()
    exists = path is not None and holds_seeds(path)
    if request.resume == "yes" and not exists:
        raise InputError(f"there are no seeds to resume: {path or '--run-dir is missing, and it'} holds none")
    if path is not None and holds_run(path):
        raise InputError(f"{path} holds the run of a single seed: omit --seeds, or use another --run-dir")
    path = path or default_folder(find(request.env).id, request.algorithm, None)
    with make_folder(path, request.env):
        results: list[SeedResult] = []
        world = identity_of(find(request.env)).as_dict()
        if holds_seeds(path):  # now that no other process may write it
            if request.resume == "no":
                raise InputError(f"{path} already holds runs: give --resume to continue them, or another --run-dir")
            saved = read_seed_folder(path)
            if missing := [seed for seed in saved.seeds if seed not in seeds]:
                raise InputError(
                    f"{path} has seed {missing[0]}: omit --seeds, or name {format_seeds(saved.seeds)} and more"
                )
            results = list(saved.results.values())
            world = continued_world(request, saved.world, path / SEEDS)
        folder = SeedFolder(path, request, seeds, results)
        folder.world = world
        folder.write()
        yield folder


def read_seed_folder(path: Path) -> SeedFolder:
    """The training with several seeds in ``path``; InputError, which names the file, where it is not one."""
    folder = Path(path).expanduser()
    file = folder / SEEDS
    values = read_experiment(file, FORMAT, "a training with several seeds")
    seeds, request, results = (values.get(name) for name in ("seeds", "request", "results"))
    if not isinstance(seeds, list) or not seeds or not all(map(is_seed, seeds)) or len(set(seeds)) < len(seeds):
        raise InputError(f"'seeds' in {file} must be a list of different seeds, not {short_repr(seeds)}")
    if not isinstance(request, dict):
        raise InputError(f"'request' in {file} must be an object with settings, not {short_repr(request)}")
    if not isinstance(results, list):
        raise InputError(f"'results' in {file} must be a list of results, not {short_repr(results)}")
    checked = [_checked_result(values, seeds, file) for values in results]
    saved = SeedFolder(folder, request_from_dict(request, folder, file=file), seeds, checked)
    saved.world = values.get(KEY)
    return saved


def _checked_result(values: Any, seeds: Sequence[int], file: Path) -> SeedResult:
    """The result of a seed; InputError where ``values`` are not one."""
    try:
        result = SeedResult(**values)
        as_float(result.seconds), as_float(result.steps_per_second)
        optional = (result.mean_return, result.eval_return, result.reached)
        returns = [as_float(value) for value in optional if value is not None]
        if (
            result.seed not in seeds
            or not is_count(result.steps)
            or not all(map(math.isfinite, returns))
            or type(result.finished) is not bool
            or not isinstance(result.error, str)
        ):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"'results' in {file} holds {short_repr(values)}, which is not the result of a seed") from None
    return result
