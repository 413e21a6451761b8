"""Images of robots by MuJoCo's renderer, in a process of its own."""

import numpy as np
import pytest
import test_physics
from test_physics import MODEL, PENDULUM, PHYSICS, Arm, define

import worldloom as wl
from worldloom import robots
from worldloom.robots.rendering import process as shared
from worldloom.robots.rendering import renderer
from worldloom.robots.rendering.camera import choose_camera
from worldloom.robots.rendering.process import DrawProcess

SMALL = {"width": 64, "height": 48}
BALL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="50 50 1"/>
    <body><freejoint/><geom size="0.2"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def opengl():
    simulation = wl.Simulation(define(), num_worlds=1, seed=0)
    try:
        robots.Renderer(PHYSICS, 8, 8)(simulation, 0)
    except wl.InputError as missing:
        pytest.skip(str(missing))


@pytest.mark.usefixtures("opengl")
def test_an_image_shows_the_state():
    draw = robots.Renderer(PHYSICS, **SMALL)
    simulation = wl.Simulation(define(), num_worlds=3, seed=0)
    simulation[Arm].qpos.numpy()[:, 0] = [[0.0, 0.0], [1.5, 0.0], [0.0, 0.0]]
    hanging, raised, same = (draw(simulation, world) for world in range(3))
    assert hanging.shape == (48, 64, 3) and hanging.dtype == np.uint8
    assert hanging.std() > 5.0
    assert (hanging == same).all()
    assert (np.abs(hanging.astype(int) - raised).max(axis=2) > 20).mean() > 0.01
    assert (draw.images(simulation, [1, 2]) == [raised, same]).all()


@pytest.mark.usefixtures("opengl")
def test_parameters_of_a_world_and_places_are_visible():
    class Thick(wl.Entity, MODEL.State):
        geom_size: MODEL.geom_size

    physics = robots.Physics(MODEL, Thick)
    definition = wl.Definition(
        "Thick-v0", test_physics.Room, {Thick: 1}, reset=(physics.home, physics.forward), step=physics.step
    )
    simulation = wl.Simulation(definition, num_worlds=2, seed=0)
    simulation[Thick].geom_size.numpy()[1, 0, 1:] = [0.2, 0.25, 0.0]
    thin, thick = robots.Renderer(physics, **SMALL).images(simulation, [0, 1])
    assert (thin != thick).any()

    def places(_: wl.Simulation, world: int):
        return {("body", "upper"): (np.nan, np.nan, 0.9 + 0.5 * world)}

    draw = robots.Renderer(physics, **SMALL, places=places)
    states = draw.states(simulation, [0, 1])
    assert [state["body_pos"][MODEL.body("upper")].tolist() for state in states] == [[0, 0, 0.9], [0, 0, 1.4]]
    assert (draw(simulation, 0) == thin).all()
    assert (draw(simulation, 1) != thick).any()


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("id", ["InvertedPendulum-v5", "LocomotionAnt-v0"])
def test_bundled_worlds_have_images(id):
    env = wl.make(id, num_envs=2, seed=0, render_mode="rgb_array")
    env.reset()
    first = env.render()
    assert len(first) == 2 and first[0].shape == (480, 480, 3)
    for _ in range(10):
        env.step(env.action_space.sample())
    assert (env.render()[1] != first[1]).any()
    env.close()


@pytest.mark.usefixtures("opengl")
def test_drawing_leaves_the_state_unchanged():
    simulations = [wl.Simulation(define(), num_worlds=2, seed=3) for _ in range(2)]
    draw = robots.Renderer(PHYSICS, **SMALL)
    for _ in range(5):
        for simulation in simulations:
            simulation.step(np.ones((2, 1, 2), np.float32))
        draw.images(simulations[0], [0, 1])
    for name in ("qpos", "qvel", "qacc_warmstart", "xpos"):
        first, second = (getattr(simulation[Arm], name).numpy() for simulation in simulations)
        assert (first == second).all(), name


