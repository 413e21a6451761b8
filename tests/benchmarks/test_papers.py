"""Experiments of papers: published figures, result files, and the calculations and small sizes of every command."""

from __future__ import annotations

import itertools
import json
import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import tyro
import warp as wp
from thorough import only_thorough

from worldloom.core.base.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "papers"))
import ale_games
import atari_engines
import atari_ppo
import cule_table3
import envpool_figure7
import envpool_table2
import madrona_figure3
import madrona_table1
import madrona_worlds
import results
import warpdrive_figure10
import warpdrive_rates
from published import PAPERS, published

CPU = wp.get_device("cpu")


def test_every_published_figure_names_its_source() -> None:
    for paper in PAPERS:
        found = published(paper)
        assert found.pop("paper")
        assert all(part["source"] for part in found.values())


def test_commands_of_the_page_are_valid() -> None:
    """Every command of docs/papers.md and of a program's own text has settings of its program."""
    programs = (cule_table3, envpool_figure7, envpool_table2, madrona_figure3, madrona_table1, warpdrive_figure10)
    modules = {module.__name__: module for module in (*programs, warpdrive_rates)}
    texts = [(Path(__file__).parents[2] / "docs" / "papers.md").read_text(), *(m.__doc__ for m in modules.values())]
    seen = set()
    for line in "\n".join(texts).replace("\\\n", " ").splitlines():
        if line.startswith("python benchmarks/papers/"):
            _, program, *arguments = shlex.split(line, comments=True)
            tyro.cli(modules[Path(program).stem].Settings, args=arguments)
            seen.add(Path(program).stem)
    assert seen == set(modules)


def test_figures_of_cule_agree_with_each_other() -> None:
    """Frames are rate times time, and updates are frames over consoles and steps per update."""
    table = published("cule")["table3"]
    checked = 0
    for game, (number, column) in itertools.product(table["games"].values(), enumerate(table["columns"])):
        kfps, minutes, mframes = game["kfps"][number], game["minutes"][number], game["mframes"][number]
        per_update = column["consoles"] * column["steps_per_update"]
        assert game["ups"][number] == pytest.approx(1e3 * kfps / per_update, rel=0.03)
        assert (minutes is None) == (mframes is None)
        if minutes is not None and column["gpus"] == 1:
            assert kfps * minutes * 60e-3 == pytest.approx(mframes, abs=0.25)
            checked += 1
    assert checked == 24


def test_results_are_kept_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.json"
    first = results.open_results(path, "one", {"seconds": 1.0, "ids": ("a",)})
    first.put("x/1", {"rate": 2.0}, CPU)
    again = results.open_results(path, "one", {"seconds": 1.0, "ids": ("a",)})
    assert again.rows["x/1"]["rate"] == 2.0 and again.rows["x/1"]["measured"]["hardware"]
    assert again.folder("x/1").parent.parent == path.parent
    with pytest.raises(InputError, match="other settings"):
        results.open_results(path, "one", {"seconds": 2.0, "ids": ("a",)})
    with pytest.raises(InputError, match="results of one, not of two"):
        results.open_results(path, "two", {})
    path.write_text('{"rows": 3}')
    with pytest.raises(InputError, match="does not hold results"):
        results.open_results(path, "one", {})


def test_cells_of_tables() -> None:
    values = (None, math.nan, 0.12345, 12345.6, 1234567.0, 1200, "text", 0.0)
    assert [results.cell(v) for v in values] == ["-", "-", "0.123", "12,346", "1.23e+06", "1,200", "text", "0"]


# -- CuLE --------------------------------------------------------------------------------------------------------------


def test_columns_of_table_3_are_found_by_their_settings() -> None:
    settings = cule_table3.Settings(games=("Pong-v5",))
    found = {run.key: cule_table3.columns(run) for run in cule_table3.runs(settings)}
    assert [engine for engine, _ in found["Pong-v5/1200-20-20-1/0"]] == ["OpenAI Gym", "CuLE"]
    assert found["Pong-v5/1200-20-20-1/0"][1][1] == {"kfps": 10.6, "ups": 8.9, "minutes": 3.1, "mframes": 2.0}
    assert found["Pong-v5/120-1-5-5/0"] == [("OpenAI Gym", {"kfps": 4.3, "ups": 7.2, "minutes": 21.2, "mframes": 5.5})]
    assert sum(map(len, found.values())) == 7  # all but the column of four GPUs
    config = next(cule_table3.runs(settings)).config("cpu", 8, None)
    assert (config.num_envs, config.batches, config.num_steps, config.steps_per_update) == (120, 20, 20, 1)
    assert (config.learning_rate, config.schedule, config.entropy_weight) == (6.5e-4, "constant", 0.01)


