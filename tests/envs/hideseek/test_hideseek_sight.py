"""HideSeek: visibility and lidar, in scenes and against float64 half-spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hideseek_scenes import make_scene
from thorough import THOROUGH

import worldloom as wl
from worldloom import physics
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import first_difference

BOX, RAMP = 0, 3  # rows with 3 boxes
HIDER, SEEKER = 0, 3  # numbers of agents
HALF_CONE = np.radians(67.5)


def observe(sim: wl.Simulation, scene) -> None:
    """Step without motion, so that what is observed is what was placed."""
    sim.set_config("gravity", np.zeros(3, np.float32))
    scene.step()
    sim.set_config("gravity", np.float32([0.0, 0.0, -9.8]))


@pytest.mark.parametrize(("angle", "seen"), [(10.0, 1), (67.0, 1), (-67.0, 1), (68.0, 0), (-68.0, 0), (180.0, 0)])
def test_the_field_of_view_is_a_cone_of_135_degrees(sim: wl.Simulation, angle: float, seen: int) -> None:
    scene, at = make_scene(sim), np.radians(angle)
    scene.put_agent(SEEKER, 0.0, 0.0)
    scene.put_agent(HIDER, -8.0 * np.sin(at), 8.0 * np.cos(at))
    scene.put(BOX, 30.0 * np.sin(at), 30.0 * np.cos(at))
    observe(sim, scene)
    assert scene.agent(SEEKER, "others_visible")[0] == seen
    assert scene.agent(SEEKER, "boxes_visible")[0] == seen
    assert bool(sim.world.spotted.numpy()[0]) == bool(seen)


def test_what_stands_between_hides(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(SEEKER, 0.0, 0.0)
    scene.put_agent(HIDER, 0.0, 10.0)
    scene.put_agent(HIDER + 1, 12.0, 10.0)
    scene.put(BOX, 0.0, 5.0)
    scene.put(RAMP, -9.0, 9.0)
    observe(sim, scene)
    assert scene.agent(SEEKER, "others_visible").tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert scene.agent(SEEKER, "boxes_visible")[:3].tolist() == [1.0, 0.0, 0.0]
    assert scene.agent(SEEKER, "ramps_visible").tolist() == [1.0, 0.0]
    sim.world.num_walls.numpy()[:] = 1
    sim["Level"].obstacles.numpy()[:, 0, 0] = (-18.0, 2.0, 18.0, 2.4)
    observe(sim, scene)
    assert not scene.agent(SEEKER, "others_visible").any() and not scene.agent(SEEKER, "boxes_visible").any()
    scene.put_agent(SEEKER, 0.0, 0.0, z=7.0)  # over the wall and the box
    observe(sim, scene)
    assert scene.agent(SEEKER, "others_visible")[0] == 1.0


def test_a_hider_that_sees_does_not_give_itself_away(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put_agent(SEEKER, 0.0, 8.0)
    observe(sim, scene)
    assert scene.agent(HIDER, "others_visible")[2] == 1.0  # the first seeker, after two other hiders
    assert not sim.world.spotted.numpy()[0]


def test_the_lidar_turns_left_from_the_front(sim: wl.Simulation) -> None:
    """30 rays from the centre; rays that hit nothing within 200 m are 0."""
    scene = make_scene(sim)
    scene.put_agent(HIDER, 1.0, -2.0, np.pi / 2.0)  # it looks along -x
    scene.put_agent(SEEKER, -3.0, -2.0)
    scene.put(BOX + 1, 1.0, -7.0)
    sim.world.num_walls.numpy()[:] = 1
    sim["Level"].obstacles.numpy()[:, 0, 0] = (10.0, -18.0, 10.4, 18.0)
    observe(sim, scene)
    lidar = scene.agent(HIDER, "lidar")
    assert lidar[0] == pytest.approx(3.0, abs=1e-4)  # front: the seeker
    assert lidar[15] == pytest.approx(9.0, abs=1e-4)  # back: the wall
    assert lidar[14] == pytest.approx(9.0 / np.cos(np.radians(12.0)), abs=1e-4)
    assert lidar[7] == pytest.approx(4.25 / np.cos(np.radians(6.0)), abs=1e-3)  # left: the box
    assert lidar[23] == 0.0  # right: nothing


def planes(shape: int, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outward normals and offsets of the faces of a box or a wedge, in the body frame."""
    x, y, z = size
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    if shape == physics.BOX:
        return normals, np.array([x, y, z, x, y, z])
    slope = np.array([0.0, -z, y]) / np.hypot(y, z)
    sides = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, 0, -1.0], slope])
    foot = np.array([0.0, -4.0 / 3.0 * y, -2.0 / 3.0 * z])
    return sides, np.array([x, x, 2.0 / 3.0 * y, 2.0 / 3.0 * z, slope @ foot])


