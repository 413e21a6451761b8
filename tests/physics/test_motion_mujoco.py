"""Bodies that slide, spin and come to rest against MuJoCo's C engine, with stiff contacts and steps of 1/3 ms.

Impacts are not compared: MuJoCo's contacts are soft. Settings are those that physics ships.
"""

import math

import numpy as np
import pytest
from physics_scenes import FLOOR, BodySpec, Thing, axis_angle, matrix, simulate
from test_contacts_mujoco import geom

from worldloom import physics

mujoco = pytest.importorskip("mujoco")

OPTIONS = """
  <option timestep="0.00033333333333333335" cone="elliptic" impratio="100" integrator="implicitfast"
    gravity="0 0 -9.8"/>
  <default><geom solref="0.002 1" solimp="0.99 0.999 0.0001" condim="3"/></default>
"""


def reference(body: BodySpec, steps: int, tilt: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    """Position and quaternion (w first) of a body on a plane after each step of 1/30 s, by MuJoCo, shape (steps, 7)."""
    mesh, shape = geom(body, "thing")
    friction = f'friction="{body.friction} 0 0"'
    plane = " ".join(map(str, np.roll(tilt, 1)))
    shape = shape.replace("/>", f' density="{body.density}" {friction}/>')
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>{OPTIONS}<asset>{mesh}</asset><worldbody>
        <geom type="plane" size="50 50 1" quat="{plane}" {friction}/><body><freejoint/>{shape}</body>
        </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:] = [*body.position, *np.roll(body.rotation, 1)]
    axes = matrix(np.asarray(body.rotation))
    data.qvel[:] = [*body.velocity, *(axes.T @ body.spin)]  # the spin of a free joint is in the frame of the body
    rows = []
    for _ in range(steps):
        mujoco.mj_step(model, data, nstep=100)
        rows.append(data.qpos.copy())
    return np.array(rows)


def states(body: BodySpec, steps: int, tilt: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    """The same of worldloom."""
    plane = BodySpec(physics.PLANE, rotation=tilt, motion=physics.STATIC, friction=body.friction)
    sim = simulate([plane, body])
    rows = []
    for _ in range(steps):
        sim.step()
        position, rotation = (sim[Thing][name].numpy()[0, 1] for name in ("position", "rotation"))
        rows.append([*position, *np.roll(rotation, 1)])
    assert sim.errors() == []
    return np.array(rows, np.float64)


def yaw(rows: np.ndarray) -> np.ndarray:
    return np.unwrap(2.0 * np.arctan2(rows[:, 6], rows[:, 3]))


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.3), (4.0, 0.5), (5.0, 0.4)])
def test_a_box_slides_to_rest_like_mujocos(speed: float, friction: float) -> None:
    size = (0.5, 0.4, 0.1)
    box = BodySpec(physics.BOX, size, (0.0, 0.0, 0.1), velocity=(speed, 0.0, 0.0), friction=friction)
    exact, found = reference(box, 60), states(box, 60)
    assert exact[-1, 0] == pytest.approx(speed**2 / (2.0 * friction * 9.8), rel=0.01)
    assert np.abs(found[:, 0] - exact[:, 0]).max() < 0.005 * speed  # half a substep
    assert np.abs(found[:, 1]).max() < 1e-3 and np.abs(yaw(found)).max() < 1e-3


@pytest.mark.parametrize(("degrees", "friction"), [(20.0, 0.5), (30.0, 0.3), (35.0, 0.5), (40.0, 0.7)])
def test_a_box_on_an_incline_slides_or_stays_like_mujocos(degrees: float, friction: float) -> None:
    angle = math.radians(degrees)
    tilt = axis_angle((0.0, 1.0, 0.0), -angle)
    up = np.array([-math.sin(angle), 0.0, math.cos(angle)])
    box = BodySpec(physics.BOX, (0.5, 0.5, 0.25), tuple(0.25 * up), tilt, friction=friction)
    paths = (reference(box, 45, tilt), states(box, 45, tilt))
    exact, found = (np.linalg.norm(rows[:, :3] - 0.25 * up, axis=1) for rows in paths)
    if math.tan(angle) > friction:
        assert exact[-1] > 0.3
        assert found[9:] == pytest.approx(exact[9:], rel=0.03, abs=3e-3)
    else:
        assert found[-1] < 2e-3 and exact[-1] < 0.02


@pytest.mark.parametrize("spin", [4.0, 10.0])
def test_a_spinning_box_comes_to_rest_like_mujocos(spin: float) -> None:
    """Friction at the four corners of its face stops it."""
    box = BodySpec(physics.BOX, (0.4, 0.3, 0.1), (0.0, 0.0, 0.1), spin=(0.0, 0.0, spin), friction=0.4)
    exact, found = yaw(reference(box, 60)), yaw(states(box, 60))
    assert exact[-1] - exact[-10] < 1e-3  # at rest
    assert np.abs(found - exact).max() < 0.03 * exact[-1] + spin / 240.0
    assert found[-1] - found[-10] < 1e-3


RESTING = {
    "box falls flat": BodySpec(physics.BOX, (0.5, 0.4, 0.3), (0.0, 0.0, 0.45), axis_angle((1.0, 0.5, 0.0), 0.2)),
    "tall box tips over": BodySpec(physics.BOX, (0.2, 0.2, 0.8), (0.0, 0.0, 0.9), axis_angle((0.0, 1.0, 0.0), 0.5)),
    "wedge on its bottom": BodySpec(physics.WEDGE, (0.5, 0.6, 0.4), (0.0, 0.0, 0.45), axis_angle((1.0, 0.0, 0.0), 0.2)),
    "capsule falls over": BodySpec(physics.CAPSULE, (0.2, 0.5, 0.0), (0.0, 0.0, 0.6), axis_angle((0.0, 1.0, 0.0), 0.9)),
    "hull": BodySpec(physics.HULL, position=(0.0, 0.0, 0.5), rotation=axis_angle((1.0, 0.3, 0.0), 0.15), hull=1),
    "sphere": BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), (0.0, 0.0, 0.32)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESTING)
def test_bodies_come_to_rest_in_mujocos_poses(name: str) -> None:
    """The height of the centre, and the direction that is down in the body frame."""
    body = RESTING[name]
    exact, found = reference(body, 240), states(body, 240)
    assert np.abs(found[-1] - found[-15]).max() < 2e-3 and np.abs(exact[-1] - exact[-15]).max() < 5e-3
    assert found[-1, 2] == pytest.approx(exact[-1, 2], abs=4e-3)
    if body.shape in (physics.BOX, physics.WEDGE, physics.HULL):
        down = [matrix(np.roll(rows[-1, 3:], -1)).T @ (0.0, 0.0, -1.0) for rows in (exact, found)]
        assert down[0] @ down[1] > math.cos(0.01)
    if body.shape == physics.CAPSULE:
        assert all(abs(matrix(np.roll(rows[-1, 3:], -1))[2, 2]) < 0.01 for rows in (exact, found))


def test_the_floor_bears_the_weight() -> None:
    """The impulse of the contact in a step is that of gravity, as MuJoCo's normal force is the weight."""
    box = BodySpec(physics.BOX, (0.5, 0.4, 0.3), (0.0, 0.0, 0.3), density=500.0)
    sim = simulate([FLOOR, box], sleep_speed=0.0)
    for _ in range(60):
        sim.step()
    weight = float(sim[Thing].mass.numpy()[0, 1]) * 9.8
    assert float(sim["Contact"].impulse.numpy()[0, 0]) * 30.0 == pytest.approx(weight, rel=1e-3)