def test_the_camera_of_a_model():
    def camera(text, name=None):
        return choose_camera(robots.Model(text), name)

    index, body, center, distance = camera(PENDULUM)
    assert (index, body) == (-1, -1), "nothing moves away"
    assert center == pytest.approx((0.0, 0.0, 0.4))
    assert 0.5 < distance < 4.0
    fixed = PENDULUM.replace("<body", '<camera name="side" pos="0 -3 1"/><body', 1)
    assert camera(fixed)[:2] == (0, -1)
    tracking = fixed.replace("<joint", '<camera name="track" mode="trackcom" pos="0 -3 0"/><joint', 1)
    assert camera(tracking)[:2] == (1, -1)
    assert camera(tracking, "side")[:2] == (0, -1)
    with pytest.raises(wl.InputError, match="has no camera 'top'; it has side"):
        camera(fixed, "top")
    index, body, _, distance = camera(BALL)
    assert (index, body) == (-1, 1), "the ball rolls away"
    assert 0.2 < distance < 2.0, "the size of the ground does not count"


def test_without_opengl_a_training_has_no_video(worldloom_without_opengl, tmp_path, capsys):
    from worldloom.cli.main import main

    few = ["--device", "cpu", "--num-envs", "2", "--total-steps", "64", "--quiet", "--run-dir"]
    assert main(["train", "InvertedPendulum-v5", *few, str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().err
    assert "no video.mp4: robots cannot be drawn here, as OpenGL is missing (off: " in printed
    assert (tmp_path / "run" / "checkpoints").is_dir() and not (tmp_path / "run" / "video.mp4").exists()


@pytest.fixture
def worldloom_without_opengl(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "off")
    monkeypatch.setattr(shared, "DRAW_PROCESS", DrawProcess())


def test_many_images_are_drawn_in_parts(monkeypatch):
    class Counter(DrawProcess):
        def draw(self, key, model, states):
            counts.append(len(states))
            return np.array([np.full((1, 1, 3), state["qpos"][0, 0] * 10) for state in states], np.uint8)

    counts = []
    monkeypatch.setattr(renderer, "PER_REQUEST", 2)
    simulation = wl.Simulation(define(), num_worlds=5, seed=0)
    simulation[Arm].qpos.numpy()[:, 0, 0] = np.arange(5)
    images = robots.Renderer(PHYSICS, 1, 1, process=Counter()).images(simulation, [4, 3, 2, 1, 0])
    assert counts == [2, 2, 1]
    assert images[:, 0, 0, 0].tolist() == [40, 30, 20, 10, 0]


def test_wrong_sizes_are_refused():
    with pytest.raises(wl.InputError, match="the width of an image is 1 to 8192 pixels, not 0"):
        robots.Renderer(PHYSICS, width=0)


@pytest.mark.usefixtures("opengl")
def test_the_video_of_a_task(tmp_path, capsys):
    from worldloom.cli.main import main

    target = tmp_path / "out.mp4"
    options = ["--random", "--video", str(target), "--max-frames", "3", "--tiles", "2"]
    assert main(["play", "CartpoleBalance-v1", *options]) == 0
    assert "3 frames of CartpoleBalance-v1, 0.0 s" in capsys.readouterr().out, "100 frames per second"
    assert b"ftyp" in target.read_bytes()[:12]


@pytest.mark.usefixtures("opengl")
def test_robots_without_a_renderer_have_the_default_one():
    plain = wl.Definition(
        "Plain-v0", test_physics.Room, {Arm: 1}, reset=(PHYSICS.home, PHYSICS.forward), step=PHYSICS.step
    )
    assert isinstance(plain.render, robots.Renderer) and plain.render.physics is PHYSICS
    env = wl.make(plain, num_envs=2, render_mode="rgb_array")
    env.reset(seed=0)
    images = env.render()
    assert len(images) == 2 and images[0].shape == (480, 480, 3) and images[0].std() > 5.0
    own = robots.Renderer(PHYSICS, **SMALL)
    other = wl.Definition("Own-v0", test_physics.Room, {Arm: 1}, step=PHYSICS.step, render=own)
    assert other.render is own
