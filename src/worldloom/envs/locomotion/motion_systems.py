# Annotations are evaluated: systems refer to classes that are arguments of a function.
"""Systems that start, drive, push and observe robots, and choose their targets."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.locomotion.robot import ROOT, ROOT_VELOCITY, Robot

TURN = 6.283185307179586
FIRST_PUSH, LAST_PUSH = 200, 300
"""Bounds of the frames between two pushes."""
REACHED = 1.0
"""Distance at which a target is reached, in metres."""


def place(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """The start of an episode: the initial pose with noise, and a target straight ahead."""
    positions, velocities, agents = robot.positions, robot.velocities, robot.agents

    @wl.system
    def place_robots(ground: world):
        for k in range(agents):
            ground.qpos[positions * k + 2] += ground.start_height
            for i in range(ROOT, positions):
                ground.qpos[positions * k + i] += ground.position_noise * ground.random(-1.0, 1.0)
            for i in range(velocities):
                ground.qvel[velocities * k + i] += ground.velocity_noise * ground.random(-1.0, 1.0)
        for runner in ground.all(kind):
            runner.target[0] = ground.qpos[positions * runner.id] + ground.target_distance
            runner.target[1] = ground.qpos[positions * runner.id + 1]
            runner.target_in = ground.target_frames

    return place_robots


def drive(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Copies the actions of the robots in the episode to their controls."""
    motors, alone = robot.motors, robot.agents == 1

    @wl.system
    def drive_one(ground: world):
        for runner in ground.all(kind):
            for i in range(motors):
                ground.ctrl[motors * runner.id + i] = wl.clamp(runner.action[i], -1.0, 1.0)

    @wl.system
    def drive_active(ground: world):
        for runner in ground.all(kind):
            for i in range(motors):
                ground.ctrl[motors * runner.id + i] = wl.clamp(runner.action[i], -1.0, 1.0) if runner.active else 0.0

    return drive_one if alone else drive_active


def push(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Pushes every torso in a random horizontal direction for one frame, every 200 to 300 frames."""
    bodies = robot.bodies

    @wl.system
    def push_robots(ground: world):
        for runner in ground.all(kind):
            torso = 1 + bodies * runner.id
            ground.xfrc_applied[torso, 0] = 0.0
            ground.xfrc_applied[torso, 1] = 0.0
            if runner.push_in == 0:
                runner.push_in = FIRST_PUSH + ground.integer(LAST_PUSH - FIRST_PUSH + 1)
            runner.push_in -= 1
            if runner.push_in == 0:
                angle = ground.random(0.0, TURN)
                force = ground.random(ground.min_push, ground.max_push)
                ground.xfrc_applied[torso, 0] = force * wl.cos(angle)
                ground.xfrc_applied[torso, 1] = force * wl.sin(angle)

    return push_robots


def orient(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Roll, pitch, yaw, uprightness and the angle to the target, from the quaternion of the torso."""
    positions = robot.positions

    @wl.system
    def orient_robots(runner: kind, ground: world):
        first = positions * runner.id
        w, x, y, z = ground.qpos[first + 3], ground.qpos[first + 4], ground.qpos[first + 5], ground.qpos[first + 6]
        runner.upright = 1.0 - 2.0 * (x * x + y * y)
        runner.roll = wl.atan2(2.0 * (w * x + y * z), runner.upright)
        runner.pitch = wl.asin(wl.clamp(2.0 * (w * y - z * x), wl.float64(-1.0), wl.float64(1.0)))
        runner.yaw = wl.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        angle = wl.atan2(runner.target[1] - ground.qpos[first + 1], runner.target[0] - ground.qpos[first]) - runner.yaw
        runner.heading_sine = wl.sin(angle)
        runner.heading_cosine = wl.cos(angle)

    return orient_robots


def choose_targets(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Another target within ``target_distance``, after ``target_frames`` or where a robot has reached its own."""
    positions = robot.positions

    @wl.system
    def choose_target(runner: kind, ground: world):
        here_x, here_y = ground.qpos[positions * runner.id], ground.qpos[positions * runner.id + 1]
        x, y = runner.target[0] - here_x, runner.target[1] - here_y
        runner.target_in -= 1
        if runner.target_in <= 0 or x * x + y * y < REACHED * REACHED:
            angle = ground.random(0.0, TURN)
            distance = ground.target_distance * wl.sqrt(ground.random())
            runner.target[0] = here_x + distance * wl.cos(angle)
            runner.target[1] = here_y + distance * wl.sin(angle)
            runner.target_in = ground.target_frames

    return choose_target


def observe(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Writes the observation, see :attr:`Robot.observation_size`."""
    positions, velocities, motors, joints, feet = (
        robot.positions, robot.velocities, robot.motors, robot.joints, robot.feet,
    )  # fmt: skip
    largest = wl.float64(robot.max_torque)
    first_velocity = 11 + joints
    first_force = first_velocity + joints
    first_foot = first_force + motors

    @wl.system
    def observe_robots(runner: kind, ground: world):
        q, v = positions * runner.id, velocities * runner.id
        runner.observation[0] = ground.qpos[q + 2]
        runner.observation[1] = runner.roll
        runner.observation[2] = runner.pitch
        ahead, aside = wl.cos(runner.yaw), wl.sin(runner.yaw)
        runner.observation[3] = ahead * ground.qvel[v] + aside * ground.qvel[v + 1]
        runner.observation[4] = ahead * ground.qvel[v + 1] - aside * ground.qvel[v]
        for i in range(2, ROOT_VELOCITY):
            runner.observation[3 + i] = ground.qvel[v + i]
        runner.observation[9] = runner.heading_sine
        runner.observation[10] = runner.heading_cosine
        for i in range(joints):
            runner.observation[11 + i] = ground.qpos[q + ROOT + i]
            runner.observation[first_velocity + i] = ground.qvel[v + ROOT_VELOCITY + i]
        for i in range(motors):
            runner.observation[first_force + i] = ground.actuator_force[motors * runner.id + i] / largest
        for i in range(feet):
            touched = ground.sensordata[feet * runner.id + i] > 0.0
            runner.observation[first_foot + i] = wl.float64(1.0) if touched else wl.float64(0.0)

    return observe_robots
