"""The process that draws robots: its protocol, its crashes and the back ends that are tried, without OpenGL."""

import os
import sys

import numpy as np
import pytest

import worldloom as wl
from worldloom.robots.rendering import process as shared
from worldloom.robots.rendering.process import MAX_MODELS, DrawProcess

DRAWER = """
import os, signal, sys
from multiprocessing.connection import Connection
import numpy as np

connection, backend, loaded = Connection(int(sys.argv[-1])), os.environ.get("MUJOCO_GL", ""), []
if backend in {broken}:
    print("the driver is broken", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
if backend in {missing}:
    connection.send(("failed", "no library"))
    sys.exit()
connection.send(("ready",))
while True:
    word, key, *arguments = connection.recv()
    if word == "load":
        loaded.append(key)
        connection.send(("loaded",))
    elif word == "free":
        loaded.remove(key)
    elif arguments[0][0]["qpos"][0] < 0:
        connection.send(("failed", "a negative position"))
    elif arguments[0][0]["qpos"][0] > 9 and backend == "egl":
        os.kill(os.getpid(), signal.SIGSEGV)
    else:
        image = np.full((len(arguments[0]), 1, 2, 3), int(arguments[0][0]["qpos"][0]), np.uint8)
        image[:, :, 1] = [len(loaded), len(backend), os.getpid() % 251]
        connection.send(("images", image))
"""
"""A process with the protocol, whose images hold the first position, and the number of loaded models."""
MODEL = (b"", 2, 1, (-1, -1, (0.0, 0.0, 0.0), 1.0))


@pytest.fixture
def drawer(tmp_path, monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    started = []

    def start(broken=(), missing=()):
        file = tmp_path / f"drawer{len(started)}.py"
        file.write_text(DRAWER.format(broken=tuple(broken), missing=tuple(missing)))
        started.append(DrawProcess((sys.executable, str(file))))
        return started[-1]

    yield start
    for process in started:
        process.close()


def draw(process, position, key=0):
    return process.draw(key, MODEL, [{"qpos": np.array([float(position)])}])[0, 0]


def test_images_of_states(drawer):
    process = drawer()
    assert draw(process, 5)[0].tolist() == [5, 5, 5]
    assert draw(process, 7)[1, 1] == len("egl")
    assert process.draw(0, MODEL, [{"qpos": np.zeros(1)}] * 3).shape == (3, 1, 2, 3)
    assert process.failures == []


def test_the_next_back_end_is_tried(drawer):
    process = drawer(broken=["egl"], missing=["osmesa"])
    assert draw(process, 3)[1, 1] == len("glfw")
    assert process.failures == ["egl: killed by SIGSEGV, the driver is broken", "osmesa: no library"]


def test_without_opengl_there_is_one_sentence(drawer):
    process = drawer(broken=["egl"], missing=["osmesa", "glfw"])
    for _ in range(2):  # the second time nothing is started
        with pytest.raises(wl.InputError, match=r"^robots cannot be drawn here, .*missing \(egl: .*glfw: no"):
            draw(process, 3)
    assert len(process.failures) == 3


def test_a_crash_while_drawing_is_survived(drawer):
    process = drawer()
    assert draw(process, 1)[1, 1] == len("egl")
    assert draw(process, 10)[:2, 0].tolist() == [10, 1], "the model is loaded again in the next process"
    assert process.failures == ["egl: killed by SIGSEGV"]


def test_an_error_of_mujoco_ends_nothing(drawer):
    process = drawer()
    before = draw(process, 1)[1, 2]
    with pytest.raises(wl.InputError, match=r"^MuJoCo cannot draw the robot: a negative position$"):
        draw(process, -1)
    assert draw(process, 1)[1, 2] == before, "the same process"


def test_a_reply_that_was_not_awaited_is_dropped(drawer, monkeypatch):
    process = drawer()
    draw(process, 1)
    with monkeypatch.context() as patch:
        patch.setattr(DrawProcess, "_reply", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            draw(process, 2)
    assert draw(process, 3)[0].tolist() == [3, 3, 3], "not the image of 2"
    assert process.failures == []


def test_few_models_are_held(drawer):
    process = drawer()
    counts = [int(draw(process, 1, key)[1, 0]) for key in range(MAX_MODELS + 3)]
    assert counts == [1, 2, 3, 4, 4, 4, 4]
    assert draw(process, 1, key=0)[1, 0] == MAX_MODELS


def test_the_users_back_end_is_the_only_one(drawer, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    process = drawer(missing=["osmesa"])
    with pytest.raises(wl.InputError, match=r"missing \(osmesa: no library\)"):
        draw(process, 1)


def test_a_process_that_hangs_is_killed(drawer, monkeypatch, tmp_path):
    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setattr(shared, "START_TIMEOUT_S", 0.2)
    file = tmp_path / "hanging.py"
    file.write_text("import time\ntime.sleep(100)")
    process = DrawProcess((sys.executable, str(file)))
    with pytest.raises(wl.InputError, match="egl: no reply within"):
        draw(process, 1)
    assert process._process is None


def test_it_ends_with_its_renderer(drawer):
    process = drawer()
    draw(process, 1)
    pid = process._process.pid
    process.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
