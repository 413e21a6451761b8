"""The loop of population-based training: train all members for a generation, then exploit and explore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from worldloom.core.base.errors import InputError, StorageError
from worldloom.core.registry.world_files import find
from worldloom.learn.experiments.experiment_file import continued_world, make_folder, require_same
from worldloom.learn.experiments.jobs.executor import DIED, Executor, InTurn
from worldloom.learn.experiments.population.evolution import Start
from worldloom.learn.experiments.population.member_job import INTERRUPTED, UNUSABLE, Member, train_member
from worldloom.learn.experiments.population.member_result import MemberResult
from worldloom.learn.experiments.population.population_folder import (
    PopulationFolder,
    PopulationPlan,
    holds_population,
    read_population_folder,
)
from worldloom.learn.runs.run_folder import POPULATION, default_folder
from worldloom.learn.runs.training_request import TrainingRequest, request_to_dict
from worldloom.learn.training.world_identity import identity_of


def run_population(
    folder: PopulationFolder,
    executor: Executor,
    on_generation: Callable[[int], None] | None = None,
    on_member: Callable[[MemberResult], None] | None = None,
) -> None:
    """Train every generation of ``folder`` that has not ended, and record the results.

    Args:
        folder: The folder.
        executor: Trains the members. It starts no more of them once it is stopped.
        on_generation: Called with the number of every generation that has ended.
        on_member: Called with the result of every member.
    """

    def finish(member: int, answer: Mapping[str, Any]) -> None:
        result = _result(generation, member, starts[member], answer)
        folder.record(result)
        if on_member is not None:
            on_member(result)

    while not folder.is_over():
        generation = folder.finished_generations()
        starts = folder.starts(generation)
        waiting = [m for m in range(folder.plan.population) if (generation, m) not in folder.results]
        while waiting or executor.is_busy():
            while waiting and executor.is_free():
                member = waiting.pop(0)
                try:
                    message = folder.message(generation, member, starts[member])
                except InputError as error:  # single settings are valid, and these do not go together
                    steps = folder.start_steps(generation, starts[member])
                    finish(member, {"score": None, "steps": steps, "seconds": 0.0, "error": str(error)})
                else:
                    executor.start(member, message)
            answers = executor.wait()
            if not answers and not executor.is_busy() and waiting:  # stopped
                return
            for member, answer in answers:
                if INTERRUPTED not in answer:
                    finish(member, answer)
        if folder.generation(generation) is None:  # stopped
            return
        if on_generation is not None:
            on_generation(generation)


def train_population(
    request: TrainingRequest, plan: PopulationPlan, on_generation: Callable[[int], None] | None = None
) -> PopulationFolder:
    """Train a population in this process, or continue the one in ``request.run_dir``.

    ``worldloom pbt`` also trains members side by side, and draws a figure.

    Args:
        request: What to train; the total steps are those of each member.
        plan: How. To continue a population it must be the same.
        on_generation: Called with the number of every generation that has ended.

    Returns:
        The folder with the results.
    """
    path = request.run_dir or default_folder(find(request.env).id, request.algorithm, "pbt")
    folder = PopulationFolder(path.expanduser(), request, plan)
    members: dict[str, Member] = {}
    with make_folder(folder.path, request.env):
        if holds_population(folder.path):
            saved = read_population_folder(folder.path)
            require_same(vars(plan), vars(saved.plan), folder.path / POPULATION)
            require_same(request_to_dict(request), request_to_dict(saved.request), folder.path / POPULATION)
            folder.results = saved.results
            folder.world = continued_world(request, saved.world, folder.path / POPULATION)
        else:
            folder.world = identity_of(find(request.env)).as_dict()
        folder.write()
        try:
            in_turn = InTurn(lambda message, callbacks: train_member(message, callbacks, members))
            run_population(folder, in_turn, on_generation)
        finally:
            for member in members.values():
                member.close()
    return folder


def _result(generation: int, member: int, start: Start, answer: Mapping[str, Any]) -> MemberResult:
    if DIED in answer:
        raise InputError(f"member {member}: {answer[DIED]}: continue with --resume")
    if UNUSABLE in answer:  # it says nothing about the settings: no result
        raise StorageError(f"member {member}: {answer[UNUSABLE]}")
    return MemberResult(generation, member, start.source, dict(start.settings), **answer)
