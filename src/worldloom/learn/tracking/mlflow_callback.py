"""Metrics in MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.tracking.tracker_callback import PROJECT, TrackerCallback

MAX_PARAMS = 100
"""Maximum number of parameters in one request to a server of MLflow."""
MAX_LENGTH = 500
"""Maximum length of a parameter's value that every server takes."""


class MlflowCallback(TrackerCallback):
    """Sends the metrics of a training to MLflow: ``trainer.learn(callbacks=[MlflowCallback("pond")])``.

    Needs the extra ``mlflow``. ``worldloom train --track mlflow`` adds it. Metrics are recorded over environment steps.
    ``project`` is MLflow's experiment, ``MLFLOW_EXPERIMENT_NAME`` where it is empty, and ``group`` a tag of the run.
    See :class:`TrackerCallback` for the other arguments.

    Args:
        tracking_uri: Address of the server or the store, such as ``sqlite:///mlflow.db`` for a file; None for
            ``MLFLOW_TRACKING_URI``, or MLflow's default.
    """

    tracker = "mlflow"

    def __init__(self, project: str = "", name: str = "", *, tracking_uri: str | None = None, **options: Any) -> None:
        super().__init__(project, name, **options)
        self.tracking_uri = tracking_uri
        self._client: Any = None
        self._id = ""

    def _open(self, settings: dict[str, Any], id_: str | None) -> str:
        from mlflow import MlflowClient
        from mlflow.entities import Param
        from mlflow.exceptions import MlflowException

        try:
            self._client = MlflowClient(self.tracking_uri)
            known = self._continue(id_) if id_ is not None else None
            self._id = id_ if id_ is not None and known is not None else self._start()
            params = [
                Param(name, str(value)[:MAX_LENGTH]) for name, value in settings.items() if name not in (known or ())
            ]
            for first in range(0, len(params), MAX_PARAMS):
                self._client.log_batch(self._id, params=params[first : first + MAX_PARAMS])
        except (MlflowException, OSError) as error:
            raise InputError(
                f"MLflow cannot be used ({error}): set MLFLOW_TRACKING_URI, such as to sqlite:///mlflow.db"
            ) from None
        return self._id

    def _start(self) -> str:
        """Start a run, and return its id."""
        project = self.project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        experiment = self._client.get_experiment_by_name(project)
        number = self._client.create_experiment(project) if experiment is None else experiment.experiment_id
        tags = {"group": self.group} if self.group else None
        return str(self._client.create_run(number, run_name=self._run_name(), tags=tags).info.run_id)

    def _continue(self, id_: str) -> dict[str, str] | None:
        """Continue a run. Returns its parameters, which cannot change; None where the server does not have it."""
        from mlflow.exceptions import MlflowException

        try:
            known: dict[str, str] = self._client.get_run(id_).data.params
            self._client.update_run(id_, status="RUNNING")
        except MlflowException:
            return None
        return known

    def _record(self, scalars: Mapping[str, float], steps: int) -> None:
        from mlflow.entities import Metric

        now = round(time.time() * 1000.0)
        self._client.log_batch(self._id, metrics=[Metric(name, value, now, steps) for name, value in scalars.items()])

    def _close(self, failed: bool) -> None:
        self._client.set_terminated(self._id, status="FAILED" if failed else "FINISHED")
