"""The lidar of agents: 30 horizontal rays against boxes.

First the boxes are measured relative to the eye, each once. Then every ray reads these numbers. On a GPU a thread takes
a box, then a ray; the reads of all rays are of the same addresses.
"""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.kernels.bits import lowest_bit
from worldloom.core.kernels.quotients import fast_quotient
from worldloom.envs.escape_room.entities import (
    FIRST_AGENT,
    FIRST_BORDER,
    FIRST_CUBE,
    LIDAR_DEPTH,
    LIDAR_RAYS,
    LIDAR_TYPE,
    NONE,
    NUM_AGENTS,
    NUM_BODIES,
    NUM_BORDERS,
    NUM_ROOMS,
    NUM_TURNED,
    NUM_TYPES,
    NUM_UPRIGHT,
    Agent,
    Body,
    Frame,
    Level,
)
from worldloom.physics.queries.slabs import MISS, box_interval, reciprocal, rectangle_interval

FAR = 1.0e20  # m, coordinate of the outlines of boxes above or below the rays, and square of a distance
FORWARD = wl.vec3(0.0, 1.0, 0.0)


@wl.function
def outline(start: wl.vec3, half: wl.vec3) -> wl.vec4:
    """The rectangle (x, y to x, y) of a box with world axes, relative to the eye.

    Args:
        start: the eye, relative to the centre of the box.
        half: half extents.
    """
    if abs(start.z) > half.z:
        return wl.vec4(FAR, FAR, FAR, FAR)
    return wl.vec4(-half.x - start.x, -half.y - start.y, half.x - start.x, half.y - start.y)


@wl.function
def turned_row(number: int) -> int:
    """The row of a body that can turn: agents, then cubes."""
    return FIRST_AGENT + number if number < NUM_AGENTS else FIRST_CUBE - NUM_AGENTS + number


@wl.function
def ray_outline(inverse_x: float, inverse_y: float, rectangle: wl.vec4) -> float:
    """Distance along a horizontal ray to a rectangle relative to its start; 0 from within, ``MISS`` for a miss."""
    near, far = rectangle_interval(inverse_x, inverse_y, rectangle)
    return near if near <= far else MISS


@wl.function
def meets_sphere(x: float, y: float, sphere: wl.vec4, reach: float) -> bool:
    """Whether a ray of length ``reach`` in the unit direction (x, y) meets a sphere, see ``Agent.spheres``."""
    ahead = -(sphere[0] * x + sphere[1] * y)  # of the centre
    beyond = max(ahead - reach, -ahead, 0.0)
    return sphere[2] <= ahead * ahead and beyond * beyond <= sphere[3]


@wl.function
def ray_frame(x: float, y: float, frame: Frame) -> float:
    """Distance along the horizontal direction (x, y) to a box of ``Agent.frames``; ``MISS`` for a miss."""
    way = wl.vec3(frame[0] * x + frame[4] * y, frame[1] * x + frame[5] * y, frame[2] * x + frame[6] * y)
    half = wl.vec3(frame[3], frame[7], frame[11])
    near, far = box_interval(wl.vec3(frame[8], frame[9], frame[10]), way, half)
    return near if near <= far else MISS


