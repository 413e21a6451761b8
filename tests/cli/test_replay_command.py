"""``worldloom replay``: episodes listed and replayed."""

import json
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry import registry
from worldloom.core.registry.world_files import find


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of three poles, and the lengths of the first episodes of world 1."""
    simulation = wl.Simulation("CartPole-v1", 3, "python", seed=2, config={"force": 15.0})
    numbers, ends = np.random.default_rng(0), []
    with simulation.record() as recorder:
        for step in range(60):
            simulation.step(random_actions(simulation, numbers))
            if simulation.terminated.numpy()[1]:
                ends.append(step + 1)
    path = tmp_path_factory.mktemp("recorded") / "poles.safetensors"
    recorder.log.save(path)
    return path, np.diff([0, *ends]).tolist()


def test_the_episodes_of_a_world_are_listed(worldloom, recorded):
    path, lengths = recorded
    code, out, _ = worldloom("replay", path, "--world", 1, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["env"], found["steps"], found["worlds"]) == ("CartPole-v1", 60, 3)
    assert [e["steps"] for e in found["episodes"] if e["terminated"]] == lengths
    code, out, _ = worldloom("replay", path, "--world", 1)
    assert "CartPole-v1: 60 steps of 3 worlds, recorded on python; world 1:" in out
    assert out.count("terminated") == len(lengths)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_an_episode_is_played_again(worldloom, recorded, device):
    path, lengths = recorded
    code, out, _ = worldloom("replay", path, "--world", 1, "--episode", 1, "--device", device, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["episode"], found["steps"], found["terminated"], found["faults"]) == (1, lengths[1], True, [])
    assert [row["step"] for row in found["played"]] == list(range(lengths[1]))
    assert all(
        row["rewards"] == {"Cart.reward": [1.0]} and row["actions"]["Cart.push"][0] in (0, 1) for row in found["played"]
    )


def test_an_episode_is_printed(worldloom, recorded):
    path, lengths = recorded
    code, out, _ = worldloom("replay", path, "--world", 1, "--episode", 0)
    assert code == 0
    assert f"CartPole-v1, world 1, episode 0: {lengths[0]} steps on python, terminated" in out
    assert "Cart.push" in out


def test_only_the_faults_of_the_episode_are_told(worldloom, tmp_path):
    file = Path(__file__).parent / "faulty.py"
    simulation = wl.Simulation(find(str(file)), 2, "python", seed=0)
    with simulation.record() as recorder:
        for _ in range(9):
            simulation.step()
    recorder.log.save(tmp_path / "log")
    code, out, _ = worldloom("replay", tmp_path / "log", "--env", file, "--world", 1, "--episode", 1, "--json")
    assert code == 0
    assert [fault.partition(": ")[0] for fault in json.loads(out)["faults"]] == ["world 1, episode 1, step 2"]
    registry._REGISTRY.pop("Faulty-v0", None)
    code, _, err = worldloom("replay", tmp_path / "log")
    assert code == 2
    assert "was recorded in 'Faulty-v0', which is not registered: name its file, as in --env pond.py" in err


def test_a_world_that_is_in_a_file(worldloom, planted, tmp_path):
    simulation = wl.Simulation(find(f"{planted}:Honest-v0"), 2, "python", seed=0)
    with simulation.record() as recorder:
        for _ in range(3):
            simulation.step(random_actions(simulation, np.random.default_rng(0)) or None)
    recorder.log.save(tmp_path / "log")
    code, out, _ = worldloom(
        "replay", tmp_path / "log", "--env", f"{planted}:Honest-v0", "--world", 1, "--episode", 0, "--json"
    )
    assert code == 0
    assert json.loads(out)["steps"] == 3
    code, _, err = worldloom("replay", tmp_path / "log", "--env", f"{planted}:Spoilt-v0")
    assert code == 2
    assert "was recorded in another 'Honest-v0' than 'Spoilt-v0'" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--world", "3"], "world 3 is not in this log of 3 worlds"),
        (["--episode", "77"], "episode 77 of world 0 is not in this log"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(worldloom, recorded, arguments, message):
    code, out, err = worldloom("replay", recorded[0], *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("worldloom: ")
    assert message in err


def test_a_damaged_recording_is_refused(worldloom, recorded, tmp_path):
    damaged = tmp_path / "damaged"
    damaged.write_bytes(recorded[0].read_bytes()[:-1])
    code, _, err = worldloom("replay", damaged)
    assert code == 2
    assert "cannot be used as a replay log, since it was cut short or altered" in err
