"""Two worlds for the tests of the command line: one is equal on every device, one differs on the CPU."""

import worldloom as wl


class Ball(wl.Entity):
    height: float = 1.0
    bounces: int
    push: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    sight: wl.Observation(2)
    reward: wl.Reward


class Hall(wl.World):
    gravity: wl.Config = 9.8


@wl.system
def fall(ball: Ball, world: Hall):
    ball.height += (ball.push[0] + ball.push[1] - world.gravity) * 0.01 + world.random(0.0, 0.01)
    if ball.height < 0.0:
        ball.height = -ball.height
        ball.bounces += 1
        ball.reward = 1.0


@wl.system
def look(ball: Ball):
    ball.sight = wl.vec2(ball.height, float(ball.bounces))


def spoil(simulation):
    """In the third step, world 2 of the compiled simulation counts one bounce too many."""
    if not simulation.interpreted and int(simulation.world.step.numpy()[2]) == 2:
        simulation["Ball"].bounces.numpy()[2, 1] += 1


wl.register("Honest-v0", world=Hall, entities={Ball: 3}, step=[fall], observe=[look], max_steps=20)
wl.register("Spoilt-v0", world=Hall, entities={Ball: 3}, step=[fall, spoil], observe=[look], max_steps=20)
