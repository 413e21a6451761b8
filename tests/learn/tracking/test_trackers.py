"""Metrics in Weights & Biases and MLflow, offline, and what is continued when a training is resumed."""

import importlib.util
import json
import math
from types import SimpleNamespace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.tracking.make_trackers import TRACKER_CLASSES, make_trackers
from worldloom.learn.tracking.mlflow_callback import MlflowCallback
from worldloom.learn.tracking.tracker_callback import TrackerCallback
from worldloom.learn.tracking.tracker_ids import read_tracker_ids, write_tracker_id
from worldloom.learn.tracking.wandb_callback import WandbCallback
from worldloom.learn.training.progress import Progress

CONFIG = PPOConfig(num_envs=4, num_steps=8, epochs=1, minibatches=1, device="cpu", total_steps=96)


class ListTracker(TrackerCallback):
    """Keeps what it gets. Its package is the standard library's ``json``, which is always there."""

    tracker = "json"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.calls = []

    def _open(self, settings, id_):
        self.calls.append(("open", settings, id_))
        return id_ or "new-id"

    def _record(self, scalars, steps):
        self.calls.append(("record", scalars, steps))

    def _close(self, failed):
        self.calls.append(("close", failed))


def recorded(tracker):
    return [call[2] for call in tracker.calls if call[0] == "record"]


# -- the common part -------------------------------------------------------------------------------------------------


def test_every_iteration_is_recorded_over_steps_with_settings_first():
    tracker = ListTracker(every_s=0.0, settings={"note": "hello"})
    PPO("CartPole-v1", CONFIG).learn(callbacks=[tracker])
    kind, settings, id_ = tracker.calls[0]
    assert kind == "open" and id_ is None and tracker.calls[-1] == ("close", False)
    assert settings["world"] == "CartPole-v1" and settings["algorithm"] == "ppo" and settings["note"] == "hello"
    assert settings["num_envs"] == 4 and settings["policy.activation"] == CONFIG.policy.activation
    assert "policy" not in settings
    assert recorded(tracker) == [32, 64, 96]
    assert all(math.isfinite(value) for _, scalars, _ in tracker.calls[1:-1] for value in scalars.values())
    assert "loss/policy" in tracker.calls[1][1] and "time/steps_per_second" in tracker.calls[1][1]


def test_records_are_rare_but_the_last_is_never_lost():
    tracker = ListTracker(every_s=3600.0)
    tracker._recorded_at = math.inf  # as if one had just been recorded
    PPO("CartPole-v1", CONFIG).learn(callbacks=[tracker])
    assert recorded(tracker) == [96]


def test_the_folder_keeps_the_id_for_a_resumed_training(tmp_path):
    first, second = ListTracker(folder=tmp_path), ListTracker(folder=tmp_path)
    write_tracker_id(tmp_path, "wandb", "other")
    PPO("CartPole-v1", CONFIG).learn(callbacks=[first])
    assert read_tracker_ids(tmp_path) == {"wandb": "other", "json": "new-id"}
    PPO("CartPole-v1", CONFIG).learn(callbacks=[second])
    assert second.calls[0][2] == "new-id"


def test_a_training_that_fails_is_marked():
    tracker = ListTracker()
    with pytest.raises(ZeroDivisionError), tracker:
        tracker.on_start(PPO("CartPole-v1", CONFIG))
        1 / 0
    assert tracker.calls[-1] == ("close", True)


def test_only_the_leading_process_records():
    tracker = ListTracker(every_s=0.0)
    follower = SimpleNamespace(ranks=SimpleNamespace(is_leader=False))
    tracker.on_start(follower)
    tracker.on_iteration(follower, Progress(1, 10, 20, 1.0, 10.0))
    tracker.on_end(follower)
    assert tracker.calls == []


@pytest.mark.parametrize("text", ["{", "[]", '{"json": 3}', '{"json": "../up"}', '{"json": ""}'])
def test_a_damaged_file_of_ids_starts_a_new_run(tmp_path, text):
    (tmp_path / "trackers.json").write_text(text)
    assert read_tracker_ids(tmp_path) == {}


