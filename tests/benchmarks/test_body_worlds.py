"""The benchmark of the worlds with rigid bodies runs with few worlds."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import only_thorough

import worldloom as wl
from worldloom.core.measure.timing import SystemTime

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import body_worlds


@only_thorough  # compiles both games, with plain and with crowded levels
@pytest.mark.usefixtures("quick_compilation")
def test_rates_memory_and_shares_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = body_worlds.Settings(worlds=(8,), warm_up=3, seconds=0.02, shares=True, out=tmp_path / "plain.json")
    body_worlds.main(settings)
    crowded = replace(settings, crowded=True, shares=False, kernels=True, out=tmp_path / "crowded.json")
    body_worlds.main(crowded)
    plain, packed = (json.loads((tmp_path / f"{name}.json").read_text())["rows"] for name in ("plain", "crowded"))
    assert [row["env"] for row in plain] == ["HideSeek-v0", "EscapeRoom-v0"]
    for row, full in zip(plain, packed, strict=True):
        assert row["world_steps_per_second"] > 0.0 and row["bytes_per_world"] > 10_000 and row["faults"] == 0
        assert set(row["shares"]) == {"physics", "rays", "observations", "rules", "resets"}
        assert sum(row["shares"].values()) == pytest.approx(1.0)
        assert min(row["shares"][group] for group in ("physics", "rays", "observations", "rules")) > 0.0
        assert full["contacts"] > row["contacts"] and full["kernels"] and not full["shares"]
    assert packed[0]["body_pairs"] > 10.0 > 4.0 > plain[0]["body_pairs"]
    assert "physics" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("solve", "physics"),
        ("broad_phase(Solid)", "physics"),
        ("compact Contact", "physics"),
        ("look(Seeker)", "rays"),
        ("scan_by_body(Hider)", "rays"),
        ("publish_Hider", "observations"),
        ("describe(Hider)", "observations"),
        ("pay(Hider)", "rules"),
        ("end_step", "rules"),
    ],
)
def test_systems_belong_to_groups(name: str, group: str) -> None:
    of_physics = body_worlds.physics_systems(wl.definition("HideSeek-v0"))
    timed = SystemTime(name, False, False, 1.0, 0.5, 1.0, 0, 0)
    assert body_worlds.group_of(timed, of_physics) == group
    assert body_worlds.group_of(replace(timed, on_reset=True), of_physics) == "resets"


@only_thorough  # as tests/envs/escape_room compares them
@pytest.mark.usefixtures("quick_compilation")
def test_the_interpreter_and_the_cpu_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    settings = body_worlds.Settings(envs=("EscapeRoom-v0",), check=True, check_worlds=(1, 1), check_steps=(2, 2))
    with pytest.raises(SystemExit) as stopped:
        body_worlds.main(settings)
    assert stopped.value.code == 0 and "the same bits" in capsys.readouterr().out
