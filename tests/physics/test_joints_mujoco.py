"""Joints against MuJoCo's C engine, which runs with 2,400 time steps per second."""

import math

import numpy as np
import pytest
from physics_scenes import SOLID, BodySpec, JointSpec, Thing, axis_angle, matrix, simulate

from worldloom import physics

mujoco = pytest.importorskip("mujoco")

HEAD = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.00041666666666666669" integrator="RK4" gravity="0 0 -9.8"><flag contact="disable"/></option>
  <worldbody>
"""
PIVOT = BodySpec(physics.SPHERE, (0.05, 0.0, 0.0), (0.0, 1.0, 5.0), motion=physics.STATIC)  # 1 m beside the joint
ROD = BodySpec(physics.BOX, (0.5, 0.05, 0.05), (0.5, 0.0, 5.0))
HANG = JointSpec(physics.HINGE, 0, 1, (0.0, -1.0, 0.0), (-0.5, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
ROD_XML = '<geom type="box" size=".5 .05 .05" pos=".5 0 0" density="1000"/>'


def reference(bodies: str, steps: int, actuators: str = "", ahead: bool = False) -> np.ndarray:
    """Joint positions of MuJoCo after each step of 1/30 s, shape (steps, joints); ``ahead``: half a substep later.

    A body released from rest has moved by h² a after the first substep h, as if it had been released h / 2 before.
    """
    model = mujoco.MjModel.from_xml_string(f"{HEAD}{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>")
    data = mujoco.MjData(model)
    data.ctrl[:] = 1.0
    rows = []
    mujoco.mj_step(model, data, nstep=10 if ahead else 0)
    for _ in range(steps):
        mujoco.mj_step(model, data, nstep=80)
        rows.append(data.qpos.copy())
    return np.array(rows)


def coordinates(bodies: list[BodySpec], joints: tuple[JointSpec, ...], steps: int, **config) -> np.ndarray:
    """Coordinates of joints after each step, shape (steps, joints)."""
    sim = simulate(bodies, joints=joints, **config)
    rows = []
    for _ in range(steps):
        sim.step()
        rows.append(sim[SOLID.Joint].coordinate.numpy()[0, : len(joints)].copy())
    assert sim.errors() == []
    return np.array(rows, np.float64)


def angle_error(measured: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Absolute differences of angles, which are known up to whole turns."""
    return np.abs(np.angle(np.exp(1j * (measured - exact))))


def test_a_pendulum_swings_like_mujocos():
    exact = reference(f'<body pos="0 0 5"><joint type="hinge" axis="0 1 0"/>{ROD_XML}</body>', 90, ahead=True)
    error = angle_error(coordinates([PIVOT, ROD], (HANG,), 90), exact)
    assert error.max() < 0.004  # of a swing of 3.1 rad


def test_the_error_of_a_pendulum_falls_with_the_substep():
    exact = reference(f'<body pos="0 0 5"><joint type="hinge" axis="0 1 0"/>{ROD_XML}</body>', 60)
    coarse, fine = (
        angle_error(coordinates([PIVOT, ROD], (HANG,), 60, substeps=substeps), exact).max() for substeps in (4, 16)
    )
    assert fine < 0.35 * coarse


def test_a_double_pendulum_swings_like_mujocos():
    lower = BodySpec(physics.BOX, (0.5, 0.05, 0.05), (1.5, 0.2, 5.0))  # beside the upper rod
    joint = JointSpec(physics.HINGE, 1, 2, (0.5, 0.0, 0.0), (-0.5, -0.2, 0.0), axis=(0.0, 1.0, 0.0))
    inner = f'<body pos="1 0 0"><joint type="hinge" axis="0 1 0"/>{ROD_XML.replace(".5 0 0", ".5 .2 0")}</body>'
    exact = reference(f'<body pos="0 0 5"><joint type="hinge" axis="0 1 0"/>{ROD_XML}{inner}</body>', 45, ahead=True)
    error = angle_error(coordinates([PIVOT, ROD, lower], (HANG, joint), 45), exact)
    assert error.max() < 0.01


@pytest.mark.parametrize("degrees", [20.0, 45.0])
def test_a_slider_accelerates_down_an_incline(degrees):
    angle = math.radians(degrees)
    axis = (math.cos(angle), 0.0, -math.sin(angle))
    box = BodySpec(position=(0.0, -1.0, 5.0))
    slider = JointSpec(physics.SLIDER, 0, 1, (0.0, -2.0, 0.0), axis=axis)
    offset = coordinates([PIVOT, box], (slider,), 60)[:, 0]
    joint = (
        f'<body pos="0 0 5"><joint type="slide" axis="{axis[0]} 0 {axis[2]}"/><geom type="box" size=".5 .5 .5"/></body>'
    )
    exact = reference(joint, 60)[:, 0]
    assert exact[-1] == pytest.approx(0.5 * 9.8 * math.sin(angle) * 4.0, rel=1e-3)
    assert offset[-1] == pytest.approx(exact[-1], rel=0.006)  # g t h / 2 of the substep


def test_a_motor_with_bounded_torque_lifts_a_pendulum_like_mujocos():
    torque, speed = 80.0, 20.0  # more than the weight needs, and too little for that speed within a second
    motor = f'<motor joint="j" gear="{-torque}"/>'
    exact = reference(
        f'<body pos="0 0 5"><joint name="j" type="hinge" axis="0 1 0"/>{ROD_XML}</body>', 20, motor, ahead=True
    )
    driven = JointSpec(
        HANG.kind, 0, 1, HANG.anchor_a, HANG.anchor_b, axis=HANG.axis, motor_speed=-speed, motor_force=torque
    )
    angle = coordinates([PIVOT, ROD], (driven,), 20)
    assert exact[-1] < -1.0
    assert angle_error(angle, exact).max() < 0.002


