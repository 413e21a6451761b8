"""Models of others: what is damaged, endless or too large is refused in little time, and this process goes on."""

import itertools
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom import robots
from worldloom.robots.loading.checker import CHECKER

LIMITS = robots.LoadLimits(seconds=20.0, gib=1.0)
SHORT = robots.LoadLimits(seconds=1.0, gib=4.0)
BALL = '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
ARM = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.05"/></body>
    <body pos="1 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>
  </worldbody>
  <actuator><motor joint="j" gear="10"/></actuator>
  <sensor><jointpos joint="j"/></sensor>
</mujoco>
"""


def nested(count, depth):
    open_, close = f'<replicate count="{count}">' * depth, "</replicate>" * depth
    return f'<mujoco><worldbody>{open_}<geom size="1"/>{close}</worldbody></mujoco>'


def test_bombs_of_time_end_at_the_limit():
    for text in (nested(100_000_000, 1), nested(100, 6)):
        with pytest.raises(
            wl.InputError, match=r"^MuJoCo cannot compile the MJCF text: it (takes|needs|crashes)"
        ) as raised:
            robots.Model(text, limits=SHORT)
        assert "WORLDLOOM_MODEL_" in str(raised.value) and "robots.LoadLimits(" in str(raised.value)
    assert robots.Model(BALL).nv == 6


@pytest.mark.parametrize(
    "asset",
    [
        '<hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/>',
        '<texture name="h" type="2d" builtin="flat" width="60000" height="60000"/>',
    ],
)
def test_bombs_of_memory_end_at_the_limit(asset):
    text = BALL.replace("<worldbody>", f"<asset>{asset}</asset><worldbody>")
    with pytest.raises(
        wl.InputError, match=r"it (needs more than 1 GiB of memory|crashes MuJoCo).*WORLDLOOM_MODEL_GIB$"
    ):
        robots.Model(text, limits=LIMITS)


MESH = '<mujoco><asset><mesh name="m" file="PIPE.stl"/></asset><worldbody>@</worldbody></mujoco>'.replace(
    "@", '<geom type="mesh" mesh="m"/>'
)
FILES = {
    "mesh": MESH,
    "mesh of a folder": MESH.replace("<mujoco>", '<mujoco><compiler meshdir="parts"/>'),
    "texture": '<mujoco><asset><texture name="t" type="2d" file="PIPE.png"/></asset>'
    '<worldbody><geom size="1"/></worldbody></mujoco>',
    "include": '<mujoco><include file="PIPE.xml"/></mujoco>',
    "include of an include": '<mujoco><include file="middle.xml"/></mujoco>',
    "height field": '<mujoco><asset><hfield name="h" file="PIPE.bin" size="1 1 1 1"/></asset>'
    '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>',
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
@pytest.mark.parametrize("case", FILES)
def test_pipes_are_refused(case, tmp_path, monkeypatch):
    folder = tmp_path / "parts" if "folder" in case else tmp_path
    folder.mkdir(exist_ok=True)
    for ending in ("stl", "png", "xml", "bin"):
        os.mkfifo(folder / f"PIPE.{ending}")
    (tmp_path / "middle.xml").write_text('<mujocoinclude><include file="PIPE.xml"/></mujocoinclude>')
    (tmp_path / "model.xml").write_text(FILES[case])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        wl.InputError, match=r"^MuJoCo cannot compile 'model.xml': '.*PIPE\.\w+', to which it refers, is no reg"
    ):
        robots.Model("model.xml", limits=LIMITS)


def test_a_model_that_is_a_pipe_or_missing(tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    with pytest.raises(wl.InputError, match=r"pipe.xml' is no regular file: name a file"):
        robots.Model(tmp_path / "pipe.xml")
    with pytest.raises(wl.InputError, match=r"there is no model file '.*none.xml'"):
        robots.Model(tmp_path / "none.xml")
    with pytest.raises(wl.InputError, match="not an object of type int"):
        robots.Model(3)


def test_recursion_of_includes_and_entities(tmp_path):
    (tmp_path / "a.xml").write_text('<mujoco><include file="b.xml"/></mujoco>')
    (tmp_path / "b.xml").write_text('<mujocoinclude><include file="b.xml"/></mujocoinclude>')
    with pytest.raises(wl.InputError, match=r"a.xml': .*included"):
        robots.Model(tmp_path / "a.xml", limits=LIMITS)
    names = "abcdefghij"
    pairs = [f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in itertools.pairwise(names)]
    laughs = f'<!DOCTYPE mujoco [<!ENTITY a "{"ha" * 100}">{"".join(pairs)}]>'
    (tmp_path / "laughs.xml").write_text(laughs + BALL.replace("<mujoco>", '<mujoco model="&j;">'))
    try:
        model = robots.Model(tmp_path / "laughs.xml", limits=LIMITS)
    except wl.InputError:
        return
    assert model.nv == 6 and len(model.saved) < 1e6


@pytest.mark.parametrize("seed", range(6))
def test_damaged_compiled_models_are_refused_or_harmless(seed, tmp_path):
    good = np.frombuffer(robots.Model(ARM, trusted=True).saved, np.uint8)
    generator = np.random.default_rng(seed)
    where = generator.integers(0, [400, good.size][seed % 2], [4, 200][seed % 2])
    damaged = good.copy()
    damaged[where] ^= generator.integers(1, 256, where.size).astype(np.uint8)
    file = tmp_path / "arm.mjb"
    file.write_bytes(damaged.tobytes()[: good.size // (1 + (seed == 4))])
    try:
        model = robots.Model(file, limits=LIMITS)
    except wl.InputError as error:
        assert str(error).startswith(f"MuJoCo cannot compile '{file}': ")
        return
    data = model.mujoco.MjData(model.mj_model)
    for _ in range(10):
        model.mujoco.mj_step(model.mj_model, data)


def test_unknown_kinds_in_a_compiled_model_are_named(tmp_path):
    model = robots.Model(ARM, trusted=True)
    model.mj_model.geom_type[1] = 77
    file = tmp_path / "arm.mjb"
    file.write_bytes(model.saved)
    with pytest.raises(wl.InputError, match=r"arm.mjb': it is damaged, or saved by another version than .*geom_type"):
        robots.Model(file, limits=LIMITS)


def test_the_model_is_the_same_in_both_processes(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    saved = robots.Model(ARM, trusted=True).saved
    (tmp_path / "arm.mjb").write_bytes(saved)
    for source in (ARM, file, tmp_path / "arm.mjb"):
        assert robots.Model(source).saved == saved
    text = MESH.replace("PIPE.stl", "m.obj")
    mesh = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    models = [robots.Model(text, {"m.obj": mesh}, trusted=trusted) for trusted in (False, True)]
    assert models[0].saved == models[1].saved


def test_bundled_models_need_no_process():
    pytest.importorskip("gymnasium")
    CHECKER.close()
    wl.make_spec("Hopper-v5")
    wl.make_spec("LocomotionAnt-v0")
    assert CHECKER._process is None
    robots.Model(BALL)
    assert CHECKER._process is not None


def test_an_idle_or_killed_process_is_replaced():
    robots.Model(BALL)
    CHECKER._process.kill()
    CHECKER._process.wait()
    assert robots.Model(BALL).nv == 6


def test_no_file_descriptors_are_left():
    CHECKER.close()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    for spare in range(8):  # the pair of sockets, and what the start of the process needs
        free = os.open(os.devnull, os.O_RDONLY)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, before[1]))
        try:
            robots.Model(BALL)
        except wl.InputError as error:
            assert "refuses the process that loads models (Too many open files): raise the limit" in str(error)
        else:
            break
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert spare > 1 and robots.Model(BALL).nv == 6


def test_threads_and_forks_share_no_process():
    results = []
    threads = [threading.Thread(target=lambda: results.append(robots.Model(BALL).nv)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [6] * 4
    program = f"""
