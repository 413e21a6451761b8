"""Measured sizes, and the command that prints them."""

import json

import test_physics

from worldloom import robots
from worldloom.cli.main import main


def test_sizes_cover_what_was_seen():
    measured = robots.measure(test_physics.MODEL, episodes=2, steps=200)
    assert 0 < measured.max_contacts <= measured.sizes.contacts
    assert measured.mean_contacts <= measured.max_contacts
    assert measured.max_constraints < measured.sizes.constraints


def test_the_command(tmp_path, capsys):
    file = tmp_path / "arm.xml"
    file.write_text(test_physics.PENDULUM)
    assert main(["robots", "size", str(file), "--episodes", "2", "--steps", "100"]) == 0
    assert "constraints" in capsys.readouterr().out
    assert main(["robots", "size", str(file), "--json", "--steps", "100"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["contacts"] >= report["max_contacts"]
    assert 1_000 < report["bytes_per_world"] < 100_000
    assert main(["robots", "size", str(tmp_path / "none.xml")]) == 2
    assert "there is no model file" in capsys.readouterr().err


def test_the_robot_of_a_world(capsys):
    assert main(["robots", "size", "InvertedPendulum-v5", "--json", "--steps", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["max_contacts"] == 0
    assert main(["robots", "size", "CartPole-v1"]) == 2
    assert "world 'CartPole-v1' has no robot" in capsys.readouterr().err
