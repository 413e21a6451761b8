"""Files of replay logs: whatever does not fit the world is refused when they are loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError

Change = Callable[[dict[str, Any], dict[str, Any]], object]
WRONG: dict[str, tuple[Change, str]] = {
    "no facts": (lambda t, f: f.clear(), "lacks what every replay log has"),
    "autoreset": (lambda t, f: f.update(autoreset="sometimes"), "lacks what every replay log has"),
    "device": (lambda t, f: f.update(device=7), "lacks what every replay log has"),
    "checks": (lambda t, f: f.update(checks="yes"), "lacks what every replay log has"),
    "offset": (lambda t, f: f.update(world_offset=1e999), "lacks what every replay log has"),
    "shared": (lambda t, f: f.update(shared=5), "lacks what every replay log has"),
    "counts": (lambda t, f: f.update(counts={"Runner": True}), "lacks what every replay log has"),
    "many": (lambda t, f: f.update(counts={"Runner": 2**30}), "numbers of entities that there cannot be"),
    "batch": (lambda t, f: f.update(batch=0), "lacks what every replay log has"),
    "options": (lambda t, f: f.update(options=[]), "lacks what every replay log has"),
    "options' type": (lambda t, f: f.update(options={"solver": ["best"]}), "has options that .* lacks"),
    "unknown options": (lambda t, f: f.update(options={"solver": "best"}), "has options that .* lacks"),
    "id": (lambda t, f: f.update(world="x" * 5000), "lacks what every replay log has"),
    "worlds": (lambda t, f: t.update(worlds=torch.tensor([0, 0, 1])), "numbers of worlds that there cannot be"),
    "negative worlds": (
        lambda t, f: t.update(worlds=torch.tensor([0, -1, 1])),
        "numbers of worlds that there cannot be",
    ),
    "no worlds": (lambda t, f: t.pop("worlds"), "lacks what every replay log has"),
    "fewer worlds": (lambda t, f: t.update(worlds=torch.tensor([0, 1])), "holds 2 worlds, but its column"),
    "flags": (lambda t, f: t.update({"0/flags": t["0/flags"] + 4}), "flags that this world cannot have"),
    "flags' type": (lambda t, f: t.update({"0/flags": t["0/flags"].float()}), "flags of type float32"),
    "digests": (lambda t, f: t.update({"0/digests": t["0/digests"][:1]}), "digests of type int32 and shape"),
    "actions": (lambda t, f: t.pop("0/actions/Runner.move"), "actions that this world cannot have"),
    "actions' shape": (
        lambda t, f: t.update({"0/actions/Runner.move": t["0/actions/Runner.move"][..., :1]}),
        "Runner.move of type int32 and shape",
    ),
    "resets": (lambda t, f: t.pop("0/resets/mask"), "lacks what every replay log has"),
    "resets' times": (
        lambda t, f: t.update({"0/resets/before": t["0/resets/before"] + 99}),
        "resets that this world cannot have",
    ),
    "state": (lambda t, f: t.pop("0/state/World.episode"), "lacks what every replay log has"),
    "state's shape": (
        lambda t, f: t.update({"0/state/Runner.age": t["0/state/Runner.age"][:, :1]}),
        "state/Runner that this world cannot have",
    ),
    "state's rows": (
        lambda t, f: t.update({"0/state/Runner.age": t["0/state/Runner.age"][:1]}),
        "holds 3 worlds, but its column Runner.age has the shape",
    ),
}


@pytest.fixture
def contents(race: wl.Definition, tmp_path: Path) -> tensor_file.Contents:
    simulation = wl.Simulation(race, 3, "python", seed=1)
    with simulation.record() as recorder:
        simulation.step(np.zeros((3, 2), np.int32))
        simulation.reset(np.array([True, False, False]))
        simulation.step(np.zeros((3, 2), np.int32))
    recorder.log.save(tmp_path / "race")
    return tensor_file.read(tmp_path / "race", "replay log", 1)


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused(
    race: wl.Definition, contents: tensor_file.Contents, name: str, tmp_path: Path
) -> None:
    change, message = WRONG[name]
    change(contents.tensors, contents.facts)
    tensor_file.write(tmp_path / "odd", "replay log", 1, contents.tensors, contents.facts)
    with pytest.raises(InputError, match=rf"odd .*{message}"):
        wl.ReplayLog.load(tmp_path / "odd", race)


def test_a_number_out_of_range_is_refused_when_it_is_played(
    race: wl.Definition, contents: tensor_file.Contents, tmp_path: Path
) -> None:
    contents.tensors["0/state/World.broken"].view(torch.uint8)[:] = 9
    tensor_file.write(tmp_path / "odd", "replay log", 1, contents.tensors, contents.facts)
    log = wl.ReplayLog.load(tmp_path / "odd", race)
    with pytest.raises(InputError, match=r"odd cannot be restored, since World.broken of world 0 holds 9"):
        log.replay(0, log.episodes(0)[0])


def test_a_world_is_given_by_its_id_or_definition(contents: tensor_file.Contents, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="given by its id or its definition, not by int"):
        wl.ReplayLog.load(tmp_path / "race", 5)
