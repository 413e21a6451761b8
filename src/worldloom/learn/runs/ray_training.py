"""Training on a Ray cluster. Ray Train starts the workers, and restarts them after a failure."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import open_regular
from worldloom.core.registry.world_files import find
from worldloom.learn.distributed.ranks import TIMEOUT_S, Ranks
from worldloom.learn.runs.metrics_file import METRICS
from worldloom.learn.runs.metrics_reader import MetricsReader
from worldloom.learn.runs.run_folder import default_folder, holds_run
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.runs.training_run import TrainingResult, run_training
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

POLL_INTERVAL_S = 0.5
"""How often the run's folder is polled for the progress of the workers."""
STOP = ".stop"
"""The file in a run's folder that makes its workers stop."""


def train_with_ray(
    request: TrainingRequest,
    workers: int = 2,
    *,
    address: str | None = None,
    max_failures: int = 3,
    show: Callable[[Progress], None] | None = None,
    ends: Callable[[], bool] | None = None,
) -> TrainingResult:
    """Run a training on a Ray cluster.

    Every worker runs an equal share of the worlds, on its own GPU where the settings ask for one. If a worker is lost,
    all restart from the last checkpoint. This process and all workers must see the run's folder under the same path.

    Args:
        request: What to train.
        workers: Number of processes.
        address: Address of the cluster; None for ``RAY_ADDRESS``, or else for a local one that ends with the training.
        max_failures: How often to restart.
        show: Called with the progress that the workers write into the folder.
        ends: Polled; returns whether to stop the training after the current iteration.
    """
    if workers < 1:
        raise InputError(f"workers must be 1 or more, not {workers}")
    Ranks(0, workers).share(request.config.num_envs)
    run_dir = request.run_dir
    if run_dir is not None and request.resume == "no" and holds_run(run_dir):
        raise InputError(f"{run_dir} already holds a run: give --resume to continue it, or another --run-dir")
    if request.resume == "yes" and (run_dir is None or not holds_run(run_dir)):
        where = "say with --run-dir which run" if run_dir is None else f"{run_dir} holds none"
        raise InputError(f"there is no run to resume: {where}")
    folder = (
        (run_dir or default_folder(find(request.env).id, request.algorithm, request.config.seed))
        .expanduser()
        .absolute()
    )
    folder.mkdir(parents=True, exist_ok=True)
    stop = folder / STOP
    stop.unlink(missing_ok=True)
    worker_request = replace(request, run_dir=folder, resume="auto")
    rows = MetricsReader(folder / METRICS, request.config.total_steps)
    future: Future[TrainingResult | str] = Future()
    with ray_cluster(address, workers) as ray:
        trainer = _trainer(ray, worker_request, workers, max_failures)
        # Not in the main thread: there Ray handles signals by killing its workers without a last checkpoint.
        threading.Thread(
            target=_resolve_future, args=(future, lambda: trainer.fit().return_value), name="worldloom-ray", daemon=True
        ).start()
        while not wait([future], POLL_INTERVAL_S).done:
            _show_new(rows, show)
            if ends is not None and ends():
                os.close(open_regular(stop, os.O_WRONLY | os.O_CREAT))
    _show_new(rows, show)
    stop.unlink(missing_ok=True)
    result = future.result()
    if isinstance(result, str):
        raise InputError(result)
    return result


def _trainer(ray: Any, request: TrainingRequest, workers: int, max_failures: int) -> Any:
    """Ray Train's trainer for a request. Its ``fit().return_value`` is the leader's result of :func:`_worker_main`."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    on_gpus = request.config.device != "cpu" and ray.cluster_resources().get("GPU", 0.0) >= workers
    if not on_gpus and request.config.device.startswith("cuda"):
        raise InputError(
            f"the cluster has fewer than {workers} GPUs, one for each worker: use fewer workers, or --device cpu"
        )
    config = request.config if on_gpus else replace(request.config, device="cpu")
    return TorchTrainer(
        _worker_main,
        train_loop_config={"request": replace(request, config=config)},
        torch_config=TorchConfig(backend="nccl" if on_gpus else "gloo", timeout_s=int(TIMEOUT_S)),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=on_gpus),
        run_config=RunConfig(
            name="ray", storage_path=str(request.run_dir), failure_config=FailureConfig(max_failures=max_failures)
        ),
    )


def _worker_main(settings: dict[str, Any]) -> TrainingResult | str:
    """The work of one worker. An InputError is returned as text, since a restart would not fix it."""
    request: TrainingRequest = settings["request"]
    assert request.run_dir is not None
    try:
        return run_training(request, [StopFile(request.run_dir / STOP)])
    except InputError as error:
        return str(error)


class StopFile(Callback):
    """Stops a training when a file appears, for processes that cannot send signals to this one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._last_check = -math.inf

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if trainer.ranks.is_leader and time.monotonic() - self._last_check >= POLL_INTERVAL_S:
            self._last_check = time.monotonic()
            if self.file.exists():
                trainer.stop()


def _resolve_future(future: Future[Any], work: Callable[[], Any]) -> None:
    """Run ``work``, and pass its result or error to ``future``."""
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


@contextmanager
def ray_cluster(address: str | None, workers: int) -> Iterator[Any]:
    """Ray, connected to a cluster. A cluster started here listens on loopback only, and is shut down on exit."""
    address = address or os.environ.get("RAY_ADDRESS")
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault(
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0"
        )  # "no cluster over several machines" on any system: Ray then listens on loopback
    try:
        import ray
        import ray.train.torch
    except ImportError:
        raise InputError("Ray is not installed: pip install 'worldloom[cluster]'") from None
    if ray.is_initialized():
        yield ray
        return
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if in_main else {}
    if address is None:
        ray.init(
            address="local",
            num_cpus=max(workers, os.cpu_count() or 1),
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    else:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    try:
        for number, handler in before.items():  # Ray replaces the signal handlers; restore those of this process
            signal.signal(number, handler)
        yield ray
    finally:
        ray.shutdown()


def _show_new(rows: MetricsReader, show: Callable[[Progress], None] | None) -> None:
    if show is not None:
        for progress in rows.new():
            show(progress)
