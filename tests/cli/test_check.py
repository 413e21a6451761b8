"""``worldloom check``, and worlds in files."""

import json

import pytest


def test_equal_devices_pass_with_one_line(worldloom, planted):
    code, out, _ = worldloom(
        "check", f"{planted}:Honest-v0", "--devices", "python,cpu", "--steps", 30, "--num-worlds", 4
    )
    assert code == 0
    assert out.count("\n") == 1
    assert "Honest-v0 on python and cpu: no difference in" in out
    assert "4 worlds over 30 steps (bit for bit)" in out


def test_exact_mode_is_held_to_the_bit(worldloom):
    code, out, _ = worldloom("check", "Pendulum-v1", "--exact", "--steps", 20, "--num-worlds", 2, "--json")
    found = json.loads(out)
    assert (code, found["equal"], found["exact"]) == (0, True, True)
    assert found["tolerances"] == {"cpu": {"atol": 0.0, "rtol": 0.0}}
    assert (
        "(bit for bit, in exact mode)"
        in worldloom("check", "Pendulum-v1", "--exact", "--steps", 1, "--num-worlds", 2)[1]
    )


def test_a_long_wait_without_a_terminal_gets_a_line_now_and_then(worldloom, planted, monkeypatch):
    monkeypatch.setattr("worldloom.terminal.progress_bar.PATIENCE_S", -1.0)
    _, _, err = worldloom(
        "check", f"{planted}:Honest-v0", "--steps", 3, "--num-worlds", 1, "--devices", "python,python"
    )
    assert err == "worldloom: checking Honest-v0: 0 of 3\n"


def test_a_planted_difference_fails_and_is_named(worldloom, planted):
    code, out, _ = worldloom("check", f"{planted}:Spoilt-v0", "--steps", 10, "--num-worlds", 4)
    assert code == 1
    assert "Ball.bounces[1] differs in world 2 after step 3" in out


def test_a_planted_difference_as_json(worldloom, planted):
    code, out, _ = worldloom("check", f"{planted}:Spoilt-v0", "--steps", 10, "--num-worlds", 4, "--json")
    found = json.loads(out)
    assert code == 1
    assert found["equal"] is False
    assert found["steps"] == 3
    difference = found["difference"]
    assert (difference["column"], difference["world"], difference["place"], difference["step"]) == (
        "Ball.bounces",
        2,
        [1],
        3,
    )
    assert difference["found"] == difference["expected"] + 1
    assert (difference["reference"], difference["device"]) == ("python", "cpu")


def test_the_first_device_is_the_reference(worldloom, planted):
    _, out, _ = worldloom(
        "check", f"{planted}:Spoilt-v0", "--devices", "cpu, python", "--steps", 5, "--num-worlds", 4, "--json"
    )
    difference = json.loads(out)["difference"]
    assert difference["expected"] == difference["found"] + 1


def test_a_tolerance_is_stated(worldloom, planted):
    code, out, _ = worldloom(
        "check",
        f"{planted}:Honest-v0",
        "--steps",
        3,
        "--num-worlds",
        4,
        "--atol",
        "1e-3",
        "--rtol",
        "1e-5",
        "--no-sync",
    )
    assert code == 0
    assert "real ones within 0.001 + 1e-05 * |expected|)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CartPole-v1", "--devices", "cpu"], "a comparison takes two devices or more"),
        (["CartPole-v1", "--devices", "cpu,tpu"], "there is no device 'tpu'"),
        (["CartPole-v1", "--steps", "0"], "--steps must be more than 0"),
        (["CartPole-v1", "--num-worlds", "-1"], "--num-worlds must be more than 0"),
        (["CartPole-v1", "--atol", "-1"], "atol is a number of 0 or more"),
        (["nowhere.py"], "there is no file nowhere.py"),
    ],
)
def test_what_cannot_be_checked_is_said_in_one_line(worldloom, arguments, message):
    code, out, err = worldloom("check", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("worldloom: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_file_with_several_worlds_asks_for_one(worldloom, planted):
    code, _, err = worldloom("check", planted)
    assert code == 2
    assert "registers 2 worlds: say which" in err
    assert "Honest-v0, Spoilt-v0" in err


def test_a_file_without_the_wanted_world_names_those_it_has(worldloom, planted):
    code, _, err = worldloom("check", f"{planted}:Absent-v0")
    assert code == 2
    assert "registers no world 'Absent-v0': it registers Honest-v0, Spoilt-v0" in err


def test_a_wrong_world_shows_its_own_line(worldloom, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "import worldloom as wl\n\nclass Ball(wl.Entity):\n    height: float\n\n"
        "@wl.system\ndef fall(ball: Ball):\n    ball.hieght = 0.0\n"
    )
    code, _, err = worldloom("check", file)
    assert code == 2
    assert f"{file}:8: " in err
    assert "Fix: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "place"), [("x = 1\ny = 1 / 0\n", ":2: "), ("def (:\n", ":1: "), ("import nosuchmodule\n", ":1: ")]
)
def test_a_file_that_cannot_be_run_shows_its_own_line(worldloom, tmp_path, text, place):
    file = tmp_path / "broken.py"
    file.write_text(text)
    code, _, err = worldloom("check", file)
    assert code == 2
    assert f"{file}{place}the file cannot be run: " in err


def test_a_file_that_registers_nothing_is_refused(worldloom, tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    code, _, err = worldloom("check", file)
    assert code == 2
    assert "registers no world" in err


def test_what_a_world_prints_does_not_spoil_json(worldloom, planted, tmp_path):
    file = tmp_path / "chatty.py"
    file.write_text("print('hello')\n" + planted.read_text())
    _, out, err = worldloom(
        "check", f"{file}:Honest-v0", "--steps", 1, "--num-worlds", 1, "--devices", "python,python", "--json"
    )
    assert json.loads(out)["equal"] is True
    assert "hello" in err
