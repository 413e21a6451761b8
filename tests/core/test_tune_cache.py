"""What tuning keeps on disk: found again, replaced, and ignored where it is spoilt."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest

from worldloom.core.base.errors import InputError
from worldloom.core.runtime import tune_cache
from worldloom.core.runtime.tune_cache import MAX_THREAD_RATIO, TunedConfig, find, load, store

ONE = TunedConfig(1024, 64, None, 2e-6, 1e-6)
ABOUT = {"kernel": "step_0", "systems": ["swing(Cart)"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tune_cache, "folder", lambda: tmp_path / "tuning")
    return tmp_path / "tuning"


def test_nothing_is_found_where_nothing_was_kept() -> None:
    assert load("a") == [] and find("a", 1) is None


def test_what_was_kept_is_found() -> None:
    store("a", ONE, ABOUT)
    assert load("a") == [ONE] and find("a", 1024) == ONE and find("b", 1024) is None


def test_a_newer_result_replaces_an_older_one_for_as_many_threads(folder: Path) -> None:
    other, newer = TunedConfig(65_536, 256, 40, 2e-6, 1e-6), TunedConfig(1024, 128, 32, 2e-6, 1.5e-6)
    for entry in (ONE, other, newer):
        store("a", entry, ABOUT)
    assert load("a") == [newer, other]
    assert [path.name for path in folder.iterdir()] == ["a.json"], "nothing else is left behind"
    assert json.loads((folder / "a.json").read_text())["systems"] == ["swing(Cart)"]


def test_the_nearest_number_of_threads_counts_if_it_is_near() -> None:
    few, many = TunedConfig(1_000, 32, None, 1.0, 1.0), TunedConfig(100_000, 512, None, 1.0, 1.0)
    store("a", few, {})
    store("a", many, {})
    assert [find("a", n) for n in (900, 9_000, 11_000, 10**6)] == [few, few, many, many]
    assert find("a", 1_000 // MAX_THREAD_RATIO - 1) is None and find("a", 100_000 * MAX_THREAD_RATIO + 1) is None


GOOD = {"threads": 8, "block": 64, "registers": None, "seconds_before": 1.0, "seconds_after": 0.5}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"format": 99, "settings": []}',
        '{"format": 1}',
        '{"format": 1, "settings": {}}',
        '{"format": 1, "settings": [3]}',
        *[
            json.dumps({"format": 1, "settings": [{**GOOD, **wrong}]})
            for wrong in (
                {"block": 0},
                {"block": 2048},
                {"block": 64.0},
                {"block": True},
                {"registers": 8},
                {"registers": 1000},
                {"registers": "40"},
                {"threads": 0},
                {"seconds_after": -1.0},
                {"seconds_before": None},
                {"extra": 1},
            )
        ],
        '{"format": 1, "settings": '
        '[{"threads": 8, "block": 64, "registers": null, "seconds_before": NaN, "seconds_after": 1}]}',
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_a_damaged_file_is_ignored_with_a_warning_and_replaced(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / "a.json").write_text(content)
    with pytest.warns(UserWarning, match=r"the tuning kept in .*a\.json is ignored: "):
        assert load("a") == []
    with pytest.warns(UserWarning, match="is ignored"):
        store("a", ONE, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("a") == [ONE]


def test_a_write_that_fails_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store("a", ONE, {})

    def full(*arguments: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"a\.json cannot be written \(disk full\)"):
        store("a", TunedConfig(2048, 32, None, 1.0, 1.0), {})
    monkeypatch.undo()
    assert [path.name for path in folder.iterdir()] == ["a.json"]
    assert json.loads((folder / "a.json").read_text())["settings"][0]["threads"] == 1024
