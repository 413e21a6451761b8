"""Fixtures: finished runs of each algorithm, and copies of them."""

import shutil
from dataclasses import replace

import pytest
from finished_runs import SETTINGS, trained


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """A finished run of each algorithm, copied by the tests."""
    found = {}
    for algorithm in SETTINGS:
        folder = tmp_path_factory.mktemp("originals") / algorithm
        found[algorithm] = folder, trained(folder, algorithm)
    return found


@pytest.fixture
def run(originals, tmp_path):
    """A copy of the PPO run: its folder, and the request that goes on with it."""
    folder, request = originals["ppo"]
    shutil.copytree(folder, tmp_path / "run")
    return tmp_path / "run", replace(request, run_dir=tmp_path / "run")


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """The tests of this folder are about what worlds do: they compile them without optimizations."""


@pytest.fixture(scope="module", autouse=True)
def no_waits(request: pytest.FixtureRequest) -> None:
    """No test but those of ``test_run_folder.py`` reads TensorBoard's events."""
    if request.module.__name__ != "test_run_folder":
        request.getfixturevalue("without_event_waits")
