"""What agents see: other agents, boxes and ramps in a cone, and the lidar."""

import worldloom as wl
from worldloom import physics
from worldloom.core.kernels.bits import lowest_bit
from worldloom.envs.hideseek.entities import (
    MAX_BOXES,
    MAX_MOVING,
    MAX_WALLS,
    OTHERS,
    RAYS,
    TARGETS,
    WALL_HEIGHT,
    Agent,
    Arena,
    Frame,
    Level,
    Solid,
)
from worldloom.envs.hideseek.rays import (
    height_interval,
    may_hit,
    ray_box,
    ray_rectangle,
    ray_shape,
    ray_solid,
    ray_start,
    ray_wall,
    ray_wedge,
    wedge_middle,
)
from worldloom.physics.queries.slabs import MISS, reciprocal, reciprocals, rectangle_interval

FORWARD = wl.vec3(0.0, 1.0, 0.0)
RAMPS_FROM = OTHERS + MAX_BOXES
"""First target that is a ramp."""
SLACK = 0.01
"""Distance, m, or square of one, by which bodies that are left out miss a ray at least: far more than rounding errors.
"""


@wl.function
def target_row(target: int, number: int, boxes: int, first_agent: int, agents: int) -> int:
    """The row of a target of agent ``number`` among the bodies, -1 for none."""
    if target < OTHERS:
        other = target + 1 if target >= number else target
        return first_agent + other if other < agents else -1
    if target < RAMPS_FROM:
        return target - OTHERS if target - OTHERS < boxes else -1
    ramp = boxes + target - RAMPS_FROM
    return ramp if ramp < first_agent else -1


@wl.function
def lidar_direction(forward: wl.vec3, cosine: float, sine: float):
    """The horizontal direction at an angle from the front."""
    return forward.x * cosine - forward.y * sine, forward.x * sine + forward.y * cosine


@wl.function
def nearest_hit(world: Arena, origin: wl.vec3, way: wl.vec3, ignore: int):
    """Distance along a unit vector to the nearest body but ``ignore``, and its row; -1 for a wall and for none."""
    inverse = reciprocals(way)
    nearest, row = MISS, -1
    level = world.at(Level, 0)
    for k in range(world.num_walls):
        nearest = min(nearest, ray_wall(origin, inverse, level.obstacles[k]))
    for k in range(world.first_agent + world.num_agents):
        if k != ignore:
            body = world.at(Solid, k)
            offset = body.position - origin
            if may_hit(offset, way, 1.0, body.radius):
                distance = ray_solid(offset, way, body.rotation, body.size, body.shape)
                if distance < nearest:
                    nearest = distance
                    row = k
    return nearest, row


@wl.function
def is_hidden(world: Arena, origin: wl.vec3, way: wl.vec3, distance: float, own: int, target: int):
    """Whether a body other than ``own`` and ``target`` is hit nearer than ``distance``, in lengths of ``way``."""
    hidden = False
    inverse = reciprocals(way)
    level = world.at(Level, 0)
    for k in range(wl.clamp(world.num_walls, 0, MAX_WALLS)):
        if ray_wall(origin, inverse, level.obstacles[k]) < distance:
            hidden = True
            break
    if not hidden:
        length_sq = wl.length_sq(way)
        for k in range(world.first_agent + world.num_agents):
            if k in (own, target):
                continue
            other = world.at(Solid, k)
            offset = other.position - origin
            if not may_hit(offset, way, length_sq, other.radius):
                continue
            if ray_solid(offset, way, other.rotation, other.size, other.shape) < distance:
                hidden = True
                break
    return hidden


@wl.system(threads=32)
def look(agent: Agent, world: Arena):
    """Visibility of targets: within the cone, and the first body on the ray from centre to centre."""
    own_row = world.first_agent + agent.number
    own = world.at(Solid, own_row)
    origin = own.position
    forward = wl.quat_rotate(own.rotation, FORWARD)
    for target in wl.share(TARGETS):
        row = target_row(target, agent.number, world.num_boxes, world.first_agent, world.num_agents)
        hidden = True
        if row >= 0:
            body = world.at(Solid, row)
            way = body.position - origin
            if wl.dot(way, forward) >= world.cone_cosine * wl.length(way):
                distance = ray_solid(way, way, body.rotation, body.size, body.shape)
                hidden = is_hidden(world, origin, way, distance, own_row, row)
        agent.visible[target] = float(not hidden)
        if not hidden and not agent.hider and target < world.hiders:
            world.spotted |= True