import os, worldloom.robots as robots
robots.Model({BALL!r})
child = os.fork()
if child == 0:
    os._exit(int(robots.Model({ARM!r}).nv != 7))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert robots.Model({BALL!r}).nv == 6
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=300)


def test_limits(monkeypatch):
    monkeypatch.setenv("WORLDLOOM_MODEL_SECONDS", "0.5")
    assert robots.LoadLimits(gib=3).resolved() == (0.5, 3.0)
    with pytest.raises(wl.InputError, match=r"it takes longer than 0\.5 s"):
        robots.Model(nested(100_000_000, 1), limits=robots.LoadLimits(gib=64.0))
    monkeypatch.setenv("WORLDLOOM_MODEL_GIB", "much")
    with pytest.raises(wl.InputError, match=r"^WORLDLOOM_MODEL_GIB is a positive number, not 'much'$"):
        robots.Model(BALL)
    for wrong in (0, -1.0, float("nan"), True, "x"):
        with pytest.raises(wl.InputError, match="seconds of LoadLimits is a positive number"):
            robots.Model(BALL, limits=robots.LoadLimits(seconds=wrong))
    with pytest.raises(wl.InputError, match=r"limits are robots\.LoadLimits\(seconds=\.\.\., gib=\.\.\.\), not 0"):
        robots.Model(BALL, limits=0)


def test_an_opengl_that_mujoco_refuses():
    program = f"import worldloom.robots as robots\nrobots.Model({BALL!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "MUJOCO_GL": "none"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=100)
    assert "InputError: MuJoCo cannot be imported with MUJOCO_GL=none (invalid value" in done.stderr


UNSTABLE = """
import sys
from pathlib import Path
import numpy as np
import worldloom as wl
from worldloom import robots

Path("arm.xml").write_text(sys.argv[1])
model = robots.Model("arm.xml")
class Arm(wl.Entity, model.State):
    pull: wl.Action(wl.Box(-1.0, 1.0, (1,)))
class Room(wl.World):
    pass
physics = robots.Physics(model, Arm)
data = model.mujoco.MjData(model.mj_model)
for k in range(3):
    for _ in range(3):
        data.qpos[:] = 1e20 * (k + 1)
        model.mujoco.mj_step(model.mj_model, data)
assert robots.measure(model, episodes=1, steps=5).mean_contacts >= 0
Path("arm.xml").unlink()
assert not list(Path.cwd().iterdir()), list(Path.cwd().iterdir())
"""


def test_warnings_are_logged_once_per_model_and_leave_no_file(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", UNSTABLE, ARM]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "huge value in QPOS" in line]
    assert len(lines) == 1 and lines[0].startswith("MuJoCo: ") and lines[0].endswith("(in 'arm.xml')"), done.stderr
    assert not list(Path(tmp_path).iterdir())


def test_warnings_of_mujoco_in_tests_leave_no_file(tmp_path, monkeypatch):
    mujoco = pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    data.qpos[:] = 1e20
    mujoco.mj_step(model, data)
    assert not list(tmp_path.iterdir())
