# Annotations are evaluated: systems refer to classes that are arguments of a function.
"""Systems of the reward and of the end of an episode."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.locomotion.robot import ROOT, Robot

AT_LIMIT = 0.99
"""A joint is at a limit beyond this part of its range, from its middle."""


def reward_motion(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """What is rewarded: being alive, speed, heading and standing."""
    positions, velocities = robot.positions, robot.velocities

    @wl.system
    def reward_motion_of(runner: kind, ground: world):
        q, v = positions * runner.id, velocities * runner.id
        x, y = runner.target[0] - ground.qpos[q], runner.target[1] - ground.qpos[q + 1]
        distance = wl.max(wl.sqrt(x * x + y * y), wl.float64(1e-6))
        runner.speed = (ground.qvel[v] * x + ground.qvel[v + 1] * y) / distance
        heading = wl.min(runner.heading_cosine / 0.8, wl.float64(1.0))
        standing = wl.float64(1.0) if runner.upright > 0.93 else wl.float64(0.0)
        runner.reward = (
            ground.alive + runner.speed + ground.heading_weight * heading + ground.standing_weight * standing
        )

    return reward_motion_of


def charge_effort(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """What is charged: mean torque and mean squared action, joints at their limits and feet on the ground."""
    positions, motors, joints, feet = robot.positions, robot.motors, robot.joints, robot.feet
    largest, share = wl.float64(robot.max_torque), wl.float64(1.0 / robot.motors)

    @wl.system
    def charge_effort_of(runner: kind, ground: world):
        torque, effort = wl.float64(0.0), wl.float64(0.0)
        for i in range(motors):
            control = ground.ctrl[motors * runner.id + i]
            torque += wl.abs(ground.actuator_force[motors * runner.id + i]) / largest
            effort += control * control
        limits, touched = wl.float64(0.0), wl.float64(0.0)
        for i in range(joints):
            place = (ground.qpos[positions * runner.id + ROOT + i] - ground.joint_middle[i]) / ground.joint_half_range[
                i
            ]
            if wl.abs(place) > AT_LIMIT:
                limits += 1.0
        for i in range(feet):
            if ground.sensordata[feet * runner.id + i] > 0.0:
                touched += 1.0
        runner.reward -= share * (ground.torque_weight * torque + ground.action_weight * effort)
        runner.reward -= ground.limit_weight * limits + ground.feet_weight * touched

    return charge_effort_of


def end_falls(kind: type[wl.Entity], world: type[wl.World], robot: Robot) -> System:
    """Ends the episode of a robot that has been down for ``fall_frames``; the world's where it is alone."""
    positions, alone = robot.positions, robot.agents == 1

    @wl.system
    def end_fall(runner: kind, ground: world):
        down = ground.qpos[positions * runner.id + 2] - runner.ground_height < ground.min_height
        runner.frames_down = runner.frames_down + 1 if down else 0
        if runner.frames_down >= ground.fall_frames:
            if alone:
                ground.terminate()
            else:
                runner.terminate()

    return end_fall
