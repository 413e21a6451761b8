"""Domain randomization: masses, friction and gains of a robot differ between worlds, as configuration."""

import numpy as np

import worldloom as wl
from worldloom import robots

SLED = robots.Model("""
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="ice" type="plane" size="20 20 1" friction="1"/>
    <body name="sled" pos="0 0 0.1">
      <joint name="forward" type="slide" axis="1 0 0"/>
      <joint name="up" type="slide" axis="0 0 1"/>
      <geom name="runner" type="box" size="0.3 0.2 0.1" mass="10" friction="0.1"/>
    </body>
  </worldbody>
  <actuator><position joint="forward" kp="300" kv="80" ctrlrange="-2 2" ctrllimited="true"/></actuator>
</mujoco>
""")
BODY, RUNNER, ICE = SLED.body("sled"), SLED.id("geom", "runner"), SLED.id("geom", "ice")


class Sled(wl.Entity, SLED.State, robots.delayed(SLED, 2)):
    body_mass: SLED.body_mass  # with these components every world has parameters of its own
    geom_friction: SLED.geom_friction
    actuator_gainprm: SLED.actuator_gainprm
    actuator_biasprm: SLED.actuator_biasprm
    goal: wl.Action(wl.Box(-2.0, 2.0, (1,)))
    place: wl.Observation(2, dtype=wl.float64)
    reward: wl.Reward(wl.float64)


class Lake(wl.World):
    friction: wl.Config = 0.1
    mass_range: wl.Config = 0.0  # masses are drawn within this part of the original, anew in every episode
    gain: wl.Config = 300.0  # N/m
    noise: wl.Config = 0.0  # m


@wl.system
def randomize(sled: Sled, world: Lake):
    sled.body_mass[BODY] *= 1.0 + world.mass_range * world.random(-1.0, 1.0)
    sled.geom_friction[RUNNER, 0] = world.friction
    sled.geom_friction[ICE, 0] = world.friction  # MuJoCo takes the larger of both
    sled.actuator_gainprm[0, 0] = world.gain
    sled.actuator_biasprm[0, 1] = -world.gain


@wl.system
def steer(sled: Sled, world: Lake):
    sled.ctrl[0] = sled.goal[0] + world.noise * world.normal()


@wl.system
def look(sled: Sled):
    sled.reward = -wl.abs(sled.qpos[0] - sled.goal[0])
    sled.place[0] = sled.qpos[0]
    sled.place[1] = sled.qvel[0]


PHYSICS = robots.Physics(SLED, Sled, substeps=4)
STEP = [steer, robots.delay_system(Sled), *PHYSICS.step]
RESET = [PHYSICS.home, randomize, PHYSICS.forward]
wl.register("Sled-v0", world=Lake, entities={Sled: 1}, reset=RESET, step=STEP, observe=[look], cuda_float32=True)

if __name__ == "__main__":
    sim = wl.Simulation("Sled-v0", num_worlds=64, seed=0)
    for settings in ({}, {"mass_range": 0.5}, {"friction": np.linspace(0.0, 0.5, 64)}, {"gain": 600.0, "noise": 0.2}):
        for name, value in {"friction": 0.1, "mass_range": 0.0, "gain": 300.0, "noise": 0.0, **settings}.items():
            sim.set_config(name, value)  # nothing is compiled again
        sim.reset(seeds=1)
        for _ in range(25):
            sim.step(np.ones((64, 1, 1), np.float32))
        places = sim[Sled].qpos.numpy()[:, 0, 0]
        print(f"{', '.join(settings) or 'the original'}: {places.min():.2f} to {places.max():.2f} m after 0.5 s")