def ray_distance(origin: np.ndarray, way: np.ndarray, solid: dict) -> float:
    """Distance to a solid in units of ``way``; infinite for a miss."""
    axes = solid["axes"]
    start, direction = axes.T @ (origin - solid["position"]), axes.T @ way
    normals, offsets = planes(solid["shape"], solid["size"])
    heights, rises = normals @ start - offsets, normals @ direction
    if (heights[np.abs(rises) < 1e-12] > 0.0).any():
        return np.inf
    steep = np.abs(rises) >= 1e-12
    times = -heights[steep] / rises[steep]
    entry = max(0.0, times[rises[steep] < 0.0].max(initial=0.0))
    return entry if entry <= times[rises[steep] > 0.0].min(initial=np.inf) else np.inf


def rotation_matrix(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def solids_of(sim: wl.Simulation, world: int) -> list[dict]:
    """All bodies of a world but the floor, in float64, by row."""
    table, count = sim["Solid"], int(sim["Solid"].counts.numpy()[world])
    columns = {name: table[name].numpy()[world] for name in ("position", "rotation", "size", "shape")}
    return [
        {
            "row": row,
            "position": columns["position"][row].astype(float),
            "axes": rotation_matrix(columns["rotation"][row].astype(float)),
            "size": columns["size"][row].astype(float),
            "shape": int(columns["shape"][row]),
        }
        for row in range(count)
        if columns["shape"][row] != physics.PLANE
    ]


def expected_view(solids: list[dict], row: int, targets: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Visibility of targets with how clear it is, and the lidar of the agent in a row."""
    own = next(solid for solid in solids if solid["row"] == row)
    others = [solid for solid in solids if solid["row"] != row]
    forward = own["axes"] @ np.array([0.0, 1.0, 0.0])
    visible, clear = [], []
    for target in targets:
        aimed = next(solid for solid in others if solid["row"] == target)
        way = aimed["position"] - own["position"]
        angle = np.arccos(np.clip(way @ forward / np.linalg.norm(way), -1.0, 1.0))
        hits = {solid["row"]: ray_distance(own["position"], way, solid) for solid in others}
        first = min(hits, key=hits.__getitem__)
        visible.append(angle <= HALF_CONE and first == target)
        ranked = sorted(hits.values())
        clear.append(abs(angle - HALF_CONE) > 1e-4 and ranked[1] - ranked[0] > 1e-4)
    lidar = []
    for angle in 2.0 * np.pi * np.arange(30) / 30.0:
        c, s = np.cos(angle), np.sin(angle)
        way = np.array([c * forward[0] - s * forward[1], s * forward[0] + c * forward[1], 0.0])
        nearest = min(ray_distance(own["position"], way, solid) for solid in others)
        lidar.append(nearest if nearest <= 200.0 else 0.0)
    return np.array(visible), np.array(clear), np.array(lidar)


def test_views_are_those_of_a_float64_oracle(sim: wl.Simulation) -> None:
    """Levels in play: bodies are pushed, tilted and locked."""
    make_scene(sim, 6)
    sim.set_config("min_boxes", 3)
    sim.set_config("max_boxes", 8)
    sim.reset(seeds=7)
    rng = np.random.default_rng(0)
    for number, solid in enumerate(sim["Solid"].rotation.numpy()[0][:3]):  # some boxes tumble
        sim["Solid"].position.numpy()[0, number, 2] = 4.0
        sim["Solid"].spin.numpy()[0, number] = rng.normal(0.0, 2.0, 3)
        assert solid.shape == (4,)
    wrong_rays = rays = compared = 0
    for _ in range(60 if THOROUGH else 6):
        sim.step(random_actions(sim, rng))
        for world in range(sim.num_worlds):
            solids = solids_of(sim, world)
            first = int(sim.world.first_agent.numpy()[world])
            boxes = int(sim.world.num_boxes.numpy()[world])
            for number in (0, 4):
                kind, k = ("Hider", number) if number < 3 else ("Seeker", number - 3)
                rows = [first + other for other in range(5) if other != number]
                visible, clear, lidar = expected_view(solids, first + number, [*rows, *range(first)])
                agents = sim[kind].agent_rows
                seen = np.concatenate(
                    [
                        agents.others_visible.numpy()[world, k][:4],
                        agents.boxes_visible.numpy()[world, k][:boxes],
                        agents.ramps_visible.numpy()[world, k],
                    ]
                )
                np.testing.assert_array_equal(seen.astype(bool)[clear], visible[clear])
                compared += int(clear.sum())
                # A ray that grazes an edge may hit or miss it.
                wrong_rays += int((np.abs(agents.lidar.numpy()[world, k] - lidar) > 2e-3).sum())
                rays += 30
    assert compared > 400 and wrong_rays <= rays // 500


@pytest.mark.parametrize(
    ("name", "ways", "component"),
    [("lidar", ("bodies", "rays"), "lidar"), ("look", ("targets", "obstacles"), "visible")],
)
def test_both_ways_give_the_same_bits(name: str, ways: tuple[str, str], component: str) -> None:
    """In all columns: a simulation on a GPU has the state of one on the CPU."""
    one, other = (wl.Simulation("HideSeek-v0", 3, "python", seed=3, alternatives={name: way}) for way in ways)
    for step in range(3 if THOROUGH else 2):
        assert one["Hider"][component].numpy().any() and first_difference(one, other, step) is None
        for sim in (one, other):
            sim.step()
