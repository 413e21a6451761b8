"""Separations of random pairs of shapes against MuJoCo's distances in float64."""

import numpy as np
import pytest
from physics_scenes import CUBE, HULL_POINTS, HULLS, SOLID, BodySpec, matrix, simulate
from scipy.spatial import ConvexHull
from thorough import THOROUGH

from worldloom import physics
from worldloom.physics.geometry.separating_axis import EDGE_ABSOLUTE, EDGE_RELATIVE

mujoco = pytest.importorskip("mujoco")

GEOMS = {physics.SPHERE: "sphere", physics.CAPSULE: "capsule", physics.BOX: "box"}
POLYTOPES = (physics.BOX, physics.WEDGE, physics.HULL)
MARGIN = 5.0  # m, more than any distance
PAIRS = 10_000 if THOROUGH else 1_500


def wedge_points(size):
    x, y, z = size
    low, foot, top = (-4 / 3 * y, -2 / 3 * z), (2 / 3 * y, -2 / 3 * z), (2 / 3 * y, 4 / 3 * z)
    return np.array([[s * x, *corner] for corner in (low, foot, top) for s in (-1, 1)])


def random_body(shape, generator, spread):
    size = tuple(generator.uniform(0.2, 1.0, 3))
    hull = int(generator.integers(len(HULL_POINTS)))
    rotation = generator.normal(size=4)
    rotation /= np.linalg.norm(rotation)
    position = tuple(generator.uniform(-spread, spread, 3))
    return BodySpec(shape, size, position, tuple(rotation), hull=hull)


def geom(body, name):
    if body.shape in GEOMS:
        numbers = " ".join(map(repr, map(float, body.size)))
        return "", f'<geom name="{name}" type="{GEOMS[body.shape]}" size="{numbers}"/>'
    points = (
        wedge_points(body.size) if body.shape == physics.WEDGE else HULL_POINTS[body.hull] - HULLS.centre[body.hull]
    )
    text = " ".join(f"{x:.9g}" for x in np.asarray(points, np.float64).ravel())
    return f'<mesh name="{name}" vertex="{text}" inertia="exact"/>', f'<geom name="{name}" type="mesh" mesh="{name}"/>'


def exact_distance(a, b):
    """Signed distance of two bodies by MuJoCo: negative where they overlap."""
    (a_mesh, a_geom), (b_mesh, b_geom) = geom(a, "a"), geom(b, "b")
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option ccd_iterations="500" ccd_tolerance="1e-9"/><asset>{a_mesh}{b_mesh}</asset><worldbody>
        <body mocap="true">{a_geom}</body><body mocap="true">{b_geom}</body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    for i, body in enumerate((a, b)):
        data.mocap_pos[i] = body.position
        data.mocap_quat[i] = np.roll(body.rotation, 1)
    mujoco.mj_kinematics(model, data)
    return mujoco.mj_geomDistance(model, data, 0, 1, MARGIN, None)


def support_points(body):
    """Vertices of the core of a shape in world axes, and its radius."""
    rotation = matrix(np.asarray(body.rotation))
    if body.shape == physics.SPHERE:
        points = np.zeros((1, 3))
    elif body.shape == physics.CAPSULE:
        points = np.array([[0, 0, -body.size[1]], [0, 0, body.size[1]]])
    elif body.shape == physics.BOX:
        points = 2.0 * CUBE * np.asarray(body.size)
    elif body.shape == physics.WEDGE:
        points = wedge_points(body.size)
    else:
        points = HULL_POINTS[body.hull] - HULLS.centre[body.hull]
    radius = body.size[0] if body.shape in (physics.SPHERE, physics.CAPSULE) else 0.0
    return points @ rotation.T + np.asarray(body.position), radius


def core_depth(a, b):
    """Separation of the cores of two bodies in float64, negative where they overlap: a hull of all differences."""
    a_points, b_points = support_points(a)[0], support_points(b)[0]
    differences = (b_points[None] - a_points[:, None]).reshape(-1, 3)
    return ConvexHull(differences).equations[:, 3].max()


@pytest.fixture(scope="module")
def random_pairs():
    generator = np.random.default_rng(0)
    shapes = [physics.SPHERE, physics.CAPSULE, physics.BOX, physics.WEDGE, physics.HULL]
    pairs = [[random_body(shape, generator, 0.9) for shape in generator.choice(shapes, 2)] for _ in range(PAIRS)]
    sim = simulate(*pairs, world="PhysicsDetection-v0", margin=MARGIN)
    sim.step()
    contacts = sim[SOLID.Contact]
    assert (contacts.counts.numpy() == 1).all() and sim.errors() == []
    points = np.arange(4) < contacts.num_points.numpy()[:, :1]
    nearest = np.where(points, contacts.separations.numpy()[:, 0], np.inf).min(axis=1)
    return pairs, nearest, np.array([exact_distance(a, b) for a, b in pairs])


def both(pairs, kinds):
    return np.array([a.shape in kinds and b.shape in kinds for a, b in pairs])


def test_round_shapes_have_exact_separations(random_pairs):
    pairs, nearest, exact = random_pairs
    reference = exact.copy()
    for i, (a, b) in enumerate(pairs):  # MuJoCo's capsules in boxes are inexact once the segment enters the box
        if {a.shape, b.shape} & set(POLYTOPES) and physics.CAPSULE in (a.shape, b.shape) and core_depth(a, b) < 0.0:
            reference[i] = core_depth(a, b) - support_points(a)[1] - support_points(b)[1]
    error = np.abs(nearest - reference)[~both(pairs, POLYTOPES)]
    assert np.quantile(error, 0.99) < 1e-6
    assert error.max() < EDGE_ABSOLUTE + 1e-5  # by which a line contact may be higher than the closest points


def test_polytopes_have_the_depth_of_the_least_translation(random_pairs):
    pairs, nearest, exact = random_pairs
    overlapping = both(pairs, POLYTOPES) & (exact < -1e-4)
    tolerance = EDGE_ABSOLUTE + EDGE_RELATIVE * np.abs(exact) + 1e-5  # faces are preferred to edges by so much
    wrong = np.flatnonzero(overlapping & (np.abs(nearest - exact) > 2.0 * tolerance))
    assert overlapping.sum() > 0.1 * PAIRS
    assert len(wrong) < 0.001 * PAIRS
    for i in wrong:  # MuJoCo's iteration may stop early
        assert abs(nearest[i] - core_depth(*pairs[i])) < 2.0 * tolerance[i]


def test_separated_polytopes_are_never_reported_farther_than_they_are(random_pairs):
    pairs, nearest, exact = random_pairs
    apart = both(pairs, POLYTOPES) & (exact > 1e-4)
    assert apart.sum() > 0.1 * PAIRS
    assert (nearest[apart] > -1e-5).all()
    tolerance = EDGE_ABSOLUTE + EDGE_RELATIVE * exact + 1e-5
    assert ((nearest - exact) < 2.0 * tolerance)[apart].all()
