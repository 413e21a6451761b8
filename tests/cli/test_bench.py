"""``worldloom bench``: its reports, and that timing does not change results. No test depends on durations."""

import json
import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from thorough import only_thorough

from worldloom.cli.bench import start
from worldloom.cli.bench.baselines import _make_gymnasium, async_stepper
from worldloom.cli.bench.rate_plot import rates_by_name
from worldloom.cli.bench.start import seconds_to_first_step
from worldloom.core.base.errors import InputError
from worldloom.core.measure.timing import NUM_ACTION_SETS, make_actions, median_rates, step_runner, time_systems
from worldloom.core.simulation import Simulation
from worldloom.vector.world_pool import WorldPool


def test_step_reports_json_and_nothing_else():
    command = [
        sys.executable,
        "-m",
        "worldloom.cli",
        "bench",
        "step",
        "CartPole-v1",
        "--num-worlds",
        "64",
        "--device",
        "cpu",
    ]
    done = subprocess.run(
        [*command, "--against", "gymnasium", "--seconds", "0.02", "--json"], capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)
    assert set(report) == {
        "env",
        "num_worlds",
        "device",
        "steps_per_second",
        "bytes_per_world",
        "against",
        "faults",
        "first_fault",
        "dropped",
    }
    assert (report["env"], report["num_worlds"], report["device"]) == ("CartPole-v1", 64, "cpu")
    peer = report["against"]["gymnasium"]
    assert peer["ratio"] == pytest.approx(report["steps_per_second"] / peer["steps_per_second"])
    with Simulation("CartPole-v1", 64) as simulation:
        assert report["bytes_per_world"] == simulation.bytes_per_world


def test_step_against_envpool(worldloom):
    pytest.importorskip("envpool")
    code, out, _ = worldloom(
        "bench", "step", "CartPole-v1", "--num-worlds", 8, "--against", "envpool", "--seconds", 0.02
    )
    assert code == 0
    assert "envpool" in out
    assert "x as fast" in out


def test_exact_steps_beside_fast_ones(worldloom):
    command = ["bench", "step", "CartPole-v1", "--num-worlds", 8, "--exact", "--seconds", 0.02]
    code, out, _ = worldloom(*command, "--json")
    report = json.loads(out)
    fast = report["against"]["worldloom, not exact"]
    assert (code, report["exact"]) == (0, True)
    assert fast["ratio"] == pytest.approx(report["steps_per_second"] / fast["steps_per_second"])
    assert "worldloom, exact" in worldloom(*command)[1]


@pytest.mark.parametrize("peer", ["gymnasium-sync", "gymnasium-async", "worldloom-gymnasium"])
def test_step_against_the_rest(worldloom, peer):
    code, out, _ = worldloom(
        "bench", "step", "CartPole-v1", "--num-worlds", 2, "--against", peer, "--seconds", 0.02, "--json"
    )
    report = json.loads(out)
    assert code == 0
    assert report["against"][peer]["ratio"] == pytest.approx(
        report["steps_per_second"] / report["against"][peer]["steps_per_second"]
    )


def test_asynchronous_steps(worldloom):
    pytest.importorskip("envpool")
    command = [
        "bench",
        "step",
        "CartPole-v1",
        "--num-worlds",
        12,
        "--batch-size",
        4,
        "--against",
        "envpool",
        "--seconds",
        0.02,
    ]
    code, out, _ = worldloom(*command, "--json")
    report = json.loads(out)
    assert (code, report["num_worlds"], report["batch_size"]) == (0, 12, 4)
    assert set(report["against"]) == {"envpool"}
    assert "12 worlds in batches of 4" in " ".join(worldloom(*command)[1].split())


def test_a_pool_takes_as_many_steps_as_it_is_asked_for():
    with WorldPool("CartPole-v1", 6, 2, device="python", seed=0) as pool:
        run = async_stepper(pool, 6, 2)
        run(5)
        received = [pool.recv() for _ in range(3)]
        assert len(received) == 3
        steps = [int(simulation.world.step.numpy().sum()) for simulation in pool.simulations]
        assert sum(steps) == 5 * 6, "no episode of CartPole is over after five steps"


def test_a_sweep_is_a_list_a_table_and_a_picture(worldloom, tmp_path):
    command = ["bench", "step", "CartPole-v1", "--sweep", "4,8", "--against", "worldloom-gymnasium", "--seconds", 0.02]
    code, out, _ = worldloom(*command, "--json")
    reports = json.loads(out)
    assert (code, [report["num_worlds"] for report in reports]) == (0, [4, 8])
    pytest.importorskip("matplotlib")
    code, out, _ = worldloom(*command, "--plot", tmp_path / "rates.png")
    assert code == 0
    assert {"worlds", "worldloom", "worldloom-gymnasium", "4", "8"} <= set(out.split())
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
    assert {name: [size for size, _ in points] for name, points in rates_by_name(reports).items()} == {
        "worldloom": [4, 8],
        "worldloom-gymnasium": [4, 8],
    }


def test_small_peers_drop_out_of_a_sweep():
    reports = [
        {"num_worlds": 4, "steps_per_second": 1.0, "against": {"gymnasium-async": {"steps_per_second": 2.0}}},
        {"num_worlds": 512, "steps_per_second": 3.0, "against": {}},
    ]
    assert rates_by_name(reports) == {"worldloom": [(4, 1.0), (512, 3.0)], "gymnasium-async": [(4, 2.0)]}


