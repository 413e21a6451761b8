"""Ray casts with a warp of threads per robot: 30 rays each, among round posts; on the CPU it is a plain loop."""

import worldloom as wl

RAYS = 30


class Robot(wl.Entity):
    position: wl.vec2  # m, in a yard of 10 m by 10 m that wraps at its edges
    heading: float  # rad
    sight: wl.Observation(RAYS, low=0.0, high=5.0)  # m to the nearest post along each ray, the first straight ahead
    blind: int  # rays that see no post
    freest: int  # the ray that sees farthest
    turns: int


class Post(wl.Entity):
    position: wl.vec2
    radius: float


class Yard(wl.World):
    reach: wl.Config = 5.0  # m


@wl.function
def distance(origin: wl.vec2, way: wl.vec2, centre: wl.vec2, radius: float, reach: float):
    """Distance along a ray to a circle; ``reach`` if the ray misses it."""
    along = wl.dot(centre - origin, way)
    off = wl.length_sq(centre - origin) - along * along
    if along <= 0.0 or off >= radius * radius:
        return reach
    return min(max(along - wl.sqrt(radius * radius - off), 0.0), reach)


@wl.system(threads=32)  # a warp per robot
def look(robot: Robot, world: Yard):
    robot.blind = 0
    for ray in wl.share(RAYS):  # the threads share the rays
        angle = robot.heading + 6.2831855 * float(ray) / float(RAYS)
        way = wl.vec2(wl.cos(angle), wl.sin(angle))
        nearest = world.reach
        for post in world.all(Post):
            nearest = min(nearest, distance(robot.position, way, post.position, post.radius, world.reach))
        robot.sight[ray] = nearest  # an iteration writes its own element,
        if nearest >= world.reach:
            robot.blind += 1  # and may sum integers
    robot.freest = 0
    for ray in range(RAYS):  # after the shared loop all elements can be read
        if robot.sight[ray] > robot.sight[robot.freest]:
            robot.freest = ray


@wl.system
def drive(robot: Robot, world: Yard):
    if robot.sight[0] < 0.5:  # turn to where there is room
        robot.heading += 6.2831855 * float(robot.freest) / float(RAYS)
        robot.turns += 1
    else:
        there = robot.position + 0.1 * wl.vec2(wl.cos(robot.heading), wl.sin(robot.heading))
        robot.position = wl.vec2(there.x % 10.0, there.y % 10.0)


@wl.system
def park(robot: Robot, world: Yard):
    robot.position = wl.vec2(5.0, 5.0)
    robot.heading = world.random(0.0, 6.2831855)


@wl.system
def plant(post: Post, world: Yard):
    way = world.random(0.0, 6.2831855)
    post.position = wl.vec2(5.0, 5.0) + world.random(1.5, 5.0) * wl.vec2(wl.cos(way), wl.sin(way))
    post.radius = world.random(0.2, 0.6)


wl.register(
    "Lidar-v0",
    world=Yard,
    entities={Robot: 2, Post: 20},
    reset=[park, plant],
    step=[drive],
    observe=[look],
    max_steps=200,
)

if __name__ == "__main__":
    sim = wl.Simulation("Lidar-v0", num_worlds=100, seed=0)
    for _ in range(150):
        sim.step()
    sight = sim[Robot].sight.numpy()
    posts, blind = int((sight < 5.0).sum()), int(sim[Robot].blind.numpy().sum())
    print(f"{sight.shape[2]} rays per robot, {posts} of them see a post, {blind} see none")
    print(f"turns per robot: {sim[Robot].turns.numpy().mean():.1f}")
