"""Symbolic links in a run's folder are refused and never followed."""

import os

import pytest
from finished_runs import checkpoints, contents, refused

from worldloom.learn.runs.checkpoint_files import STATE, TENSORS
from worldloom.learn.runs.training_run import run_training

PRECIOUS = "somebody else's file\n"


@pytest.fixture
def precious(tmp_path_factory):
    """A file and a folder elsewhere, which must never change."""
    place = tmp_path_factory.mktemp("elsewhere")
    (place / "precious.txt").write_text(PRECIOUS)
    return place


def test_the_old_temporary_name_leads_nowhere(run, precious):
    folder, request = run
    for name in (".config.json.writing", ".metrics.jsonl.writing"):
        (folder / name).symlink_to(precious / "precious.txt")
    assert run_training(request).complete
    assert contents(precious) == {"precious.txt": PRECIOUS.encode()}


@pytest.mark.parametrize(
    "name", ["config.json", "metrics.jsonl", "world.json", ".lock", ".launch", "events", "checkpoints"]
)
@pytest.mark.parametrize("dangling", [False, True])
def test_links_in_the_place_of_files_are_refused(run, precious, name, dangling):
    folder, request = run
    moved = precious / "moved"
    if (folder / name).exists():
        os.rename(folder / name, moved)
    else:
        moved.write_text("")
    (folder / name).symlink_to(precious / "absent" if dangling else moved)
    before = contents(precious)
    match = "there is no run to resume" if name == "config.json" and dangling else "symbolic link"
    refused(request, match)
    assert contents(precious) == before


@pytest.mark.parametrize(
    "name",
    [
        "iteration_00000003",
        "iteration_00000099",
        ".writing_iteration_00000004",
        ".dropped_x",
        ".replaced_iteration_00000009",
    ],
)
def test_links_below_checkpoints_are_told(run, precious, name):
    folder, request = run
    place = folder / "checkpoints" / name
    if place.exists():
        os.rename(place, precious / "moved")
    place.symlink_to(precious)
    before = contents(precious)
    refused(request, f"{name} is a symbolic link, which a run's folder must not have")
    assert contents(precious) == before


@pytest.mark.parametrize("name", [STATE, TENSORS])
def test_links_within_a_checkpoint_are_told(run, precious, name):
    folder, request = run
    for path in checkpoints(folder):
        os.rename(path / name, precious / f"{path.name}_{name}")
        (path / name).symlink_to(precious / f"{path.name}_{name}")
    refused(request, rf"was not changed: .*{name} cannot be read \(it is a symbolic link\)")
