"""Jobs on a Ray cluster: a stand-in for Ray here, and Ray itself in thorough runs."""

import importlib.util
import json
import os
import secrets
import subprocess
import sys
from types import SimpleNamespace

import pytest
from thorough import only_thorough

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.jobs.executor import DIED
from worldloom.learn.experiments.jobs.ray_jobs import RayJobs


class RayError(Exception):
    pass


class StandIn:
    """Runs tasks when they are waited for."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, gpus=0.0):
        self.gpus, self.options, self.tasks = gpus, {}, {}

    def cluster_resources(self):
        return {"CPU": 2.0, **({"GPU": self.gpus} if self.gpus else {})}

    def remote(self, **options):
        self.options = options

        def declare(function):
            def submit(*arguments):
                self.tasks[len(self.tasks)] = lambda: function(*arguments)
                return len(self.tasks) - 1

            return SimpleNamespace(remote=submit)

        return declare

    def wait(self, tasks, num_returns, timeout):
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task):
        return self.tasks[task]()


def double(message, callbacks):
    if message["number"] == 3:
        raise RayError("a stack\nValueError: three is too many")
    return {"doubled": 2 * message["number"], "stop": str(callbacks[0].file)}


def test_tasks_answer(tmp_path):
    ray = StandIn()
    jobs = RayJobs(ray, double, 2, "auto", tmp_path, lambda: False)
    assert jobs.device == "cpu" and ray.options["num_gpus"] == 0 and ray.options["num_cpus"] == 1
    jobs.start(7, {"number": 1})
    assert jobs.is_free() and jobs.is_busy()
    jobs.start(8, {"number": 3})
    assert not jobs.is_free()
    assert jobs.wait() == [(7, {"doubled": 2, "stop": str(tmp_path / ".stop")})]
    assert jobs.wait() == [(8, {DIED: "its Ray task failed: ValueError: three is too many"})]
    assert jobs.wait() == [] and not jobs.is_busy()


def test_a_stop_is_a_file_that_trainings_poll(tmp_path):
    stopped = []
    with RayJobs(StandIn(), double, 2, "cpu", tmp_path, lambda: bool(stopped)) as jobs:
        jobs.start(0, {"number": 1})
        stopped.append(True)
        assert not jobs.is_free() and jobs.wait() and (tmp_path / ".stop").exists()
    assert not (tmp_path / ".stop").exists()


def test_every_task_gets_a_gpu_where_there_are_any(tmp_path):
    ray = StandIn(gpus=4.0)
    assert RayJobs(ray, double, 2, "auto", tmp_path, lambda: False).device == "cuda:0" and ray.options["num_gpus"] == 1
    assert RayJobs(ray, double, 2, "cpu", tmp_path, lambda: False).device == "cpu" and ray.options["num_gpus"] == 0
    with pytest.raises(InputError, match="the cluster has no GPU: use --device cpu"):
        RayJobs(StandIn(), double, 2, "cuda:0", tmp_path, lambda: False)


@only_thorough  # Ray starts for half a minute, twice
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: 'worldloom[cluster]'")
@pytest.mark.parametrize("command", ["sweep", "pbt"])
def test_a_cluster_gives_the_same_table(tmp_path, command):
    if command == "sweep":
        pytest.importorskip("optuna")
        file, own = "trials.csv", ["--trials", "3"]
    else:
        file, own = "history.csv", ["--population", "2", "--generation-steps", "256"]
    flags = "CartPole-v1 --device cpu --num-envs 8 --total-steps 512 --search learning_rate=1e-4:1e-2:log --parallel 2"
    hidden = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "RAY_TMPDIR": "/tmp"}
    hidden["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    tables = []
    for launcher in ("ray", "here"):
        folder = tmp_path / launcher
        done = subprocess.run(
            [sys.executable, "-m", "worldloom", command, *flags.split(), *own, "--launcher", launcher]
            + ["--run-dir", str(folder), "--quiet", "--json"],
            env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | hidden,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and json.loads(done.stdout)["complete"], done.stderr
        tables.append((folder / file).read_bytes())
    assert tables[0] == tables[1]
