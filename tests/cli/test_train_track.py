"""``worldloom train --track``: trackers of a run, of several seeds, and when a run is resumed."""

import pytest
from runs_compared import FEW, SMALL
from thorough import only_thorough

from worldloom.cli.commands import train_parser
from worldloom.learn.tracking.tracker_ids import read_tracker_ids

pytestmark = pytest.mark.usefixtures("without_curves")
SHORT = ("CartPole-v1", *FEW, *SMALL["ppo"])


@pytest.fixture
def client(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs worldloom[mlflow]")
    pytest.importorskip("sqlalchemy", reason="needs worldloom[mlflow]")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")


def test_a_resumed_run_continues_its_tracked_run(worldloom, tmp_path, client):
    run = tmp_path / "run"
    options = ("--track", "mlflow", "--project", "poles", "--run-dir", run)
    code, _, err = worldloom("train", *SHORT, "--total-steps", "128", *options)
    assert code == 0, err
    id_ = read_tracker_ids(run)["mlflow"]
    resumed = ("--resume", "--run-dir", str(run), "--total-steps", "256", "--quiet")
    assert train_parser.parse(resumed).track == "mlflow"
    assert worldloom("train", *resumed)[0] == 0
    (tracked,) = client.search_runs([client.get_experiment_by_name("poles").experiment_id])
    assert tracked.info.run_id == id_ and tracked.info.run_name == "run" and tracked.info.status == "FINISHED"
    assert {point.step for point in client.get_metric_history(id_, "loss/value")} == {128, 256}


@only_thorough  # a database of MLflow takes seconds
def test_seeds_form_a_group(worldloom, tmp_path, client):
    options = ("--track", "mlflow", "--seeds", "0:2", "--run-dir", tmp_path / "both")
    assert worldloom("train", *SHORT, "--total-steps", "128", *options)[0] == 0
    tracked = client.search_runs([client.get_experiment_by_name("worldloom").experiment_id])
    assert sorted(run.info.run_name for run in tracked) == ["seed_0", "seed_1"]
    assert {run.data.tags["group"] for run in tracked} == {"both"}
    assert train_parser.parse(["--resume", "--run-dir", str(tmp_path / "both")]).track == "mlflow"


@pytest.mark.parametrize("more", [(), ("--seeds", "0:2")])
def test_an_unknown_tracker_is_refused_at_once(worldloom, tmp_path, more):
    code, _, err = worldloom("train", *SHORT, "--track", "comet", "--run-dir", tmp_path / "run", *more)
    assert code == 2 and "there is no tracker 'comet': there are wandb, mlflow" in " ".join(err.split())
    assert not (tmp_path / "run").exists()
