"""The files of TensorBoard: errors of threads are shown, except those of its writer, which are raised elsewhere."""

import threading
from pathlib import Path
from typing import Any

import pytest

from worldloom.learn.runs.event_files import open_events


class Writer(threading.Thread):
    __module__ = "tensorboard.summary.writer"


def failed(thread: threading.Thread, error: Exception) -> threading.ExceptHookArgs:
    return threading.ExceptHookArgs((type(error), error, None, thread))


def test_errors_of_other_threads_are_shown_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    shown: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda details: shown.append(details.exc_value))
    open_events(tmp_path / "one", None).close()
    open_events(tmp_path / "two", None).close()
    inner = threading.excepthook
    monkeypatch.setattr(threading, "excepthook", lambda details: inner(details))  # a program's own, which calls on
    open_events(tmp_path / "three", None).close()
    error = ValueError("wrong")
    threading.excepthook(failed(threading.Thread(), error))
    threading.excepthook(failed(Writer(), OSError("full")))
    threading.excepthook(failed(Writer(), error))
    assert shown == [error, error]
