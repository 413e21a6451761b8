"""Every scene of docs/physics_accuracy.md has its outcome, within the tolerance of its row."""

import math
import sys
from pathlib import Path

import pytest
from thorough import THOROUGH

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import physics_scenarios
from physics_lab.mujoco_dominoes import mujoco_front_speed
from physics_lab.scenario import Outcome, Scenario, run
from physics_lab.stacks import DOMINO_SPEED

LONGEST = 5_000
"""Steps of the longest scenes in `make test`; test_free_rotation.py shows the same of bodies without contacts."""
SCENARIOS = [
    scenario
    for scenario in physics_scenarios.all_scenarios()
    if math.isfinite(scenario.tolerance) and (THOROUGH or scenario.steps <= LONGEST)
]


def label(scenario: Scenario) -> str:
    return f"{scenario.name}, {scenario.settings_text}"


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """What every scenario measures; all of them are worlds of one compiled program."""
    return {label(outcome.scenario): outcome for outcome in run(SCENARIOS)}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=label)
def test_a_scene_has_its_known_outcome(scenario: Scenario, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[label(scenario)]
    assert outcome.faults == ()
    assert outcome.measured == pytest.approx(scenario.expected, abs=scenario.tolerance)


def test_the_page_has_every_scenario() -> None:
    page = physics_scenarios.PAGE.read_text()
    rows = [
        f"| {s.name} | {s.settings_text} | {physics_scenarios.amount(s.expected, s.unit)} |"
        for s in physics_scenarios.all_scenarios()
    ]
    assert [row for row in rows if row not in page] == [], "run python benchmarks/physics_scenarios.py --write"


def test_the_speed_of_dominoes_is_that_of_mujoco() -> None:
    assert mujoco_front_speed(5e-4) == pytest.approx(DOMINO_SPEED, rel=0.01)


def test_tables_are_printed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{physics_scenarios.BEGIN}old\n{physics_scenarios.END}\nThe end.\n")
    monkeypatch.setattr(physics_scenarios, "PAGE", page)
    chosen = [scenario for scenario in SCENARIOS if "5 m/s" in scenario.name]
    monkeypatch.setattr(physics_scenarios, "all_scenarios", lambda: chosen)
    physics_scenarios.main(physics_scenarios.Settings(write=True, out=tmp_path / "figures.json"))
    assert "ball skids at 5 m/s" in capsys.readouterr().out
    text = page.read_text()
    assert "| ball skids at 5 m/s, then rolls: speed | defaults | 3.571 m/s |" in text
    assert "old" not in text and text.startswith("# Title") and text.endswith("The end.\n")
    assert '"verdict": "within"' in (tmp_path / "figures.json").read_text()


def test_a_scenario_that_is_missed_is_shown() -> None:
    ball = next(scenario for scenario in SCENARIOS if "5 m/s" in scenario.name)
    outcome = Outcome(ball, ball.expected + 2.0 * ball.tolerance)
    assert physics_scenarios.table_row(outcome)["verdict"] == "OUTSIDE"
    assert not Outcome(ball, ball.expected, ("a fault",)).within