@wl.function
def other_row(other: int, own_row: int) -> int:
    """The row of one of the bodies but the own one."""
    return other + 1 if other >= own_row else other


@wl.function
def without_lowest(bits: int) -> int:
    """A set of bits without its lowest one."""
    return bits & (bits - 1)


@wl.function
def is_nearer(across: wl.vec4, wall: wl.vec4, distance: float) -> bool:
    """Whether a ray hits a wall before ``distance``.

    Args:
        across: reciprocals of its direction along x and y, and where it enters and leaves the height of walls.
        wall: the rectangle, relative to the start of the ray.
    """
    entry, leave = rectangle_interval(across[0], across[1], wall)
    entry = max(entry, across[2])
    return entry <= min(leave, across[3]) and entry < distance


@wl.function
def may_precede(offset: wl.vec3, way: wl.vec3, length_sq: float, radius: float) -> bool:
    """Whether a sphere may reach the ray before the end of ``way``, if it reaches the ray at all."""
    along = wl.dot(offset, way)
    gap_sq = wl.length_sq(offset) - radius * radius
    return along <= length_sq or gap_sq <= 2.0 * along - length_sq + SLACK


@wl.system(threads=32, registers=56)
def look_past_obstacles(agent: Agent, world: Arena):
    """Visibility of targets. A thread of a GPU has a body for the test of the cone; then two walls, past which half of
    the threads look at every second body in the cone; then a body, past which they look at those that no wall hides.
    """
    own_row = world.first_agent + agent.number
    own = world.at(Solid, own_row)
    level = world.at(Level, 0)
    others = world.first_agent + world.num_agents - 1
    for other in wl.share(TARGETS):
        if other < others:
            row = other_row(other, own_row)
            body = world.at(Solid, row)
            # All loads and no branch: threads of a GPU wait for memory once.
            start, facing = own.position, own.rotation
            position, rotation, size, shape = body.position, body.rotation, body.size, body.shape
            way = position - start
            distance = ray_solid(way, way, rotation, size, shape)
            inverse = reciprocals(way)
            entry, leave = height_interval(start.z, inverse.z)
            agent.ways[other] = Frame(
                way.x, way.y, way.z, distance, inverse.x, inverse.y, entry, leave, 0.0, 0.0, 0.0, 0.0
            )
            if wl.dot(way, wl.quat_rotate(facing, FORWARD)) >= world.cone_cosine * wl.length(way):
                agent.in_cone |= 1 << other
    in_cone, origin = agent.in_cone, own.position
    for i in wl.share(2 * TARGETS):
        k = i % TARGETS
        corner = wl.vec4(origin.x, origin.y, origin.x, origin.y)
        wall, next_wall = level.obstacles[i % TARGETS] - corner, level.obstacles[i % TARGETS + TARGETS] - corner
        left = in_cone if i < TARGETS else without_lowest(in_cone)
        hidden = 0
        for _ in range(TARGETS // 2):
            if left == 0:
                break
            other = lowest_bit(left)
            left = without_lowest(without_lowest(left))
            ray = agent.ways[wl.clamp(other, 0, TARGETS - 1)]
            across, distance = wl.vec4(ray[4], ray[5], ray[6], ray[7]), ray[3]
            blocked = k < world.num_walls and is_nearer(across, wall, distance)
            if k + TARGETS < world.num_walls:
                blocked = blocked or is_nearer(across, next_wall, distance)
            if blocked:
                hidden |= 1 << other
        agent.hidden |= hidden
    past_walls = in_cone & ~agent.hidden
    for i in wl.share(2 * TARGETS):
        k = i % TARGETS
        left = past_walls if i < TARGETS else without_lowest(past_walls)
        hidden = 0
        if k < others and left != 0:
            body = world.at(Solid, other_row(k, own_row))
            offset = body.position - origin
            rotation, size, shape, radius = body.rotation, body.size, body.shape, body.radius
            start = ray_start(offset, rotation, size, shape)
            for _ in range(TARGETS // 2):
                if left == 0:
                    break
                other = lowest_bit(left)
                left = without_lowest(without_lowest(left))
                ray = agent.ways[wl.clamp(other, 0, TARGETS - 1)]
                way = wl.vec3(ray[0], ray[1], ray[2])
                length_sq = wl.length_sq(way)
                near = may_hit(offset, way, length_sq, radius) and may_precede(offset, way, length_sq, radius)
                if near and k != other:
                    turned = wl.quat_rotate_inv(rotation, way)
                    if ray_shape(start, turned, size, shape == physics.WEDGE) < ray[3]:
                        hidden |= 1 << other
        agent.hidden |= hidden
    seen_others = in_cone & ~agent.hidden
    agent.in_cone, agent.hidden = 0, 0
    for target in wl.share(TARGETS):
        row = target_row(target, agent.number, world.num_boxes, world.first_agent, world.num_agents)
        seen = row >= 0 and (seen_others >> (row - 1 if row > own_row else row)) & 1 == 1
        agent.visible[target] = float(seen)
        if seen and not agent.hider and target < world.hiders:
            world.spotted |= True


def _fastest_look(cuda: bool, num_worlds: int) -> str:
    return "obstacles" if cuda else "targets"


LOOK = wl.Alternatives("look", {"targets": [look], "obstacles": [look_past_obstacles]}, _fastest_look)


@wl.function
def body_frame(offset: wl.vec3, rotation: wl.quat, size: wl.vec3, shape: int) -> Frame:
    """A body at ``offset`` from the start of rays, in its own frame.

    Returns:
        The start of rays, the world's x and the world's y, each with a half extent as the last number. The first half
        extent is negative for a ramp.
    """
    axes = wl.quat_to_matrix(rotation)
    start = -(wl.transpose(axes) * offset)
    width = size.x
    if shape == physics.WEDGE:
        start -= wedge_middle(size)
        width = -width
    return Frame(
        start.x, start.y, start.z, width,
        axes[0, 0], axes[0, 1], axes[0, 2], size.y,
        axes[1, 0], axes[1, 1], axes[1, 2], size.z,
    )  # fmt: skip


@wl.function
def frame_way(frame: Frame, x: float, y: float) -> wl.vec3:
    """A horizontal direction in the frame of a body."""
    return wl.vec3(frame[4], frame[5], frame[6]) * x + wl.vec3(frame[8], frame[9], frame[10]) * y


@wl.function
def lidar_place(offset: wl.vec3, radius: float, ignored: bool) -> wl.vec4:
    """Where horizontal rays may meet a body: its offset along x and y, and how far from it, negative for nowhere."""
    reach = -1.0 if ignored or abs(offset.z) >= radius else radius + SLACK
    return wl.vec4(offset.x, offset.y, reach, 0.0)


@wl.function
def may_meet(x: float, y: float, place: wl.vec4, farthest: float) -> bool:
    """Whether a ray along (x, y), which has at most unit length, may meet a body of `lidar_place`.

    Args:
        x, y: the direction.
        place: of the body.
        farthest: distance of what the ray meets so far, times the square of the length of (x, y).
    """
    along, aside = place[0] * x + place[1] * y, place[0] * y - place[1] * x
    return abs(aside) <= place[2] and along >= -place[2] and along - place[2] <= farthest


@wl.system(threads=32)
def scan_by_ray(agent: Agent, world: Arena):
    """The lidar: 30 horizontal rays, counter-clockwise from the front. A thread of a GPU computes the frame of a body,
    then takes a ray past all walls, and past the bodies that it may meet before them.
    """
    row = world.first_agent + agent.number
    own = world.at(Solid, row)
    level = world.at(Level, 0)
    bodies = world.first_agent + world.num_agents
    for k in wl.share(MAX_WALLS, disjoint=True):  # loads everything at once
        start, corners = own.position, level.obstacles[k]
        if k < bodies:
            body = world.at(Solid, k)
            offset = body.position - start
            rotation, size, shape, radius = body.rotation, body.size, body.shape, body.radius
            slot = wl.clamp(k, 0, MAX_MOVING - 1)
            agent.places[slot] = lidar_place(offset, radius, k == row)
            agent.frames[slot] = body_frame(offset, rotation, size, shape)
        wall = corners - wl.vec4(start.x, start.y, start.x, start.y)
        agent.sides[0, k] = wl.vec2(wall[0], wall[2])
        agent.sides[1, k] = wl.vec2(wall[2], wall[0])
        agent.sides[2, k] = wl.vec2(wall[1], wall[3])
        agent.sides[3, k] = wl.vec2(wall[3], wall[1])
    origin, forward = own.position, wl.quat_rotate(own.rotation, FORWARD)
    walls = world.num_walls if origin.z < WALL_HEIGHT else 0
    for ray in wl.share(RAYS):
        x, y = lidar_direction(forward, world.lidar_rays[ray, 0], world.lidar_rays[ray, 1])
        inverse_x, inverse_y = reciprocal(x), reciprocal(y)
        along_x, along_y = wl.clamp(int(inverse_x < 0.0), 0, 1), wl.clamp(2 + int(inverse_y < 0.0), 2, 3)
        nearest = MISS
        for k in range(wl.clamp(walls, 0, MAX_WALLS)):  # as rectangle_interval, whose sides are in order here
            side_x, side_y = agent.sides[along_x, k], agent.sides[along_y, k]
            entry = max(max(side_x[0] * inverse_x, side_y[0] * inverse_y), 0.0)
            if entry <= min(side_x[1] * inverse_x, side_y[1] * inverse_y):
                nearest = min(nearest, entry)
        farthest = nearest * (x * x + y * y)
        met, bit = 0, 1
        for k in range(wl.clamp(bodies, 0, MAX_MOVING)):
            if may_meet(x, y, agent.places[k], farthest):
                met |= bit
            bit = bit + bit
        for _ in range(MAX_MOVING):
            if met == 0:
                break
            k = lowest_bit(met)
            met = without_lowest(met)
            frame = agent.frames[wl.clamp(k, 0, MAX_MOVING - 1)]
            start, size = wl.vec3(frame[0], frame[1], frame[2]), wl.vec3(abs(frame[3]), frame[7], frame[11])
            nearest = min(nearest, ray_shape(start, frame_way(frame, x, y), size, frame[3] < 0.0))
        agent.lidar[ray] = nearest if nearest <= world.lidar_range else 0.0


@wl.system(threads=32)
def scan_by_body(agent: Agent, world: Arena):
    """The lidar, with all rays past one body after the other: a CPU computes these as a vector."""
    row = world.first_agent + agent.number
    own = world.at(Solid, row)
    origin = own.position
    forward = wl.quat_rotate(own.rotation, FORWARD)
    level = world.at(Level, 0)
    walls = world.num_walls if origin.z < WALL_HEIGHT else 0
    for ray in wl.share(RAYS):
        agent.lidar[ray] = MISS
    for k in range(walls):
        wall = level.obstacles[k] - wl.vec4(origin.x, origin.y, origin.x, origin.y)
        for ray in wl.share(RAYS):
            x, y = lidar_direction(forward, world.lidar_rays[ray, 0], world.lidar_rays[ray, 1])
            agent.lidar[ray] = min(agent.lidar[ray], ray_rectangle(x, y, wall))
    for k in range(world.first_agent + world.num_agents):
        body = world.at(Solid, k)
        offset = body.position - origin
        frame = body_frame(offset, body.rotation, body.size, body.shape)
        place = lidar_place(offset, body.radius, k == row)
        agent.frames[k] = frame
        agent.places[k] = place
        start, size = wl.vec3(frame[0], frame[1], frame[2]), wl.vec3(abs(frame[3]), frame[7], frame[11])
        if place[2] < 0.0:
            continue
        if frame[3] > 0.0:
            for ray in wl.share(RAYS):
                x, y = lidar_direction(forward, world.lidar_rays[ray, 0], world.lidar_rays[ray, 1])
                agent.lidar[ray] = min(agent.lidar[ray], ray_box(start, frame_way(frame, x, y), size))
        else:
            for ray in wl.share(RAYS):
                x, y = lidar_direction(forward, world.lidar_rays[ray, 0], world.lidar_rays[ray, 1])
                agent.lidar[ray] = min(agent.lidar[ray], ray_wedge(start, frame_way(frame, x, y), size))
    for ray in wl.share(RAYS):
        if agent.lidar[ray] > world.lidar_range:
            agent.lidar[ray] = 0.0


def _fastest_lidar(cuda: bool, num_worlds: int) -> str:
    return "rays" if cuda else "bodies"


LIDAR = wl.Alternatives("lidar", {"bodies": [scan_by_body], "rays": [scan_by_ray]}, _fastest_lidar)
