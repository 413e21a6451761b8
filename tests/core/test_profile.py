"""Profiles: every kernel and every system with its bytes, a trace of real launches, and worlds that are left alone."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.measure import profile as profiles
from worldloom.core.measure.profile import Profile, progress_total
from worldloom.core.measure.timing import copy_bandwidth, make_actions
from worldloom.core.measure.trace import TraceEvent, chrome_trace
from worldloom.core.tools.compare import first_difference


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "copy_bandwidth", lambda device, threads: 1e9)


@pytest.fixture(scope="module")
def cartpole() -> tuple[wl.Simulation, Profile]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "copy_bandwidth", lambda device, threads: 1e9)
        sim = wl.Simulation("CartPole-v1", 40, "cpu", seed=0, threads=2)
        return sim, sim.profile(6, make_actions(sim))


def test_kernels_and_systems_with_their_bytes(cartpole: tuple[wl.Simulation, Profile]) -> None:
    sim, found = cartpole
    (kernel,) = found.kernels
    (spec,) = sim.program.step
    assert (kernel.name, kernel.systems, kernel.bytes_read, kernel.bytes_written) == (
        spec.name,
        spec.labels,
        spec.bytes_read,
        spec.bytes_written,
    )
    assert kernel.bandwidth_share == pytest.approx((spec.bytes_read + spec.bytes_written) * 40 / kernel.seconds / 1e9)
    systems = {(s.name, s.on_reset): s for s in found.systems}
    swing = systems["swing(Cart)", False]
    assert (swing.bytes_read, swing.bytes_written, swing.engine) == (20, 16, False)
    assert systems["look(Cart)", True].on_reset and systems["end_step", False].engine
    assert (
        sum(s.share for s in found.systems) == pytest.approx(1.0) == pytest.approx(sum(k.share for k in found.kernels))
    )


def test_the_worlds_are_left_alone(cartpole: tuple[wl.Simulation, Profile]) -> None:
    sim, _ = cartpole
    assert first_difference(wl.Simulation("CartPole-v1", 40, "cpu", seed=0), sim, 0) is None
    assert sim.pristine and sim.errors() == []


def test_one_event_per_launch_and_shard(cartpole: tuple[wl.Simulation, Profile]) -> None:
    sim, found = cartpole
    (spec,) = sim.program.step
    assert sorted((e.step, e.shard) for e in found.events) == [(step, shard) for step in range(6) for shard in range(2)]
    assert all(
        e.systems == spec.labels and e.bytes == 20 * (spec.bytes_read + spec.bytes_written) for e in found.events
    )
    for shard in range(2):
        mine = [e for e in found.events if e.shard == shard]
        assert all(a.start + a.seconds <= b.start for a, b in itertools.pairwise(mine)), "one after the other"


def test_the_trace_is_one_that_perfetto_reads(cartpole: tuple[wl.Simulation, Profile], tmp_path: Path) -> None:
    _, found = cartpole
    found.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    launches = [e for e in events if e["ph"] == "X"]
    assert {e["tid"] for e in launches} == {0, 1} and len(launches) == len(found.events)
    assert all({"name", "pid", "tid", "ts", "dur", "args"} <= set(e) for e in launches)
    assert launches[0]["name"].startswith("swing, judge") and launches[0]["args"]["kernel"].startswith("step_")
    assert "swing(Cart)" in launches[0]["args"]["systems"] and launches[0]["args"]["bytes"] > 0
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"shard 0", "shard 1", "CartPole-v1: 40 worlds on cpu"} == names
    with pytest.raises(wl.InputError, match="the trace cannot be written to"):
        found.save_trace(tmp_path / "no" / "trace.json")


def test_times_of_a_trace_are_microseconds() -> None:
    event = TraceEvent("step_0", ("fall(Drop)",), 3, 0, 0.5, 0.25, 10)
    (_, lane, launch) = chrome_trace([event], "Rain", cuda=True)["traceEvents"]
    assert lane["args"]["name"] == "GPU" and (launch["ts"], launch["dur"], launch["args"]["step"]) == (5e5, 2.5e5, 3)


def test_it_prints_and_makes_json(cartpole: tuple[wl.Simulation, Profile]) -> None:
    _, found = cartpole
    text = str(found)
    assert (
        text.startswith("CartPole-v1: 40 worlds on cpu, ")
        and "swing(Cart)" in text
        and "a large copy moves 1 GB/s here" in text
    )
    assert "The kernels, timed one by one, take " in text and "as if every place were taken" not in text
    plain = json.loads(json.dumps(found.as_dict()))
    assert set(plain) == {"env", "device", "num_worlds", "steps", "seconds_per_step", "bandwidth", "kernels", "systems"}


class Bell(wl.Entity):
    rings: int


class Tower(wl.World):
    pass


@wl.system
def ring(bell: Bell):
    bell.rings += 1


def test_callables_are_called_and_timed() -> None:
    seen: list[int] = []

    def listen(sim: wl.Simulation) -> None:
        seen.append(int(sim["Bell"].rings.numpy()[0, 0]))

    tower = wl.Definition("Tower-test", Tower, {Bell: 2}, step=(ring, listen, ring))
    sim = wl.Simulation(tower, 3, "cpu", seed=0, fuse=False)
    calls: list[tuple[int, int]] = []
    found = sim.profile(4, progress=lambda *done: calls.append(done))
    assert "listen" in [k.name for k in found.kernels] and seen[:5] == [1, 3, 5, 7, 9], (
        "between the two kernels of a step"
    )
    assert [e.step for e in found.events if e.name == "listen"] == [0, 1, 2, 3]
    assert calls == [(n + 1, progress_total(4)) for n in range(progress_total(4))]
    assert not sim["Bell"].rings.numpy().any()


@pytest.mark.parametrize("steps", [0, -1, 2.5, True])
def test_numbers_of_steps_that_cannot_be(steps: float) -> None:
    with pytest.raises(wl.InputError, match="a profile takes a whole number of steps"):
        wl.Simulation("CartPole-v1", 2, "cpu", seed=0).profile(steps)


def test_interpreted_worlds_have_no_kernels() -> None:
    with pytest.raises(wl.InputError, match="interpreted systems are not timed"):
        wl.Simulation("CartPole-v1", 2, "python", seed=0).profile(1)


def test_the_copy_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    real = np.copyto
    monkeypatch.setattr(np, "copyto", lambda a, b: (copied.append(a.size), real(a, b)))
    assert copy_bandwidth(wp.get_device("cpu"), threads=2, repeats=1) > 0.0
    assert copied == [2**25] * 4