def test_a_picture_needs_matplotlib(worldloom, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = worldloom("bench", "step", "CartPole-v1", "--sweep", "4,8", "--plot", "rates.png")
    assert (code, err) == (2, "worldloom: --plot needs matplotlib: pip install 'worldloom[view]' adds it\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["CartPole-v1", "--against", "madrona"],
            "--against accepts envpool, gymnasium, gymnasium-sync, gymnasium-async, worldloom-gymnasium, not 'madrona'",
        ),
        (
            ["CartPole-v1", "--against", "gymnasium-async"],
            "gymnasium-async starts a process for each world: give --num-worlds 256 or less, not 8192",
        ),
        (
            ["CartPole-v1", "--against", "gymnasium", "--batch-size", "8"],
            "gymnasium steps all worlds at once: leave --batch-size out, or compare with envpool",
        ),
        (["CartPole-v1", "--batch-size", "3"], "--batch-size must divide the number of worlds, 8192, not be 3"),
        (
            ["CartPole-v1", "--sweep", "8,many"],
            "--sweep takes whole numbers with commas between, such as 1024,4096, not '8,many'",
        ),
        (["CartPole-v1", "--sweep", "8,0"], "--sweep must be more than 0"),
        (["CartPole-v1", "--plot", "rates.png"], "--plot draws a sweep"),
        (["CartPole-v1", "--sweep", "8,16", "--plot", "no/such/rates.png"], "there is no folder no/such"),
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


def test_other_packages_are_asked_for_worlds_without_settings(worldloom):
    pytest.importorskip("envpool")
    pytest.importorskip("ale_py")
    code, _, err = worldloom(
        "bench", "step", "Pong-v5:frame_skip=2", "--against", "envpool", "--num-worlds", "2", "--device", "cpu"
    )
    assert code == 2
    assert "envpool is compared in worlds without settings: name Pong-v5 alone, not Pong-v5:frame_skip=2" in err


def test_contenders_take_turns():
    order = []
    rates = median_rates(
        {"one": lambda steps: order.append("one"), "two": lambda steps: order.append("two")}, seconds=1e-6, rounds=3
    )
    assert order[-6:] == ["one", "two"] * 3
    assert set(rates) == {"one", "two"}


def test_every_step_gets_the_next_array_of_actions():
    with Simulation("CartPole-v1", 4, "python", seed=0) as simulation:
        actions = make_actions(simulation)
        seen = []
        simulation.step = lambda given: seen.append(given)
        step_runner(simulation, actions)(NUM_ACTION_SETS + 1)
    assert [any(given is made for made in actions) for given in seen] == [True] * (NUM_ACTION_SETS + 1)
    assert seen[0] is seen[-1]
    assert not np.array_equal(seen[0], seen[1])


def test_systems_reports_every_system(worldloom):
    code, out, _ = worldloom("bench", "systems", "CartPole-v1", "--num-worlds", 32, "--steps", 20, "--json")
    report = json.loads(out)
    assert code == 0
    systems = {(s["name"], s["on_reset"]): s for s in report["systems"]}
    assert {
        ("swing(Cart)", False),
        ("judge(Cart)", False),
        ("look(Cart)", False),
        ("place(Cart)", True),
        ("look(Cart)", True),
    } <= set(systems)
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
        time_systems(Simulation("CartPole-v1", 2, "python", seed=0))


@only_thorough  # compiles in two processes; test_program.py starts one from the cache
def test_start_uses_a_cache_of_its_own(tmp_path):
    assert seconds_to_first_step("CartPole-v1", "cpu", str(tmp_path)) > 0.0
    assert [folder for _, folders, _ in os.walk(tmp_path) for folder in folders if folder.startswith("wp_worldloom")]


def test_start_reports_cold_and_warm(worldloom, planted, monkeypatch):
    caches = []

    def measured(env, device, cache):
        caches.append(cache)
        return 3.0 / len(caches)

    monkeypatch.setattr(start, "seconds_to_first_step", measured)
    code, out, _ = worldloom("bench", "start", f"{planted}:Honest-v0", "--device", "python", "--json")
    assert code == 0
    assert json.loads(out) == {"env": "Honest-v0", "device": "python", "cold_seconds": 3.0, "warm_seconds": 1.5}
    assert caches[0] == caches[1]


def test_start_says_why_a_process_failed(tmp_path):
    with pytest.raises(InputError, match=r"a new process could not step 'No-v0' on cpu: .*there is no world 'No-v0'"):
        seconds_to_first_step("No-v0", "cpu", str(tmp_path))


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
def test_atari_is_what_envpool_shows_with_gymnasium_too(mode):
    pytest.importorskip("ale_py")
    pytest.importorskip("cv2")
    worlds = _make_gymnasium(gymnasium, "Pong-v5", 1, None, mode=mode)
    assert worlds.observation_space.shape == (1, 4, 84, 84)
    worlds.close()


def test_gymnasiums_atari_is_not_held_against_other_pictures():
    pytest.importorskip("ale_py")
    with pytest.raises(InputError, match="measure Breakout-v5 against it, or ALE/Breakout-v5 against gymnasium-sync"):
        _make_gymnasium(gymnasium, "ALE/Breakout-v5", 1, None, mode="vector_entry_point")
    worlds = _make_gymnasium(gymnasium, "ALE/Breakout-v5", 1, None, mode="sync")
    assert worlds.observation_space.shape == (1, 210, 160, 3)
    worlds.close()