def test_a_motor_keeps_its_speed_against_gravity_within_its_force():
    driven = JointSpec(
        HANG.kind, 0, 1, HANG.anchor_a, HANG.anchor_b, axis=HANG.axis, motor_speed=-1.5, motor_force=1000.0
    )
    angle = np.unwrap(coordinates([PIVOT, ROD], (driven,), 90), axis=0)[:, 0]
    assert angle == pytest.approx(-1.5 * np.arange(1, 91) / 30.0, abs=2e-3)
    weak = JointSpec(HANG.kind, 0, 1, HANG.anchor_a, HANG.anchor_b, axis=HANG.axis, motor_speed=-1.5, motor_force=20.0)
    assert coordinates([PIVOT, ROD], (weak,), 20)[-1, 0] > 0.5  # the weight turns it by 49 N m


@pytest.mark.parametrize("lower", [0.4, 1.2])
def test_a_limit_stops_a_pendulum(lower):
    bounded = JointSpec(HANG.kind, 0, 1, HANG.anchor_a, HANG.anchor_b, axis=HANG.axis, upper=lower)
    angle = coordinates([PIVOT, ROD], (bounded,), 90)[:, 0]
    free = coordinates([PIVOT, ROD], (HANG,), 90)[:, 0]
    stop = int(np.argmax(free > lower))
    assert angle[: stop - 1] == pytest.approx(free[: stop - 1], abs=1e-6)
    assert angle.max() < lower + 1e-3
    assert angle[-30:] == pytest.approx(lower, abs=1e-3)


def test_a_slider_stops_at_its_limits_and_a_motor_holds_it():
    box = BodySpec(position=(0.0, -1.0, 5.0))
    down = (0.0, 0.0, -1.0)
    slider = JointSpec(physics.SLIDER, 0, 1, (0.0, -2.0, 0.0), axis=down, upper=0.7)
    offset = coordinates([PIVOT, box], (slider,), 60)[:, 0]
    assert offset.max() < 0.702
    assert offset[-10:] == pytest.approx(0.7, abs=1e-3)
    lift = JointSpec(
        physics.SLIDER, 0, 1, (0.0, -2.0, 0.0), axis=down, lower=-0.3, motor_speed=-0.5, motor_force=100_000.0
    )
    offset = coordinates([PIVOT, box], (lift,), 60)[:, 0]
    assert offset[8] == pytest.approx(-0.5 * 9 / 30, abs=0.005)
    assert offset[-1] == pytest.approx(-0.3, abs=5e-3)  # the spring of the limit under 90 kN


def test_a_ball_joint_swings_as_a_spherical_pendulum():
    bob = BodySpec(physics.BOX, (0.1, 0.2, 0.3), (0.6, 0.0, 5.0), velocity=(0.0, 1.2, 0.0), spin=(0.0, 0.0, 2.0))
    ball = JointSpec(physics.BALL, 0, 1, (0.0, -1.0, 0.0), (-0.6, 0.0, 0.0))
    body = '<body pos="0 0 5"><joint type="ball"/><geom type="box" size=".1 .2 .3" pos=".6 0 0"/></body>'
    model = mujoco.MjModel.from_xml_string(f"{HEAD}{body}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.qvel[2] = 2.0
    sim = simulate([PIVOT, bob], joints=(ball,))
    for _ in range(45):
        mujoco.mj_step(model, data, nstep=80)
        sim.step()
        assert sim[Thing].position.numpy()[0, 1] == pytest.approx(data.geom_xpos[0], abs=0.03)


def test_a_distance_joint_is_a_rod_or_a_rope():
    ball = BodySpec(physics.SPHERE, (0.1, 0.0, 0.0), (1.0, 1.0, 5.0))
    rod = JointSpec(physics.DISTANCE, 0, 1, lower=1.0, upper=1.0)
    length = coordinates([PIVOT, ball], (rod,), 60)[:, 0]
    assert length == pytest.approx(1.0, abs=4e-3)
    rope = JointSpec(physics.DISTANCE, 0, 1, upper=1.5)
    length = coordinates([PIVOT, ball], (rope,), 90)[:, 0]
    assert length[0] < 1.01
    assert 1.45 < length.max() < 1.51


def test_a_fixed_joint_keeps_a_pose():
    turned = axis_angle((1.0, 1.0, 0.0), 0.7)
    box = BodySpec(physics.BOX, (0.3, 0.2, 0.1), (1.2, 1.0, 5.0), turned)
    weld = JointSpec(physics.FIXED, 0, 1, (0.6, 0.0, 0.0), tuple(matrix(turned).T @ (-0.6, 0.0, 0.0)), turned)
    sim = simulate([PIVOT, box], joints=(weld,))
    for _ in range(90):
        sim.step()
    assert sim[Thing].position.numpy()[0, 1] == pytest.approx([1.2, 1.0, 5.0], abs=1e-3)
    assert sim[Thing].rotation.numpy()[0, 1] == pytest.approx(turned, abs=1e-3)
    assert np.abs(sim[Thing].spin.numpy()[0, 1]).max() < 1e-3
