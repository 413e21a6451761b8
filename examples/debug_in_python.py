"""Debug a world: device="python" runs the same systems row by row, so print and breakpoint() work in them."""

import worldloom as wl


class Ball(wl.Entity):
    height: float = 1.0  # m
    speed: float  # m/s


class Room(wl.World):
    dt: wl.Config = 0.25  # s


@wl.system
def fall(ball: Ball, world: Room):
    ball.speed -= 9.8 * world.dt
    ball.height += ball.speed * world.dt
    if ball.height < 0.0:
        print("world", world.id, "step", world.step, "bounces at", ball.speed)  # ignored in compiled systems
        # breakpoint() would stop here; `ball` and `world` can be inspected
        ball.height, ball.speed = 0.0, -0.5 * ball.speed


wl.register("Room-v0", world=Room, entities={Ball: 1}, step=[fall])

watched = wl.Simulation("Room-v0", num_worlds=2, device="python", seed=0)
compiled = wl.Simulation("Room-v0", num_worlds=2, device="cpu", seed=0)
for _ in range(4):
    watched.step()
    compiled.step()
same = watched[Ball].height.numpy().tobytes() == compiled[Ball].height.numpy().tobytes()
print("python and cpu agree bit for bit:", same)
