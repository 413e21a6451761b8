"""A height map: a ball that observes the ground around it, from the numbers of the model's height field."""

import mujoco
import numpy as np

import worldloom as wl
from worldloom import robots

CELLS, HALF_SIZE = 161, 8.0  # numbers along a side of the ground, half of the side in m
POINTS, SPACING = 7, 0.3  # points along a side of the map, and the distance between them in m
axis = np.linspace(-HALF_SIZE, HALF_SIZE, CELLS)
HEIGHTS = 0.4 * (2.0 + np.sin(axis)[:, None] + np.cos(1.5 * axis)[None, :])  # [y, x], m

spec = mujoco.MjSpec.from_string("""
<mujoco><worldbody>
  <body name="ball">
    <joint type="free" damping="1"/><geom size="0.2" mass="1"/>
    <camera mode="track" pos="0 -3 2" xyaxes="1 0 0 0 0.6 0.8"/>
  </body>
</worldbody></mujoco>
""")
size = [HALF_SIZE, HALF_SIZE, float(HEIGHTS.max()), 0.5]  # the field has numbers from 0 to 1, and this scale
spec.add_hfield(name="hills", nrow=CELLS, ncol=CELLS, size=size, userdata=(HEIGHTS / HEIGHTS.max()).ravel().tolist())
spec.worldbody.add_geom(name="hills", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="hills")
MODEL = robots.Model(spec)


class Ball(wl.Entity, MODEL.State):
    xfrc_applied: MODEL.xfrc_applied
    push: wl.Action(wl.Box(-5.0, 5.0, (2,)))  # N
    height_map: wl.Observation(POINTS, POINTS, dtype=wl.float64)  # the ground relative to the ball, m
    reward: wl.Reward(wl.float64)


class Hills(wl.World):
    heights: wl.Config = HEIGHTS


@wl.function
def nearest(place: wl.float64) -> int:
    return wl.clamp(int((place + HALF_SIZE) * ((CELLS - 1) / (2.0 * HALF_SIZE)) + 0.5), 0, CELLS - 1)


@wl.system
def start(ball: Ball, world: Hills):
    for i in range(2):
        ball.qpos[i] = world.random(-5.0, 5.0)
    ball.qpos[2] = world.heights[nearest(ball.qpos[1]), nearest(ball.qpos[0])] + 0.3


@wl.system
def roll(ball: Ball):
    for i in range(2):
        ball.xfrc_applied[1, i] = ball.push[i]


@wl.system
def scan(ball: Ball, world: Hills):
    ball.reward = -ball.qpos[2]
    for i in range(POINTS):
        for j in range(POINTS):
            column = nearest(ball.qpos[0] + SPACING * wl.float64(i - POINTS // 2))
            row = nearest(ball.qpos[1] + SPACING * wl.float64(j - POINTS // 2))
            ball.height_map[i, j] = world.heights[row, column] - ball.qpos[2]


PHYSICS = robots.Physics(MODEL, Ball, substeps=10)
PARTS = {"reset": [PHYSICS.home, start, PHYSICS.forward], "step": [roll, *PHYSICS.step], "observe": [scan]}
wl.register("Hills-v0", world=Hills, entities={Ball: 1}, **PARTS, render=robots.Renderer(PHYSICS), cuda_float32=True)

if __name__ == "__main__":
    envs = wl.make("Hills-v0", num_envs=16)
    heights, _ = envs.reset(seed=0)
    print(f"a map of {heights.shape[1:]} points, from {heights.min():.1f} m to {heights.max():.1f} m")
    for _ in range(100):  # down the slope
        slopes = np.stack([np.gradient(heights, axis=k).mean(axis=(1, 2)) for k in (1, 2)], axis=1)
        heights, rewards, *_ = envs.step(np.clip(-20.0 * slopes, -5.0, 5.0).astype(np.float32))
    print(f"after 2 s balls are {-rewards.mean():.1f} m high")