def lidar_system(together: bool) -> System:
    """The lidar.

    Args:
        together: Whether a ray is tested against all spheres about turned boxes first, so that threads of a warp go
            through the boxes whose spheres they meet at the same time. Otherwise every box follows its sphere.
    """

    @wl.system(threads=32)
    def cast_lidar(agent: Agent, world: Level):
        """Depth and type of what each ray hits, counter-clockwise from forward.

        End walls are tested from the agent's room onwards in the direction of the ray, up to the first hit before them.
        Rows are clamped so that the compiler knows their bounds, and no code reports a row outside of the table.
        """
        own = world.at(Body, wl.clamp(FIRST_AGENT + agent.id, 0, NUM_BODIES - 1))
        eye = own.position - wl.vec3(0.0, 0.0, own.size.z - world.eye_height)
        forward = wl.quat_rotate(own.rotation, FORWARD)
        scale = fast_quotient(1.0, float(NUM_ROOMS) * world.room_length)
        room = wl.clamp(int(eye.y / world.room_length), 0, NUM_ROOMS - 1)
        for k in wl.share(NUM_UPRIGHT):
            box = world.at(Body, FIRST_BORDER + k)
            agent.outlines[k] = outline(eye - box.position, box.size)
        for k in wl.share(NUM_TURNED):
            body = world.at(Body, wl.clamp(turned_row(k), 0, NUM_BODIES - 1))
            if body.type == NONE or k == agent.id:
                agent.spheres[k] = wl.vec4(0.0, 0.0, FAR, 0.0)
            else:
                start, half = eye - body.position, body.size
                axes = wl.quat_to_matrix(body.rotation)
                local = wl.transpose(axes) * start
                radius_sq = wl.length_sq(half)
                agent.spheres[k] = wl.vec4(start.x, start.y, wl.length_sq(start) - radius_sq, radius_sq)
                agent.frames[k] = Frame(
                    axes[0, 0], axes[0, 1], axes[0, 2], half.x,
                    axes[1, 0], axes[1, 1], axes[1, 2], half.y,
                    local.x, local.y, local.z, half.z,
                )  # fmt: skip
        for ray in wl.share(LIDAR_RAYS):
            cosine, sine = world.lidar_rays[ray, 0], world.lidar_rays[ray, 1]
            x, y = cosine * forward.x - sine * forward.y, cosine * forward.y + sine * forward.x
            inverse_x, inverse_y = reciprocal(x), reciprocal(y)
            nearest = world.lidar_range
            row = -1
            for border in range(NUM_BORDERS):
                distance = ray_outline(inverse_x, inverse_y, agent.outlines[border])
                if distance < nearest:
                    nearest = distance
                    row = FIRST_BORDER + border
            onward = 1 if inverse_y > 0.0 else -1
            face = -world.wall_thickness if inverse_y > 0.0 else 0.0  # of an end wall, from the end of its room
            for n in range(NUM_ROOMS):
                number = room + onward * n
                if number >= 0 and number < NUM_ROOMS:
                    end = world.room_length * float(number + 1)
                    if (end + face - eye.y) * inverse_y < nearest:
                        for part in range(3):
                            wall = NUM_BORDERS + 3 * wl.clamp(number, 0, NUM_ROOMS - 1) + part
                            distance = ray_outline(inverse_x, inverse_y, agent.outlines[wall])
                            if distance < nearest:
                                nearest = distance
                                row = FIRST_BORDER + wall
            if together:
                met = 0  # bits of the boxes whose spheres it meets, the first one last
                for k in range(NUM_TURNED):
                    met = 2 * met + (1 if meets_sphere(x, y, agent.spheres[NUM_TURNED - 1 - k], nearest) else 0)
                for _ in range(NUM_TURNED):
                    if met == 0:
                        break
                    k = lowest_bit(met)
                    met = met & (met - 1)
                    distance = ray_frame(x, y, agent.frames[wl.clamp(k, 0, NUM_TURNED - 1)])
                    if distance < nearest:
                        nearest = distance
                        row = turned_row(k)
            else:
                for k in range(NUM_TURNED):
                    if meets_sphere(x, y, agent.spheres[k], nearest):
                        distance = ray_frame(x, y, agent.frames[k])
                        if distance < nearest:
                            nearest = distance
                            row = turned_row(k)
            type = world.at(Body, wl.clamp(row, 0, NUM_BODIES - 1)).type if row >= 0 else NONE
            agent.sight[LIDAR_DEPTH + ray] = nearest * scale if row >= 0 else 0.0
            agent.sight[LIDAR_TYPE + ray] = fast_quotient(float(type), float(NUM_TYPES))

    return cast_lidar


def _fastest_lidar(cuda: bool, num_worlds: int) -> str:
    return "spheres" if cuda else "boxes"


LIDAR = wl.Alternatives("lidar", {"boxes": [lidar_system(False)], "spheres": [lidar_system(True)]}, _fastest_lidar)
