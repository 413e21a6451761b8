"""A whole training from a request: its folder, going on with it, starting again, and requests as plain data."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_config, read_metrics
from worldloom.learn.runs.training_run import TrainingRequest, request_from_dict, request_to_dict, run_training
from worldloom.learn.training.callbacks import Callback

SMALL = TrainingRequest(
    "CartPole-v1",
    "ppo",
    PPOConfig(num_envs=4, num_steps=8, device="cpu", total_steps=96, policy=PolicyConfig(hidden=(8,))),
)
LAUNCH = "TORCHELASTIC_RUN_ID"


class Seen(Callback):
    """Keeps what it was called with."""

    def __init__(self):
        self.iterations, self.trainer, self.folder = [], None, None

    def on_start(self, trainer):
        self.trainer = trainer

    def on_iteration(self, trainer, progress):
        self.iterations.append(progress.iteration)


# -- requests as plain data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_requests_survive_json(algorithm):
    config = ALGORITHMS[algorithm][1](seed=5, policy=PolicyConfig(hidden=(3, 4)))
    request = TrainingRequest(
        "CartPole-v1", algorithm, config, {"force": 3.0}, {"all": "Cart"}, ("all",), 450.0, 7.0, 2, Path("here"), "yes"
    )
    assert request_from_dict(json.loads(json.dumps(request_to_dict(request))), Path("here"), "yes") == request


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"algorithm": "sarsa"}, "there is no algorithm 'sarsa'"),
        ({"extra": 1}, "config.json has 'extra', so it is not that of a training from the command line"),
        ({"env": None}, "config.json has no 'env'"),
        ({"format": 99}, "has format 99, and this version of worldloom reads up to 1: update worldloom"),
        ({"config": {"seed": "three"}}, "setting 'seed' cannot be 'three'"),
        ({"config": {"schedule": "bogus"}}, "setting 'schedule' cannot be 'bogus'"),
        ({"config": {"gamma": float("nan")}}, "gamma must be a finite number"),
        ({"config": {"policy": 3}}, "setting 'policy' must be an object with settings"),
        ({"config": []}, r"'config' in config.json must be an object with settings, not \[\]"),
        ({"format": "1"}, "'format' in config.json must be a whole number, not '1'"),
        ({"keep": "3"}, "'keep' in config.json must be a whole number below 2\\*\\*31, not '3'"),
        ({"keep": 0}, "keep must be 1 checkpoint or more"),
        ({"policies": {"a": 5}}, "'policies' in config.json must be an object with the agents of each policy as text"),
        ({"policies": ["a"]}, "'policies' in config.json must be"),
        ({"algorithm": ["ppo"]}, "'algorithm' in config.json must be the name of an algorithm"),
        ({"world_config": 3}, "'world_config' in config.json must be an object with values by name, not 3"),
        ({"env": 5}, "'env' in config.json must be the name of a world, not 5"),
        ({"env": "a\x1b[2Jb"}, "'env' in config.json must be the name of a world"),
        ({"frozen": 5}, "'frozen' in config.json must be a list of names, not 5"),
        ({"frozen": "Cart"}, "'frozen' in config.json must be a list of names, not 'Cart'"),
        ({"checkpoint_every": "x"}, "'checkpoint_every' in config.json must be a finite number of seconds, not 'x'"),
        ({"stop_at": float("nan")}, "'stop_at' in config.json must be a finite number or null, not nan"),
        (
            {"checkpoint_every": float("inf")},
            "'checkpoint_every' in config.json must be a finite number of seconds, not inf",
        ),
        ({"keep": 10**400}, "'keep' in config.json must be a whole number below .*, not a number of 1329 bits"),
        ({"checkpoint_every": 10**400}, "'checkpoint_every' in config.json must be a finite number of seconds"),
        ({"config": {"gamma": 10**400}}, "setting 'gamma' cannot be a number of 1329 bits"),
        ({"config": {"num_envs": 10**400}}, "num_envs must be"),
        ({"frozen": [["x"]] * 10000}, "'frozen' in config.json must be a list of names, not a list of 10,000 values"),
        ({"stop_at": "high"}, "'stop_at' in config.json must be a finite number or null, not 'high'"),
    ],
)
def test_what_is_no_request_is_refused(change, sentence):
    values = {k: v for k, v in {**request_to_dict(SMALL), **change}.items() if v is not None or k == "stop_at"}
    with pytest.raises(InputError, match=sentence):
        request_from_dict(values)


def test_policies_that_do_not_learn_are_named():
    assert SMALL.policy_groups() is None
    two = replace(SMALL, policies={"a": "Cart", "b": "Cart"}, frozen=("b",))
    assert [group.train for group in two.policy_groups().values()] == [True, False]
    with pytest.raises(InputError, match="every policy is frozen"):
        replace(SMALL, frozen=("Cart",)).policy_groups()
    with pytest.raises(InputError, match="no policy 'Cart' to freeze: there are a"):
        replace(SMALL, policies={"a": "Cart"}, frozen=("Cart",)).policy_groups()


# -- training --------------------------------------------------------------------------------------------------------


def test_a_training_is_told_and_kept(tmp_path):
    seen, folders = Seen(), []
    outcome = run_training(
        replace(SMALL, run_dir=tmp_path / "run", world_config={"force": 3.0}), [seen], folders.append
    )
    assert (outcome.iteration, outcome.steps, outcome.complete, outcome.is_leader, outcome.folder) == (
        3,
        96,
        True,
        True,
        tmp_path / "run",
    )
    assert outcome.steps_per_second == pytest.approx(96 / outcome.seconds)
    assert seen.iterations == [1, 2, 3] and folders == [tmp_path / "run"]
    assert [row["iteration"] for row in read_metrics(tmp_path / "run")] == [1, 2, 3]
    assert read_config(tmp_path / "run")["world_config"] == {"force": 3.0}
    assert seen.trainer.config.num_envs == 4


def test_nothing_is_left_of_a_training_that_cannot_be(tmp_path):
    wrong = replace(SMALL, run_dir=tmp_path / "run", config=replace(SMALL.config, minibatches=3))
    with pytest.raises(InputError, match="3 minibatches"):
        run_training(wrong)
    assert not (tmp_path / "run").exists()


def test_folders_are_numbered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [run_training(SMALL).folder for _ in range(2)] == [
        Path("runs/CartPole-v1-ppo-s0-1"),
        Path("runs/CartPole-v1-ppo-s0-2"),
    ]


def test_a_folder_can_be_the_present_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_training(replace(SMALL, run_dir=Path("."))).folder == Path(".")
    assert (tmp_path / "config.json").exists()


def test_a_training_goes_on(tmp_path):
    request = replace(SMALL, run_dir=tmp_path / "run")
    run_training(request)
    with pytest.raises(InputError, match="already holds a run: give --resume"):
        run_training(request)
    with pytest.raises(InputError, match="has taken 96 steps: give more --total-steps"):
        run_training(replace(request, resume="yes"))
    seen = Seen()
    outcome = run_training(replace(request, resume="yes", config=replace(SMALL.config, total_steps=160)), [seen])
    assert seen.iterations == [4, 5] and (outcome.steps, outcome.complete) == (160, True)
    assert read_config(tmp_path / "run")["config"]["total_steps"] == 160
    assert Checkpoints(tmp_path / "run" / "checkpoints").latest().name == "iteration_00000005"


def test_there_must_be_something_to_go_on_with(tmp_path):
    with pytest.raises(InputError, match="say with --run-dir which run"):
        run_training(replace(SMALL, resume="yes"))
    with pytest.raises(InputError, match=r"nothing holds none"):
        run_training(replace(SMALL, resume="yes", run_dir=tmp_path / "nothing"))


def test_auto_takes_what_there_is(tmp_path):
    request = replace(SMALL, run_dir=tmp_path / "run", resume="auto")
    first, second = Seen(), Seen()
    run_training(request, [first])
    run_training(replace(request, config=replace(SMALL.config, total_steps=128)), [second])
    assert (first.iterations, second.iterations) == ([1, 2, 3], [4])


@pytest.mark.parametrize("named", [True, False])
def test_a_launcher_that_starts_it_again_goes_on(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    request = replace(SMALL, run_dir=tmp_path / "run" if named else None)
    longer = replace(request, config=replace(SMALL.config, total_steps=128))
    monkeypatch.setenv(LAUNCH, "first")
    folder = run_training(request).folder
    seen = Seen()
    outcome = run_training(longer, [seen])
    assert (outcome.folder, seen.iterations) == (folder, [4])
    monkeypatch.setenv(LAUNCH, "second")
    if named:
        with pytest.raises(InputError, match="already holds a run"):
            run_training(longer)
    else:
        assert run_training(longer).folder != folder


def test_a_run_without_a_checkpoint_begins_again(tmp_path):
    class Lost(Callback):
        def on_iteration(self, trainer, progress):
            raise KeyboardInterrupt

    request = replace(SMALL, run_dir=tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        run_training(request, [Lost()])
    seen = Seen()
    run_training(replace(request, resume="yes"), [seen])
    assert seen.iterations == [1, 2, 3]
    assert [row["iteration"] for row in read_metrics(tmp_path / "run")] == [1, 2, 3]


def test_it_ends_at_a_return(tmp_path):
    outcome = run_training(
        replace(SMALL, run_dir=tmp_path / "run", stop_at=5.0, config=replace(SMALL.config, total_steps=10**6))
    )
    assert outcome.mean_return >= 5.0 and not outcome.complete and outcome.iteration < 10


@pytest.mark.parametrize(("setting", "value"), [("checkpoint_every", -1.0), ("keep", 0)])
def test_settings_of_a_run_are_checked(setting, value):
    with pytest.raises(InputError, match=setting):
        replace(SMALL, **{setting: value})