def test_missing_packages_and_unknown_names_are_refused(monkeypatch):
    with pytest.raises(InputError, match="there is no tracker 'comet': there are wandb, mlflow"):
        make_trackers(["comet"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in TRACKER_CLASSES:
        with pytest.raises(InputError, match=rf"{name} is not installed: pip install 'worldloom\[{name}\]'"):
            make_trackers([name])


# -- Weights & Biases ------------------------------------------------------------------------------------------------


def wandb_rows(folder):
    """The rows of every offline run below ``folder``, by its id, with its settings, as its file holds them."""
    pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    runs = {}
    for file in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        store = DataStore()
        store.open_for_scan(str(file))
        rows = []
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.WhichOneof("record_type") == "run":
                rows = runs.setdefault(record.run.run_id, (record.run, []))[1]
            elif record.WhichOneof("record_type") == "history":
                items = record.history.item
                rows.append({(i.key or "/".join(i.nested_key)): json.loads(i.value_json) for i in items})
    return runs


def test_wandb_gets_metrics_offline(tmp_path):
    pytest.importorskip("wandb", reason="needs worldloom[wandb]")
    for _ in range(2):  # the second one is resumed
        tracker = WandbCallback("pond", "first", group="seeds", mode="offline", folder=tmp_path, every_s=0.0)
        PPO("CartPole-v1", CONFIG).learn(callbacks=[tracker])
    runs = wandb_rows(tmp_path)
    assert list(runs) == [read_tracker_ids(tmp_path)["wandb"]]
    ((run, rows),) = runs.values()
    assert (run.project, run.display_name, run.run_group) == ("pond", "first", "seeds")
    settings = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert settings["world"] == "CartPole-v1" and settings["gamma"] == CONFIG.gamma
    assert [row["steps"] for row in rows] == [32, 64, 96] * 2
    assert all(math.isfinite(row["loss/value"]) and row["update/learning_rate"] > 0.0 for row in rows)


def test_wandb_without_an_account_is_an_error_with_a_fix(monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs worldloom[wandb]")

    def refuse(**options):
        raise wandb.errors.UsageError("No API key configured")

    monkeypatch.setattr(wandb, "init", refuse)
    with pytest.raises(InputError, match=r"No API key configured\): run `wandb login`, or set WANDB_MODE=offline"):
        WandbCallback().on_start(PPO("CartPole-v1", CONFIG))


# -- MLflow ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def mlflow_client(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="needs worldloom[mlflow]")
    pytest.importorskip("sqlalchemy", reason="needs worldloom[mlflow]")
    return mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")


def test_mlflow_gets_metrics_in_a_file(tmp_path, mlflow_client):
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    for total_steps in (96, 128):  # the second one is resumed with another setting
        tracker = MlflowCallback("pond", "first", group="seeds", tracking_uri=uri, folder=tmp_path, every_s=0.0)
        PPO("CartPole-v1", CONFIG).learn(total_steps, callbacks=[tracker])
    id_ = read_tracker_ids(tmp_path)["mlflow"]
    run = mlflow_client.get_run(id_)
    experiment = mlflow_client.get_experiment_by_name("pond")
    (only,) = mlflow_client.search_runs([experiment.experiment_id])
    assert only.info.run_id == id_ and run.info.run_name == "first" and run.data.tags["group"] == "seeds"
    assert run.info.status == "FINISHED"
    assert run.data.params["world"] == "CartPole-v1" and run.data.params["total_steps"] == "96"
    history = mlflow_client.get_metric_history(id_, "loss/value")
    assert sorted(point.step for point in history) == [32, 32, 64, 64, 96, 96, 128]


def test_mlflow_marks_failures_and_starts_anew_where_the_run_is_unknown(tmp_path, mlflow_client):
    write_tracker_id(tmp_path, "mlflow", "0" * 32)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    with pytest.raises(ZeroDivisionError), MlflowCallback(tracking_uri=uri, folder=tmp_path) as tracker:
        tracker.on_start(PPO("CartPole-v1", CONFIG))
        1 / 0
    id_ = read_tracker_ids(tmp_path)["mlflow"]
    assert id_ != "0" * 32 and mlflow_client.get_run(id_).info.status == "FAILED"
    assert mlflow_client.get_run(id_).info.run_name == tmp_path.name


def test_mlflow_without_a_store_is_an_error_with_a_fix():
    pytest.importorskip("mlflow", reason="needs worldloom[mlflow]")
    with pytest.raises(InputError, match="set MLFLOW_TRACKING_URI"):
        MlflowCallback(tracking_uri="nonsense://store").on_start(PPO("CartPole-v1", CONFIG))
