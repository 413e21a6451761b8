"""The training loop of all algorithms: iterate, report, stop; and the state of a training for checkpoints."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime import fault_summary
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.simulation import Simulation
from worldloom.core.state import snapshot
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.device.torch_settings import use_torch_settings, useful_threads
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.play.episode_metrics import LastEpisodes
from worldloom.learn.training.callbacks import Callback, as_callbacks
from worldloom.learn.training.divergence_check import DivergenceCheck
from worldloom.learn.training.episode_starts import UnfinishedEpisodes, episode_notice, stagger_episodes
from worldloom.learn.training.iteration_reports import IterationReport, IterationReports
from worldloom.learn.training.observation_check import ObservationCheck
from worldloom.learn.training.periodic_evaluation import EvaluationScore, PeriodicEvaluation
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.saved_state import checked_state, without_experience
from worldloom.learn.training.world_history import WorldHistory
from worldloom.learn.training.world_identity import KEY

Tensors = dict[str, torch.Tensor]
LEARNED = (
    *("policy", "optimizer", "target", "scale", "values", "extensions"),
    *("critics", "critic_optimizer", "temperature", "temperature_optimizer"),
)
"""Parts of the state of a policy that are learned, by the first word of their names."""
RECENT_EPISODES = 100
"""The mean return is over at least this many of the last episodes."""


class Trainer(ABC):
    """Trains policies in a batch of worlds.

    Args:
        env: A world's id or definition, of which ``config.num_envs`` worlds are made; or a vector environment or a
            simulation, which is used unchanged.
        config: The settings.
        ranks: This process among those that train together; None for a single process.
    """

    autoreset: Autoreset = "same_step"
    """The autoreset mode that this algorithm needs."""
    config_class: type[TrainConfig]
    """The config class of this algorithm."""
    metric_names: tuple[str, ...] = ()
    """The metrics that an update reports, in order."""
    observation_check: ObservationCheck | None = None
    """Records observations that are not finite; None for an algorithm without policies."""

    @property
    def notice(self) -> str:
        """Warnings about the settings for the user, one per line; empty where there are none."""
        if self.steps >= self.config.total_steps:
            return ""
        per_world = self.config.total_steps // self.config.num_envs
        return episode_notice(self.simulation, per_world, self.config.stagger, self.config.eval_every > 0)

    def __init__(self, env: Any, config: TrainConfig, ranks: Ranks | None = None) -> None:
        self.ranks = ranks or Ranks()
        self.simulation = self._make_simulation(env, config)
        self.config = replace(
            config, num_envs=self.simulation.num_worlds * self.ranks.size, device=self.simulation.device.alias
        )
        self.device = torch.device(str(self.simulation.terminated.torch().device))
        self.world_history = WorldHistory(self.simulation)
        """The world's rules, which checkpoints hold, and changes of them that were allowed."""
        self.iteration = 0
        """Iterations done."""
        self.steps = 0
        """Environment steps done, in all processes."""
        self.seconds = 0.0
        """Time spent in :meth:`learn`."""
        self.score = math.nan
        """Mean return of recent episodes, over all trained policies."""
        self.evaluation: EvaluationScore | None = None
        """The last evaluation during training."""
        self.in_iteration = False
        """Whether an iteration is under way, so that the state must not be saved."""
        self._stopping, self._saved_threads = False, 0
        self._until = config.total_steps
        self._recent: dict[str, deque[tuple[float, float, float]]] = {}
        self._finished: dict[str, float] = {}
        self._faults = self._earlier_faults = 0.0
        self._reports = IterationReports(self.device)
        self._last_episodes = LastEpisodes(self.simulation)
        if config.stagger:
            stagger_episodes(self.simulation, config.seed, self.config.num_envs)

    @classmethod
    def resolve_config(cls, config: TrainConfig | None) -> Any:
        """``config``, or the algorithm's defaults for None; InputError for the config of another algorithm."""
        if config is None:
            return cls.config_class()
        if not isinstance(config, cls.config_class):
            raise InputError(
                f"{cls.__name__} takes settings of the class {cls.config_class.__name__}, not {type(config).__name__}"
            )
        return config

    def _make_simulation(self, env: Any, config: TrainConfig) -> Simulation:
        source = getattr(env, "simulation", env)
        source = getattr(getattr(source, "unwrapped", source), "simulation", source)
        if isinstance(source, (str, Definition)):
            first, count = self.ranks.share(config.num_envs)
            world = definition(source) if isinstance(source, str) else source
            source = Simulation(
                world, count, config.device, seed=config.seed, autoreset=self.autoreset, world_offset=first
            )
        name = type(self).__name__
        if not isinstance(source, Simulation):
            raise InputError(
                f"{name} trains in a world's id or an environment of worldloom.make, not in {type(env).__name__}: "
                "train environments of other libraries with their own trainers"
            )
        if source.interpreted:
            raise InputError("training needs compiled worlds: make them with device='cpu' or a GPU, not 'python'")
        if source.autoreset != self.autoreset:
            raise InputError(f"{name} needs worlds made with autoreset='{self.autoreset}', not '{source.autoreset}'")
        return source

    # -- to be implemented by an algorithm -------------------------------------------------------------------------

    @abstractmethod
    def iterate(self) -> int:
        """One iteration: act and learn, without a device synchronization. Returns the steps that each world took."""

    @abstractmethod
    def summaries(self) -> Mapping[str, torch.Tensor]:
        """For each policy, float64 of shape (4 + metrics,).

        Count, return and length summed over finished episodes, learning rate, and ``metric_names``.
        """

    def is_trained(self, policy: str) -> bool:
        """Whether a policy is trained. Frozen policies do not count in the score."""
        return True

    @abstractmethod
    def tensors(self) -> Tensors:
        """The state that the next iteration depends on, except the worlds."""

    @abstractmethod
    def load_tensors(self, tensors: Tensors) -> None:
        """Restore what :meth:`tensors` returned, from any device."""

    def unfinished_episodes(self) -> UnfinishedEpisodes:
        """The episodes that are under way, of the agents of this process. Synchronizes with the device."""
        return UnfinishedEpisodes()

    def kernels(self) -> dict[str, str]:
        """What computes each policy, by name: ``native``, or ``PyTorch`` with the reason or the fused kernels."""
        return {}

    def _make_evaluation(self) -> PeriodicEvaluation | None:
        """The evaluation of the current policies on separate worlds; None for an algorithm without one."""
        return None

    @abstractmethod
    def max_op_elements(self) -> int:
        """Approximate number of elements of the largest operation of an iteration."""

    @property
    def threads(self) -> int:
        """Threads of PyTorch's operations on the CPU, on which rounding depends. A resumed training keeps them."""
        kernels = set(self.kernels().values())
        return 1 if kernels == {"native"} else self._saved_threads or useful_threads(self.max_op_elements())

    # -- the loop ----------------------------------------------------------------------------------------------------

    def learn(
        self,
        total_steps: int | None = None,
        callbacks: Iterable[Callback] | Callback = (),
        *,
        until: int | None = None,
    ) -> Trainer:
        """Train until ``total_steps`` environment steps are done in total, or until :meth:`stop` is called.

        Raises DivergedError once losses or parameters are not finite.

        Args:
            total_steps: Steps of the whole training, to which schedules refer; None for ``config.total_steps``.
            callbacks: One callback or several.
            until: Steps at which to return earlier, to be continued; None for ``total_steps``.
        """
        if total_steps is not None:
            self.config = replace(self.config, total_steps=total_steps)
        self._until = self.config.total_steps if until is None else min(until, self.config.total_steps)
        callback_list: list[Callback] = [DivergenceCheck(), *as_callbacks(callbacks)]
        self._stopping = False
        with use_torch_settings(self.device, self.threads), self._evaluating() as evaluation:
            for callback in callback_list:
                callback.on_start(self)
            started, earlier = time.perf_counter(), self.seconds  # without the callbacks' start, such as a tracker's
            pace = deque([(started, self.steps)], maxlen=20)
            while self.steps < self._until and not self._agreed_to_stop():
                self.in_iteration, before = True, self.steps
                self.steps += self.iterate() * self.simulation.num_worlds * self.ranks.size
                self.simulation.check_capacity()  # steps of a CUDA graph do not check it
                self.iteration += 1
                last_episodes = self.ranks.sum_(self._last_episodes.sums())
                numbers = torch.cat([*self.summaries().values(), last_episodes, self._fault_count()])
                self._reports.send(self.iteration, self.steps, numbers)
                self.in_iteration = False
                evaluated = evaluation is not None and self._evaluation_due(before)
                if evaluation is not None and evaluated:
                    self.evaluation = evaluation.run(self.iteration, lambda: self._stopping)
                self.seconds = earlier + time.perf_counter() - started
                self._report_progress(self._reports.arrived(everything=evaluated), callback_list, pace)
            self._report_progress(self._reports.arrived(everything=True), callback_list, pace)
            self.seconds = earlier + time.perf_counter() - started
            for callback in callback_list:
                callback.on_end(self)
        return self

    def stop(self) -> None:
        """End the training after this iteration."""
        self._stopping = True

    @contextmanager
    def _evaluating(self) -> Iterator[PeriodicEvaluation | None]:
        """The evaluation, in the leading process and with ``eval_every``; its worlds are freed on exit."""
        wanted = self.config.eval_every > 0 and self.ranks.is_leader
        evaluation = self._make_evaluation() if wanted else None
        try:
            yield evaluation
        finally:
            if evaluation is not None:
                evaluation.close()

    def _evaluation_due(self, before: int) -> bool:
        """Whether the iteration from step ``before`` reached a multiple of ``eval_every``, or the end of training."""
        every = self.config.eval_every
        return self.steps // every > before // every or self.steps >= self._until

    @property
    def checkpoint_score(self) -> float:
        """The score of the current parameters, by which the best checkpoint is chosen; NaN where there is none.

        With evaluations it is that of an evaluation in this iteration, otherwise the mean return of recent episodes.
        """
        if self.config.eval_every == 0:
            return self.score
        evaluation = self.evaluation
        return evaluation.score if evaluation is not None and evaluation.iteration == self.iteration else math.nan

    def _agreed_to_stop(self) -> bool:
        """Whether any process requests a stop. All must stop in the same iteration; otherwise the others would hang."""
        return self.ranks.any(self._stopping)

    def _report_progress(
        self, reports: Sequence[IterationReport], callbacks: Sequence[Callback], pace: deque[tuple[float, int]]
    ) -> None:
        for report in reports:
            now = time.perf_counter()
            pace.append((now, report.steps))
            spent = now - pace[0][0]
            rate = (report.steps - pace[0][1]) / spent if spent > 0.0 else math.nan
            metrics = self._metrics(report.numbers)
            if self.evaluation is not None and self.evaluation.iteration == report.iteration:
                metrics |= self.evaluation.metrics
            busy = sum(report.seconds.values())
            shares = {k: v / busy for k, v in report.seconds.items()} if busy else {}
            progress = Progress(
                report.iteration, report.steps, self.config.total_steps, self.seconds, rate, metrics, shares
            )
            for callback in callbacks:
                callback.on_iteration(self, progress)

    def _fault_count(self) -> torch.Tensor:
        """Faults of single worlds since the training started or was resumed, in all processes, shape (1,)."""
        return self.ranks.sum_(fault_summary.fault_count(self.simulation))

    def _metrics(self, numbers: Sequence[float]) -> dict[str, float]:
        """The metrics of an iteration by name."""
        *numbers, faults = numbers
        first = len(numbers) - len(self._last_episodes.names) - 1
        numbers, last_episodes = numbers[:first], numbers[first:]
        self._faults = self._earlier_faults + faults
        policies = list(self.summaries())
        width = len(numbers) // len(policies)
        metrics = {f"episode/{name}": mean for name, mean in self._last_episodes.means(last_episodes).items()}
        scores = []
        for index, policy in enumerate(policies):
            count, total, length, rate, *rest = numbers[index * width : (index + 1) * width]
            recent = self._recent.setdefault(policy, deque())
            self._finished[policy] = self._finished.get(policy, 0.0) + count
            if count:
                recent.append((count, total, length))
            while len(recent) > 1 and sum(r[0] for r in recent) - recent[0][0] >= RECENT_EPISODES:
                recent.popleft()
            episodes = sum(r[0] for r in recent)
            mean = sum(r[1] for r in recent) / episodes if episodes else math.nan
            values = {
                "episode/return": mean,
                "episode/length": sum(r[2] for r in recent) / episodes if episodes else math.nan,
                "episode/count": self._finished[policy],
                "episode/faults": self._faults,
                "update/learning_rate": rate,
                **dict(zip(self.metric_names, rest, strict=True)),
            }
            if self.is_trained(policy):
                scores.append(mean)
            metrics.update({k if len(policies) == 1 else f"{k}/{policy}": v for k, v in values.items()})
        self.score = sum(scores) / len(scores) if scores else math.nan
        return metrics

    # -- saved state -------------------------------------------------------------------------------------------------

    def state(self, experience: bool = True) -> tuple[Tensors, dict[str, Any]]:
        """The state of the training: tensors, and plain values for JSON.

        Tensors other than those of the worlds are the trainer's own: copy them before the training continues.

        Args:
            experience: Whether the worlds and what was seen in them are part of it. Without, a training that continues
                starts new episodes.
        """
        worlds = (
            {f"worlds/{k}": v for k, v in snapshot.copy_columns(self.simulation).items()}
            if experience and self.ranks.is_single
            else {}
        )
        plain = {
            "iteration": self.iteration,
            "steps": self.steps,
            "seconds": self.seconds,
            "recent": {k: [list(r) for r in v] for k, v in self._recent.items()},
            "finished": dict(self._finished),
            "faults": self._faults,
            KEY: self.world_history.as_dict(),
            **({"threads": self.threads} if self.device.type == "cpu" else {}),
        }
        tensors = self.tensors()
        return {**worlds, **(tensors if experience else without_experience(tensors))}, plain

    def load_state(self, tensors: Tensors, plain: dict[str, Any], *, allow_changed_world: bool = False) -> None:
        """Continue from what :meth:`state` returned.

        A single process continues bit for bit on the CPU. Several processes start new episodes. ChangedWorldError where
        the rules or the configuration of the world have changed. With ``allow_changed_world`` they may: the worlds
        then start new episodes, and what was seen under the old rules, such as a replay buffer, is left out.
        """
        saved = checked_state(plain)
        if self.world_history.resume(plain.get(KEY), saved.iteration, saved.steps, allow_changed_world):
            saved, tensors = saved._replace(recent={}), without_experience(tensors)
        worlds = {k.removeprefix("worlds/"): v for k, v in tensors.items() if k.startswith("worlds/")}
        if worlds and self.ranks.is_single:
            snapshot.restore(self.simulation, worlds)
        else:  # not the episodes that the seed started with
            seed = (self.config.seed + (saved.iteration << 32)) % 2**64
            self.simulation.reset(seeds=seed)
            if self.config.stagger:
                stagger_episodes(self.simulation, seed, self.config.num_envs)
        self.load_tensors({k: v for k, v in tensors.items() if not k.startswith("worlds/")})
        if self.observation_check is not None:
            self.observation_check.reset()
        self.iteration, self.steps, self.seconds = saved.iteration, saved.steps, saved.seconds
        self._reports, self.score, self.evaluation = IterationReports(self.device), math.nan, None
        self._recent = {k: deque(v) for k, v in saved.recent.items()}
        self._finished, self._saved_threads = saved.finished, saved.threads
        self._faults = self._earlier_faults = saved.faults

    def adopt(self, tensors: Tensors) -> None:
        """Continue with what another training has learned: policies, optimizers and statistics.

        The worlds, their episodes, replay buffers, counters and streams of random numbers stay those of this training.
        Captured CUDA graphs stay valid.

        Args:
            tensors: The tensors of the other training's :meth:`state`, from any device; its policies have the same
                names and networks.
        """
        own = {k: v for k, v in self.tensors().items() if k not in tensors or not is_learned(k)}
        self.load_tensors({**own, **{k: v for k, v in tensors.items() if is_learned(k)}})
        self._recent, self.score, self.evaluation = {}, math.nan, None


def is_learned(name: str) -> bool:
    """Whether the tensor ``POLICY/name`` of a training's state is something that it has learned."""
    return name.partition("/")[2].partition("/")[0] in LEARNED
