"""Bullets: a ship dodges the shots of guns above it. A hit is an event, which later systems read."""

import worldloom as wl

SIZE = 16.0  # metres from the guns to the ground, and around the arena, which wraps at its left and right edge
NEAREST = 4  # bullets that the pilot sees

# Places and velocities are eighths of a metre: sums and squares are exact, so that all devices give the same bits.


class Ship(wl.Entity):
    place: wl.vec2
    health: int = 3
    move: wl.Action(wl.Discrete(3))  # 0 left, 1 stay, 2 right
    sight: wl.Observation(NEAREST, 4)  # the way to each of the nearest bullets, and its velocity
    reward: wl.Reward


class Gun(wl.Entity):
    x: float  # it stands at the upper edge


class Bullet(wl.Entity):
    place: wl.vec2
    velocity: wl.vec2
    distance: float  # to the ship, squared


class Hit(wl.Event):
    who: wl.Ref[Ship]


class Arena(wl.World):
    rate: wl.Config = 8  # a gun fires once in so many steps


@wl.function
def way(start: wl.vec2, end: wl.vec2):
    """The shortest difference on a ring."""
    return wl.vec2((end.x - start.x + 1.5 * SIZE) % SIZE - 0.5 * SIZE, end.y - start.y)


@wl.system
def launch(ship: Ship, world: Arena):
    ship.place = wl.vec2(0.5 * float(world.integer(32)), 1.0)


@wl.system
def steer(ship: Ship):
    ship.place.x = (ship.place.x + 0.5 * float(ship.move - 1)) % SIZE


@wl.system
def fire(gun: Gun, world: Arena):
    gun.x = 0.5 * float(world.integer(32))
    if world.integer(world.rate) == 0:
        velocity = wl.vec2(0.125 * float(world.integer(-1, 2)), -0.125 * float(world.integer(3, 6)))
        world.spawn(Bullet, place=wl.vec2(gun.x, SIZE), velocity=velocity)


@wl.system
def fly(bullet: Bullet, world: Arena):
    bullet.place += bullet.velocity
    if bullet.place.y < 0.0:
        bullet.despawn()
    for ship in world.all(Ship):
        bullet.distance = wl.length_sq(way(ship.place, bullet.place))
        if bullet.distance < 1.0:
            world.spawn(Hit, who=ship.ref)
            bullet.despawn()


@wl.system
def hurt(hit: Hit):
    hit.who.get().health -= 1
    hit.who.get().reward -= 1.0


@wl.system
def judge(ship: Ship, world: Arena):
    ship.reward += 0.0625
    if ship.health <= 0:
        world.terminate()


@wl.system
def look(ship: Ship, world: Arena):
    for i in range(NEAREST):
        for j in range(4):
            ship.sight[i, j] = 0.0
    for bullet in world.all(Bullet):
        rank = 0
        for other in world.all(Bullet):
            if other.distance < bullet.distance or (other.distance == bullet.distance and other.id < bullet.id):
                rank += 1
        if rank < NEAREST:
            there = way(ship.place, bullet.place)
            ship.sight[rank, 0] = 0.25 * there.x
            ship.sight[rank, 1] = 0.25 * there.y
            ship.sight[rank, 2] = 4.0 * bullet.velocity.x
            ship.sight[rank, 3] = 4.0 * bullet.velocity.y


ENTITIES = {Ship: 1, Gun: 4, Bullet: wl.UpTo(64), Hit: wl.UpTo(64)}
STEP = [steer, fire, fly, hurt, judge]
WORLD = wl.register(
    "Bullets-v0", world=Arena, entities=ENTITIES, reset=[launch], step=STEP, observe=[look], max_steps=300
)

if __name__ == "__main__":
    for name, moves in {"a ship that stays": [1], "one that sways": [0, 2]}.items():
        sim, hits = wl.Simulation(WORLD, num_worlds=256, seed=0), 0
        for step in range(300):
            sim[Ship].move.fill(moves[step % len(moves)])
            sim.step()
            hits += int(sim[Hit].counts.numpy().sum())
        print(
            f"{name} is hit {hits / 256:.1f} times; {sim[Bullet].counts.numpy().mean():.0f} bullets in the air, "
            f"{len(sim.errors())} faults"
        )
    # worldloom train examples/bullets.py: it learns to dodge nearly all of them within a minute
