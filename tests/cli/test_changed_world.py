"""The file of a world is edited after a training: every command says so, and --allow-changed-world goes on."""

import json
import os
import shutil

import pytest

from worldloom.core.registry import registry
from worldloom.learn.runs.run_folder import read_metrics

TEXT = """
import worldloom as wl

REWARD = 1.0


class Ball(wl.Entity):
    height: float
    push: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Room(wl.World):
    wind: wl.Config = 0.5


@wl.system
def score(ball: Ball, world: Room):
    ball.height += float(ball.push) * world.wind
    ball.reward = REWARD


@wl.system
def look(ball: Ball):
    ball.sight = wl.vec2(ball.height, 0.0)


wl.register("Pond-v9", world=Room, entities={Ball: 1}, step=[score], observe=[look], max_steps=5)
"""
EDITED = TEXT.replace("REWARD = 1.0", "REWARD = 5.0")
FEW = ("--num-envs", 2, "--num-steps", 4, "--policy.hidden", 4, "--device", "cpu", "--quiet", "--no-video")
CHANGE = "the constant `REWARD` (1.0, now 5.0)"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory, without_curves):
    """Which files are known as worlds of runs is recorded in a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    registry._REGISTRY.pop("Pond-v9", None)
    yield
    registry._REGISTRY.pop("Pond-v9", None)


def write(folder, text):
    """The file of the world with ``text``; a new time of change makes it be read again."""
    file = folder / "pond.py"
    file.write_text(text)
    write.time += 1
    os.utime(file, (write.time, write.time))
    return file


write.time = 1_000_000_000


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run in the world as it was at first."""
    from worldloom.cli.main import main

    folder = tmp_path_factory.mktemp("pond")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        file, run = write(folder, TEXT), folder / "run"
        assert main([str(a) for a in ("train", file, *FEW, "--total-steps", 8, "--run-dir", run)]) == 0
    return run


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original, tmp_path / "run")


def test_every_command_names_what_changed(worldloom, run, tmp_path):
    file = write(tmp_path, EDITED)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for command in (
        ("train", file, "--resume", "--total-steps", 16, "--run-dir", run, "--quiet"),
        ("train", file, "--resume", "auto", "--total-steps", 16, "--run-dir", run, "--quiet"),
        ("eval", run, "--episodes", 2, "--env", file),
        ("eval", run, run, "--cross-play", "--episodes", 2, "--env", file),
        ("play", run, "--video", tmp_path / "film.gif", "--env", file),
        ("export", run, "--to", "safetensors", "--env", file),
    ):
        code, out, err = worldloom(*command)
        assert code == 2 and out == "", command
        assert f"{CHANGE} of world 'Pond-v9' in {file} has changed since" in err and err.count("\n") == 1
        assert "undo the change, or go on with --allow-changed-world" in err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_an_allowed_change_is_logged(worldloom, run, tmp_path):
    file = write(tmp_path, EDITED)
    allow = ("--env", file, "--allow-changed-world")
    code, out, err = worldloom("eval", run, "--episodes", 2, "--json", *allow)
    assert code == 0 and f"{CHANGE} of world" in err and "which was allowed" in err
    assert json.loads(out)["changed_world"] == [CHANGE] and json.loads(out)["mean_return"] == 25.0
    assert worldloom("export", run, "--to", "safetensors", *allow)[0] == 0
    resume = ("train", file, "--resume", "--run-dir", run, "--quiet", "--no-video")
    code, _, err = worldloom(*resume, "--total-steps", 16, "--allow-changed-world")
    assert code == 0 and CHANGE in err
    (change,) = json.loads((run / "world.json").read_text())["changes"]
    assert change["changed"] == [CHANGE] and (change["iteration"], change["steps"]) == (1, 8)
    assert worldloom(*resume, "--total-steps", 24)[0] == 0 and len(read_metrics(run)) == 3  # without another word
    assert worldloom("eval", run, "--episodes", 2, "--env", file)[0] == 0
    code, _, err = worldloom("eval", run, "--checkpoint", "iteration_00000001", "--episodes", 2, "--env", file)
    assert code == 2 and CHANGE in err  # a checkpoint has the rules that it was trained with


def test_a_population_is_not_continued_either(worldloom, tmp_path):
    few = (*FEW, "--total-steps", 8, "--generation-steps", 8, "--population", 2, "--search", "learning_rate=1e-4:1e-3")
    folder = tmp_path / "pbt"
    assert worldloom("pbt", write(tmp_path, TEXT), *few, "--run-dir", folder)[0] == 0
    resume = ("pbt", write(tmp_path, EDITED), "--resume", "--run-dir", folder, "--quiet")
    code, _, err = worldloom(*resume)
    assert code == 2 and f"{CHANGE} of world 'Pond-v9'" in err
    assert f"since the trainings in {folder} were started" in err
    assert worldloom(*resume, "--allow-changed-world")[0] == 0
    (change,) = json.loads((folder / "population.json").read_text())["world"]["changes"]
    assert change["changed"] == [CHANGE]


def test_another_configuration_is_a_change_too(worldloom, run, tmp_path):
    resume = ("train", write(tmp_path, TEXT), "--resume", "--total-steps", 16, "--run-dir", run, "--quiet")
    code, _, err = worldloom(*resume, "--config", "wind=0.75")
    assert code == 2 and "--config wind=0.75 does not fit the run" in err and "give --allow-changed-world" in err
    code, _, err = worldloom(*resume, "--config", "wind=0.75", "--no-video", "--allow-changed-world")
    assert code == 0 and "the configuration `wind` (0.5, now 0.75) of world 'Pond-v9'" in err


@pytest.mark.parametrize(
    ("old", "new", "evaluated", "resumed"),
    [
        (
            *("wl.vec2(ball.height, 0.0)", "wl.vec3(ball.height, 0.0, 0.0)"),
            "does not fit the world's observations and actions",
            "and here (4, 3); use the settings it was saved with",
        ),
        ("Ball", "Sphere", "has no saved policy 'Sphere', which its world has", "there is no saved policy 'Sphere'"),
    ],
    ids=["observation", "kind"],
)
def test_a_policy_that_no_longer_fits(worldloom, run, tmp_path, old, new, evaluated, resumed):
    text = TEXT.replace(old, new)
    if new.startswith("wl.vec3"):
        text = text.replace("wl.Observation(2)", "wl.Observation(3)")
    file = write(tmp_path, text)
    code, _, err = worldloom("eval", run, "--episodes", 2, "--env", file, "--allow-changed-world")
    assert code == 2 and evaluated in err and "custom module" not in err
    more = ("--total-steps", 16, "--run-dir", run, "--quiet", "--no-video", "--allow-changed-world")
    code, _, err = worldloom("train", file, "--resume", *more)
    assert code == 2 and resumed in err


def test_comments_and_another_place_of_the_file_are_no_change(worldloom, run, tmp_path):
    file = write(tmp_path, TEXT.replace("REWARD = 1.0", "# per step\nREWARD = 1.0  # one"))
    resume = ("train", file, "--resume", "--total-steps", 16, "--run-dir", run, "--quiet", "--no-video")
    code, _, err = worldloom(*resume)
    assert code == 0 and "world" not in err