def test_unknown_games_and_batching_are_refused() -> None:
    with pytest.raises(InputError, match="no score for Breakout-v5"):
        list(cule_table3.runs(cule_table3.Settings(games=("Breakout-v5",))))
    with pytest.raises(InputError, match="batches/N/SPU"):
        list(cule_table3.runs(cule_table3.Settings(batching=("20x20",))))


@only_thorough  # hundreds of frames of ALE
def test_whole_games_are_played_in_ale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a move every game of Pong is lost by 21 points; cut off, it has lost fewer."""
    pytest.importorskip("ale_py")

    class Still:
        def __init__(self, *_: Any) -> None: ...

        def initial_state(self, rows: int, device: Any) -> torch.Tensor:
            return torch.zeros(rows, 0)

        def act(self, observations: Any, state: torch.Tensor, mask: Any) -> Any:
            assert observations["screen"].shape == (2, 4, 84, 84) and observations["screen"].dtype == torch.uint8
            return torch.zeros(2, 1, dtype=torch.int32), state

    monkeypatch.setattr(ale_games, "PolicyActor", Still)
    monkeypatch.setattr(ale_games, "Sampler", lambda *_, **__: None)
    group = SimpleNamespace(observations=lambda: {"screen": None}, spec=SimpleNamespace(action=None))
    learner = SimpleNamespace(agent_group=group, policy=None)
    scores = ale_games.AleTest("Pong-v5", 2, 5000).play(learner, torch.device("cpu"), 0)
    assert scores.tolist() == [-21.0, -21.0]
    assert (ale_games.AleTest("Pong-v5", 2, 150).play(learner, torch.device("cpu"), 0) > -21.0).all()


@only_thorough  # compiles a console, and trains three times
def test_a_training_is_interrupted_and_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ale_py")
    small: dict[str, Any] = {
        **{"device": "cpu", "games": ("Breakout-v5",), "consoles": (2,), "batching": ("2/4/1",), "score": 1e9},
        **{"frames": 24, "every": 8, "episodes": 1, "game_steps": 3, "out": tmp_path / "cule.json"},
    }
    cule_table3.main(cule_table3.Settings(**small, piece=1e-6, limit=1.0))  # before its first training
    assert not (tmp_path / "cule.json").exists()
    cule_table3.main(cule_table3.Settings(**small, limit=1e-6))  # after its first iteration
    (row,) = json.loads((tmp_path / "cule.json").read_text())["rows"].values()
    assert row["frames"] == 2 and row["reached_seconds"] is None and len(row["tests"]) == 1
    cule_table3.main(cule_table3.Settings(**small, plot=tmp_path))
    (continued,) = json.loads((tmp_path / "cule.json").read_text())["rows"].values()
    assert [test["frames"] for test in continued["tests"]] == [2, 10, 18, 24] and continued["updates"] == 12
    assert continued["seconds"] > row["seconds"] and (tmp_path / "cule_figure5_breakout.svg").is_file()
    capsys.readouterr()
    cule_table3.main(cule_table3.Settings(**small))
    assert "complete, not repeated" in capsys.readouterr().out
    small |= {"score": 0.0, "out": tmp_path / "reached.json"}
    cule_table3.main(cule_table3.Settings(**small))
    (reached,) = json.loads((tmp_path / "reached.json").read_text())["rows"].values()
    assert reached["reached_frames"] == 8 and not (tmp_path / "reached.pieces" / "Breakout-v5_2-2-4-1_0").exists()


# -- EnvPool -----------------------------------------------------------------------------------------------------------


class Levers:
    """Games in which action 1 pays, by the interface of ``Games``; an episode has five steps."""

    num_actions = 3

    def __init__(self) -> None:
        self.rng, self.count = np.random.default_rng(0), 0

    def reset(self) -> np.ndarray:
        return self.rng.integers(0, 256, (4, 4, 84, 84), dtype=np.uint8)

    def step(self, actions: np.ndarray) -> atari_engines.Step:
        self.count += 1
        points = (actions == 1).astype(np.float32)
        ended = np.full(4, self.count % 5 == 0)
        return atari_engines.Step(self.reset(), points, ended, 3.0 * points, ended)


def test_ppo_learns_which_lever_pays_and_continues() -> None:
    torch.manual_seed(0)
    settings = atari_ppo.PpoSettings(4, 10, 280, learning_rate=2e-3, minibatches=1, epochs=3)
    ppo = atari_ppo.Ppo(Levers(), settings, torch.device("cpu"))  # type: ignore[arg-type]
    ppo.iterate()
    before = np.mean(ppo.recent)
    while ppo.steps < settings.total_steps:
        ppo.iterate()
    assert np.mean(list(ppo.recent)[-8:]) > before + 3.0  # of 15 points; 5 by chance
    assert all(spent > 0.0 for spent in ppo.seconds.values())
    other = atari_ppo.Ppo(Levers(), settings, torch.device("cpu"))  # type: ignore[arg-type]
    tensors, plain = ppo.state()
    other.load_state({k: v.clone() for k, v in tensors.items()}, json.loads(json.dumps(plain)))
    assert other.steps == ppo.steps and list(other.recent) == list(ppo.recent)
    for name, tensor in other.state()[0].items():
        assert torch.equal(tensor, tensors[name]), name


def test_advantages_are_sums_of_td_errors() -> None:
    rewards, values = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[0.5], [0.25], [0.125]])
    dones, last = torch.tensor([[0.0], [1.0], [0.0]]), torch.tensor([4.0])
    errors = [1.0 + 0.9 * 0.25 - 0.5, 2.0 - 0.25, 3.0 + 0.9 * 4.0 - 0.125]
    found = atari_ppo.advantages_of(rewards, dones, values, last, 0.9, 0.5)
    assert found.flatten().tolist() == pytest.approx([errors[0] + 0.45 * errors[1], errors[1], errors[2]])


def test_lost_lives_end_episodes_but_not_games() -> None:
    lives = iter([3, 2, 2, 1, 0, 3])  # at the reset, then after each step; then at the next reset

    class Game(atari_engines.gymnasium.Env):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return 0, {"lives": next(lives)}

        def step(self, action: Any) -> Any:
            left = next(lives)
            return 0, 1.0, left == 0, False, {"lives": left}

    env = atari_engines.EpisodicLife(Game())
    env.reset()
    ends = [(step[2], step[4]["game_over"]) for step in (env.step(1),)]
    assert ends == [(True, False)]
    env.reset()  # a step of the same game
    assert [env.step(1)[2:5:2] for _ in range(2)] == [
        (True, {"lives": 1, "game_over": False}),
        (True, {"lives": 0, "game_over": True}),
    ]
    assert env.reset()[1]["lives"] == 3


def test_one_environment_of_python(tmp_path: Path) -> None:
    pytest.importorskip("dm_control")
    out = tmp_path / "table2.json"
    settings = envpool_table2.Settings(("CheetahRun-v1",), ("python",), seconds=0.05, rounds=1, out=out)
    envpool_table2.main(settings)
    (row,) = json.loads(out.read_text())["rows"].values()
    assert row["rates"]["python"] > 0.0
    shown = envpool_table2.table_rows(
        settings, results.open_results(out, "envpool_table2", {"seconds": 0.05, "rounds": 1})
    )
    assert [cells[5] for cells in shown[1:]] == pytest.approx([1.87, 1.85, 2.07], abs=0.005)  # the paper's speedups


@only_thorough  # compiles robots and consoles
def test_one_environment_of_every_engine(tmp_path: Path) -> None:
    pytest.importorskip("envpool")
    envpool_table2.main(envpool_table2.Settings(seconds=0.1, rounds=1, out=tmp_path / "a.json", plot=tmp_path))
    rows = json.loads((tmp_path / "a.json").read_text())["rows"].values()
    assert all(min(row["rates"].values()) > 0.0 and len(row["rates"]) == 3 for row in rows)
    settings = envpool_figure7.Settings(
        **{"games": ("Pong-v5",), "device": "cpu", "num_envs": 2, "num_steps": 4, "total_steps": 16},
        out=tmp_path / "figure7.json",
    )
    envpool_figure7.main(settings)
    for row in json.loads((tmp_path / "figure7.json").read_text())["rows"].values():
        assert row["steps"] == 16 and [steps for _, steps, _ in row["curve"]][-1] == 16


# -- Madrona -----------------------------------------------------------------------------------------------------------


def test_crossover_is_interpolated_on_logarithmic_axes() -> None:
    cpu = {1: 1.0, 10: 10.0, 100: 100.0, 1000: 100.0}
    gpu = {1: 0.1, 10: 1.0, 100: 1000.0, 1000: 10000.0}  # ten times slower, then ten times faster
    assert madrona_figure3.crossover(cpu, gpu) == pytest.approx(10**1.5)
    assert madrona_figure3.crossover(cpu, {k: 0.5 * v for k, v in cpu.items()}) is None
    assert madrona_figure3.crossover(cpu, {k: 2.0 * v for k, v in cpu.items()}) == 1.0
    assert madrona_figure3.crossover({}, gpu) is None


def test_worlds_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {"devices": ("cpu",), "worlds": ("CartPole-v1",), "seconds": 0.02, "warm_up": 2}
    table = madrona_table1.Settings(**small, sizes=(4,), out=tmp_path / "table1.json")
    figure = madrona_figure3.Settings(**small, sizes=(1, 4), out=tmp_path / "figure3.json", plot=tmp_path)
    madrona_table1.main(table)
    madrona_figure3.main(figure)
    rows = json.loads((tmp_path / "table1.json").read_text())["rows"]
    by_configuration = {row["configuration"]: row for row in rows.values()}
    assert set(by_configuration) == {"cpu", "cpu, one world per thread", "reference"}
    assert all(row["rate"] > 0.0 for row in rows.values())
    single = by_configuration["cpu, one world per thread"]
    assert single["worlds"] == single["threads"]

    def again(*_: Any, **__: Any) -> None:
        raise AssertionError("measured again")

    for module, name in (
        (madrona_table1, "measure"),
        (madrona_table1, "measure_reference"),
        (madrona_figure3, "measure"),
    ):
        monkeypatch.setattr(module, name, again)
    madrona_table1.main(table)
    madrona_figure3.main(figure)


@only_thorough  # compiles Hanabi
def test_masked_actions_are_legal() -> None:
    assert madrona_worlds.measure("Hanabi-v0", 2, "cpu", 0.02, 30).rate > 0.0  # asserts that there are no faults


# -- WarpDrive ---------------------------------------------------------------------------------------------------------


def test_level_and_time_to_it() -> None:
    slow, fast = [(2.0, 0.0), (4.0, 5.0), (6.0, 10.0)], [(1.0, 1.0), (2.0, 9.5), (3.0, 30.0)]
    level = warpdrive_figure10.common_level([slow, fast])
    assert level == pytest.approx(9.0)
    assert [warpdrive_figure10.seconds_to(curve, 9.0) for curve in (slow, fast)] == [6.0, 2.0]
    assert warpdrive_figure10.common_level([slow, []]) is None and warpdrive_figure10.seconds_to(slow, 11.0) is None
    row = {"steps": 3, "seconds": 1.5, "curve": [[seconds, 1, value, 0.0] for seconds, value in slow]}
    found = results.Results(None, "warpdrive_figure10", {}, {"cpu/0": row})
    settings = warpdrive_figure10.Settings(devices=("cpu",))
    (cells,) = warpdrive_figure10.table_rows(settings, found)
    assert cells == ("cpu", 0, 3, 2.0, 10.0, pytest.approx(9.0), 6.0, None, None)


@only_thorough  # compiles two worlds
@pytest.mark.usefixtures("quick_compilation")
def test_trainings_in_tag(tmp_path: Path) -> None:
    figure = warpdrive_figure10.Settings(
        **{"num_envs": 2, "num_steps": 4, "episode_length": 4, "hidden": (8,), "total_steps": 16, "limit": (1e9,)},
        **{"out": tmp_path / "figure10.json", "plot": tmp_path},
    )
    with pytest.raises(InputError, match="2 numbers for 1 devices"):
        warpdrive_figure10.main(replace(figure, limit=(1.0, 2.0)))
    warpdrive_figure10.main(figure)
    (row,) = json.loads((tmp_path / "figure10.json").read_text())["rows"].values()
    assert row["steps"] == 16 and len(row["curve"]) == 2 and all(len(point) == 4 for point in row["curve"])
    rates = warpdrive_rates.Settings(
        **{"device": "cpu", "cases": ("grid-5",), "worlds": (2,), "num_steps": 2, "iterations": 1, "repetitions": 3},
        **{"out": tmp_path / "rates.json", "plot": tmp_path},
    )
    warpdrive_rates.main(rates)
    (row,) = json.loads((tmp_path / "rates.json").read_text())["rows"].values()
    assert len(row["rates"]) == 3 and min(row["rates"]) > 0.0
    assert (tmp_path / "warpdrive_rates.svg").is_file() and (tmp_path / "warpdrive_figure10.svg").is_file()
