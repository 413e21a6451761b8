"""A robot of your own: an MJCF model, a sensor, a reward, and another arm in every world."""

import numpy as np

import worldloom as wl
from worldloom import robots

ARM = robots.Model("""
<mujoco>
  <option timestep="0.01" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 0 1" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 0 1" damping="0.2" range="-150 150" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
        <site name="hand" pos="0.3 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="shoulder" ctrlrange="-1 1" ctrllimited="true"/>
    <motor joint="elbow" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
  <sensor><framepos objtype="site" objname="hand"/><framelinvel objtype="site" objname="hand"/></sensor>
</mujoco>
""")


class Arm(wl.Entity, ARM.State):
    sensordata: ARM.sensordata  # position and velocity of the hand
    body_mass: ARM.body_mass
    torque: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    target: wl.Array(wl.float64, 2)
    sight: wl.Observation(8, dtype=wl.float64)
    reward: wl.Reward(wl.float64)


class Bench(wl.World):
    mass_range: wl.Config = 0.5  # masses vary by this part


@wl.system
def vary(arm: Arm, world: Bench):
    scale = 1.0 + world.mass_range * world.random(-1.0, 1.0)
    for body in range(1, 3):
        arm.body_mass[body] *= scale
    angle, distance = world.random(-3.0, 3.0), world.random(0.2, 0.55)
    arm.target[0] = distance * wl.cos(angle)
    arm.target[1] = distance * wl.sin(angle)


@wl.system
def drive(arm: Arm):
    for i in range(2):
        arm.ctrl[i] = arm.torque[i]


@wl.system
def judge(arm: Arm):
    x, y = arm.sensordata[0] - arm.target[0], arm.sensordata[1] - arm.target[1]
    arm.reward = -wl.sqrt(x * x + y * y)


@wl.system
def look(arm: Arm):
    for i in range(2):
        arm.sight[i] = arm.qpos[i]
        arm.sight[2 + i] = arm.qvel[i]
        arm.sight[4 + i] = arm.sensordata[i]
        arm.sight[6 + i] = arm.target[i]


PHYSICS = robots.Physics(ARM, Arm, substeps=2)
wl.register(
    "RobotReach-v0",
    world=Bench,
    entities={Arm: 1},
    reset=[PHYSICS.home, vary, PHYSICS.forward],
    step=[drive, *PHYSICS.step, judge],
    observe=[look],
    max_steps=100,
    worlds_per_thread=1,
    cuda_float32=True,  # 64-bit numbers on the CPU, as MuJoCo has, and 32-bit ones on a GPU, as MuJoCo Warp has
)

if __name__ == "__main__":
    envs = wl.make("RobotReach-v0", num_envs=64, seed=0)
    observations, _ = envs.reset()
    total = np.zeros(64)
    for _ in range(100):
        # A controller with the transposed Jacobian: torques that pull the hand to the target.
        angles, speeds, hand, target = np.split(observations, 4, axis=1)
        pull = 12.0 * (target - hand)
        elbow = 0.3 * np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0])], axis=1)
        levers = np.stack([hand, hand - elbow], axis=1)
        torques = levers[..., 0] * pull[:, None, 1] - levers[..., 1] * pull[:, None, 0] - 0.6 * speeds
        observations, rewards, *_ = envs.step(np.clip(torques, -1.0, 1.0).astype(np.float32))
        total += rewards
    masses = envs.simulation[Arm].body_mass.numpy()[:, 0, 1]
    print(f"mean distance to the target: {-total.mean() / 100:.2f} m, after an episode {-rewards.mean():.2f} m")
    print(f"masses of the upper arm from {masses.min():.2f} to {masses.max():.2f} kg")
