"""Your MJCF with a sensor and a reward of your own: a crane that carries its load to a mark without swinging it."""

import mujoco
import numpy as np

import worldloom as wl
from worldloom import robots

CRANE = """
<mujoco>
  <option timestep="0.01" integrator="implicitfast"/>
  <worldbody>
    <light pos="0 -2 4"/>
    <body name="trolley" pos="0 0 2">
      <joint name="rail" type="slide" axis="1 0 0" damping="1"/>
      <geom type="box" size="0.2 0.1 0.05" mass="5"/>
      <body name="load">
        <joint name="rope" axis="0 1 0" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.01" mass="0.05"/>
        <geom name="box" type="box" pos="0 0 -1" size="0.1 0.1 0.1" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rail" gear="40" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>
"""
spec = mujoco.MjSpec.from_string(CRANE)  # or MjSpec.from_file("crane.xml")
for name, kind in (("place", mujoco.mjtSensor.mjSENS_FRAMEPOS), ("velocity", mujoco.mjtSensor.mjSENS_FRAMELINVEL)):
    spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_GEOM, objname="box")
MODEL = robots.Model(spec)
PLACE, VELOCITY = MODEL.sensor("place"), MODEL.sensor("velocity")


class Crane(wl.Entity, MODEL.State):
    sensordata: MODEL.sensordata
    drive: wl.Action(wl.Box(-1.0, 1.0, (1,)))
    sight: wl.Observation(4, dtype=wl.float64)  # trolley: place and velocity; load: place and velocity
    reward: wl.Reward(wl.float64)


class Yard(wl.World):
    mark: wl.Config = 1.0  # m
    swing_weight: wl.Config = 0.5  # per m/s


@wl.system
def pull(crane: Crane):
    crane.ctrl[0] = crane.drive[0]


@wl.system
def pay(crane: Crane, world: Yard):
    distance = wl.abs(crane.sensordata[PLACE] - world.mark)
    crane.reward = -distance - world.swing_weight * wl.abs(crane.sensordata[VELOCITY])


@wl.system
def look(crane: Crane):
    crane.sight[0] = crane.qpos[0]
    crane.sight[1] = crane.qvel[0]
    crane.sight[2] = crane.sensordata[PLACE]
    crane.sight[3] = crane.sensordata[VELOCITY]


PHYSICS = robots.Physics(MODEL, Crane, substeps=2)
PARTS = {"reset": [PHYSICS.home, PHYSICS.forward], "step": [pull, *PHYSICS.step, pay], "observe": [look]}
wl.register("Crane-v0", world=Yard, entities={Crane: 1}, **PARTS, render=robots.Renderer(PHYSICS), cuda_float32=True)

if __name__ == "__main__":
    marks, swing = np.linspace(0.3, 1.7, 8), 0.0
    envs = wl.make("Crane-v0", num_envs=8, mark=marks)
    sight, _ = envs.reset(seed=0)
    for _ in range(400):
        trolley, speed, load, _ = sight.T
        force = 1.0 * (marks - trolley) - 1.2 * speed + 1.5 * (load - trolley)
        sight, rewards, *_ = envs.step(np.clip(force, -1.0, 1.0).astype(np.float32)[:, None])
        swing = max(swing, np.abs(load - trolley).max())
    print(f"loads swung by up to {swing:.2f} m; the last reward is {rewards.min():.3f} or more")
