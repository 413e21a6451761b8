"""Fixtures for the tests of the command line."""

from pathlib import Path

import pytest
from payloads import write_payload

from worldloom.cli.main import main
from worldloom.core.registry import registry


@pytest.fixture
def worldloom(capsys):
    """Run the command line in this process; returns the exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def planted():
    """A file with a correct world and one that differs between devices."""
    return Path(__file__).parent / "planted.py"


@pytest.fixture
def payload(tmp_path, monkeypatch):
    """A file with a world, and the file that it writes when it is executed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # where known worlds are recorded
    yield write_payload(tmp_path)
    registry._REGISTRY.pop("Payload-v0", None)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a short training run in CartPole-v1."""
    from worldloom.learn.algorithms.ppo import PPOConfig
    from worldloom.learn.runs.training_run import TrainingRequest, run_training

    folder = tmp_path_factory.mktemp("runs") / "trained"
    run_training(
        TrainingRequest("CartPole-v1", "ppo", PPOConfig(num_envs=8, total_steps=512, device="cpu"), run_dir=folder)
    )
    return folder


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """The tests of this folder are about what worlds do: they compile them without optimizations."""


@pytest.fixture(scope="module", autouse=True)
def no_waits(request: pytest.FixtureRequest) -> None:
    """No test but those of ``test_run_folder.py`` reads TensorBoard's events."""
    if request.module.__name__ != "test_run_folder":
        request.getfixturevalue("without_event_waits")
