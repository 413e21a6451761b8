"""Kernels of trainers that are compiled in another thread: which, when, and what happens to errors."""

import subprocess
import sys
from dataclasses import replace

import pytest
import warp as wp

from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs import training_run
from worldloom.learn.runs.compile_ahead import FIRST, NATIVE, ROLLOUT, compile_ahead
from worldloom.learn.runs.training_run import TrainingRequest, run_training

SMALL = TrainingRequest(
    "CartPole-v1",
    "ppo",
    PPOConfig(num_envs=4, num_steps=8, device="cpu", total_steps=32, policy=PolicyConfig(hidden=(8,))),
)


def test_kernels_are_loaded_as_launches_need_them():
    names = {*FIRST, *ROLLOUT["ppo"], *NATIVE["ppo"]}
    thread = compile_ahead(sorted(names))
    assert thread.daemon
    thread.join()
    for name in names:
        module = wp.get_module(name)
        assert [loaded.module_hash for loaded in module.execs.values()] == [module.get_module_hash(1)]


@pytest.mark.parametrize(("native", "device"), [(True, "cpu"), (False, "cpu"), (True, "auto")])
def test_a_training_compiles_what_it_uses(monkeypatch, tmp_path, native, device):
    if device == "auto" and wp.get_cuda_device_count():
        pytest.skip("the training would use the GPU")
    ahead = []
    monkeypatch.setattr(training_run, "compile_ahead", ahead.extend)
    run_training(replace(SMALL, config=replace(SMALL.config, native=native, device=device), run_dir=tmp_path / "run"))
    assert ahead == [*ROLLOUT["ppo"], *(NATIVE["ppo"] if native else ())]
    assert all(wp.get_module(name).execs for name in (*ROLLOUT["ppo"], *NATIVE["ppo"]) if name in ahead)


def test_errors_are_left_to_the_launch(capfd):
    compile_ahead(["worldloom.learn.no_such_kernels"]).join()
    assert capfd.readouterr() == ("", "")


def test_the_first_kernels_need_no_torch():
    program = (
        "import sys, worldloom; from worldloom.learn.runs import compile_ahead as ahead\n"
        "import importlib; [importlib.import_module(name) for name in ahead.FIRST]\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
