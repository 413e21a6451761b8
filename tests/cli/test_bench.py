"""``worldloom bench``: what is reported, and that timing does not change what is timed. No test asks how long anything takes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from worldloom.cli.bench_start import seconds_to_first_step
from worldloom.core.compare import first_difference
from worldloom.core.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.core.timing import ROTATED, _Clock, make_actions, median_rates, stepping, time_systems


def test_step_reports_json_and_nothing_else():
    command = [sys.executable, "-m", "worldloom.cli", "bench", "step", "CartPole-v1", "--num-worlds", "64", "--device", "cpu"]
    done = subprocess.run([*command, "--against", "gymnasium", "--seconds", "0.2", "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert set(report) == {"env", "num_worlds", "device", "steps_per_second", "bytes_per_world", "against"}
    assert (report["env"], report["num_worlds"], report["device"]) == ("CartPole-v1", 64, "cpu")
    peer = report["against"]["gymnasium"]
    assert peer["ratio"] == pytest.approx(report["steps_per_second"] / peer["steps_per_second"])
    with Simulation("CartPole-v1", 64) as simulation:
        assert report["bytes_per_world"] == simulation.bytes_per_world


def test_step_against_envpool(worldloom):
    pytest.importorskip("envpool")
    code, out, _ = worldloom("bench", "step", "CartPole-v1", "--num-worlds", 8, "--against", "envpool", "--seconds", 0.2)
    assert code == 0
    assert "envpool" in out
    assert "x as fast" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["CartPole-v1", "--against", "madrona"], "--against knows envpool and gymnasium, not 'madrona'"),
        (["CartPole-v1", "--num-worlds", "0"], "--num-worlds must be more than 0"),
        (["CartPole-v1", "--seconds", "0"], "--seconds must be more than 0"),
    ],
)
def test_step_refuses_in_one_line(worldloom, arguments, message):
    code, out, err = worldloom("bench", "step", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_missing_package_is_said_with_the_way_to_add_it(worldloom, monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    code, _, err = worldloom("bench", "step", "CartPole-v1", "--against", "envpool")
    assert code == 2
    assert err == "worldloom: envpool is not installed: pip install 'worldloom[compat]' adds it\n"


def test_a_world_that_the_other_package_lacks(worldloom, planted):
    code, _, err = worldloom("bench", "step", f"{planted}:Honest-v0", "--against", "gymnasium")
    assert code == 2
    assert "gymnasium has no world 'Honest-v0'" in err
    assert err.count("\n") == 1


def test_contenders_take_turns():
    order = []
    rates = median_rates({"one": lambda steps: order.append("one"), "two": lambda steps: order.append("two")}, seconds=1e-6, rounds=3)
    assert order[-6:] == ["one", "two"] * 3
    assert set(rates) == {"one", "two"}


def test_every_step_gets_the_next_array_of_actions():
    with Simulation("CartPole-v1", 4, "python", seed=0) as simulation:
        actions = make_actions(simulation)
        seen = []
        simulation.step = lambda given: seen.append(given)
        stepping(simulation, actions)(ROTATED + 1)
    assert [any(given is made for made in actions) for given in seen] == [True] * (ROTATED + 1)
    assert seen[0] is seen[-1]
    assert not np.array_equal(seen[0], seen[1])


def test_systems_reports_every_system(worldloom):
    code, out, _ = worldloom("bench", "systems", "CartPole-v1", "--num-worlds", 32, "--steps", 20, "--json")
    report = json.loads(out)
    assert code == 0
    systems = {(s["name"], s["on_reset"]): s for s in report["systems"]}
    assert {("swing(Cart)", False), ("judge(Cart)", False), ("look(Cart)", False), ("place(Cart)", True), ("look(Cart)", True)} <= set(systems)
    assert sum(s["share"] for s in report["systems"]) == pytest.approx(1.0)
    swing = systems["swing(Cart)", False]
    assert (swing["bytes_read"], swing["bytes_written"]) == (20, 16)
    assert swing["world_steps_per_second"] == pytest.approx(32 / swing["seconds"])
    assert swing["engine"] is False


def test_systems_as_a_table(worldloom):
    code, out, _ = worldloom("bench", "systems", "CartPole-v1", "--num-worlds", 32, "--steps", 20)
    assert code == 0
    assert "swing(Cart)" in out
    assert "bytes per world" in out


def test_systems_are_not_timed_interpreted(worldloom):
    code, _, err = worldloom("bench", "systems", "CartPole-v1", "--device", "python", "--num-worlds", 2)
    assert code == 2
    assert "interpreted systems are not timed" in err
    with pytest.raises(InputError, match="interpreted systems are not timed"):
        time_systems("CartPole-v1", 2, "python")


def test_timing_a_system_leaves_its_worlds_as_a_step_does():
    with Simulation("CartPole-v1", 32, seed=5, fuse=False) as timed, Simulation("CartPole-v1", 32, seed=5, fuse=False) as plain:
        clock = _Clock(timed, launches=4)
        for step in range(30):
            for place, spec in enumerate(timed.program.step):
                clock.kernel(place, spec)
            plain.step()
            assert first_difference(plain, timed, step) is None


def test_start_uses_a_cache_of_its_own(tmp_path):
    assert seconds_to_first_step("CartPole-v1", "cpu", str(tmp_path)) > 0.0
    assert [folder for _, folders, _ in os.walk(tmp_path) for folder in folders if folder.startswith("wp_worldloom")]


def test_start_reports_cold_and_warm(worldloom, planted):
    code, out, _ = worldloom("bench", "start", f"{planted}:Honest-v0", "--device", "python", "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["env"], report["device"]) == ("Honest-v0", "python")
    assert set(report) == {"env", "device", "cold_seconds", "warm_seconds"}


def test_start_says_why_a_process_failed(tmp_path):
    with pytest.raises(InputError, match=r"a fresh process could not step 'No-v0' on cpu: .*there is no world 'No-v0'"):
        seconds_to_first_step("No-v0", "cpu", str(tmp_path))
