"""One world of many bodies: pairs from the grid, contacts solved in parallel by mass splitting."""

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom import physics
from worldloom.physics.many_bodies.components import FoundPair

ROOM = 120
SUBSTEPS = 4


class Stone(physics.ManyBody):
    pass


class Pit(physics.World):
    num_stones: wl.Config = 0
    stones: wl.Config = np.zeros((ROOM, 12), np.float32)  # position, half extents, velocity, shape, motion, friction
    tilt: wl.Config = 0.0  # rad, of all bodies about y
    grid_reach: wl.Config = 1.0


@wl.system
def place(world: Pit):
    for i in range(world.num_stones):
        world.spawn(
            Stone,
            position=wl.vec3(world.stones[i, 0], world.stones[i, 1], world.stones[i, 2]),
            size=wl.vec3(world.stones[i, 3], world.stones[i, 4], world.stones[i, 5]),
            velocity=wl.vec3(world.stones[i, 6], world.stones[i, 7], world.stones[i, 8]),
            shape=int(world.stones[i, 9]),
            motion=int(world.stones[i, 10]),
            friction=world.stones[i, 11],
            rotation=wl.quat_from_axis_angle(wl.vec3(0.0, 1.0, 0.0), world.tilt),
        )


SOLID = physics.systems(Pit, Stone, (physics.PLANE, physics.BOX), mapping="many_bodies", substeps=SUBSTEPS, sweeps=4)
KINDS = {Stone: wl.UpTo(ROOM), **SOLID.entities(pairs=12 * ROOM, contacts=8 * ROOM, large=16)}
wl.register("PhysicsPit-v0", world=Pit, entities=KINDS, reset=[place], step=SOLID.step)

FLOOR = (0, 0, 0, 1, 1, 1, 0, 0, 0, physics.PLANE, physics.STATIC, 0.5)


def stone(position, half=(0.25, 0.25, 0.25), velocity=(0.0, 0.0, 0.0), friction=0.5):
    return (*position, *half, *velocity, physics.BOX, physics.DYNAMIC, friction)


def simulate(*scenes, device="cpu", exact=False, **config):
    stones = np.zeros((len(scenes), ROOM, 12), np.float32)
    for i, scene in enumerate(scenes):
        stones[i, : len(scene)] = scene
    sim = wl.Simulation("PhysicsPit-v0", len(scenes), device, seed=0, exact=exact)
    sim.set_config("stones", stones)
    sim.set_config("num_stones", np.array([len(scene) for scene in scenes], np.int32))
    for name, value in config.items():
        sim.set_config(name, value)
    sim.reset()
    return sim


def run(sim, steps):
    for _ in range(steps):
        sim.step()
    assert sim.errors() == []
    return sim[Stone]


def heap(count, seed):
    """Boxes that fall in layers of 16."""
    generator = np.random.default_rng(seed)
    boxes = []
    for i in range(count):
        x, y = 0.7 * (i % 4) - 1.05, 0.7 * (i // 4 % 4) - 1.05
        jitter = generator.uniform(-0.1, 0.1, 2)
        boxes.append(
            stone((x + jitter[0], y + jitter[1], 0.4 + 0.6 * (i // 16)), tuple(generator.uniform(0.15, 0.3, 3)))
        )
    return [FLOOR, *boxes]


def test_a_heap_comes_to_rest():
    count = 80 if THOROUGH else 40
    sim = simulate(heap(count, 0))
    bodies = run(sim, 240)
    assert np.linalg.norm(bodies.velocity.numpy()[0, 1 : count + 1], axis=1).mean() < 0.01
    assert (~bodies.awake.numpy()[0, 1 : count + 1]).mean() > 0.8
    depth = bodies.position.numpy()[0, 1 : count + 1, 2] - bodies.size.numpy()[0, 1 : count + 1].min(axis=1)
    assert depth.min() > -0.02
    contacts = sim[SOLID.Contact]
    overlap = contacts.separations.numpy()[0, : contacts.counts.numpy()[0]].min()
    assert overlap > -0.02


def test_the_grid_finds_every_pair_of_boxes_that_may_touch():
    sim = simulate(heap(100, 1))
    for _ in range(20):
        before = {name: sim[Stone][name].numpy()[0].copy() for name in ("position", "velocity")}
        run(sim, 1)
        lower, upper, radius = (sim[Stone][name].numpy()[0, :101] for name in ("lower", "upper", "radius"))
        apart = before["position"][:101, None] - before["position"][None, :101]
        speed = before["velocity"][:101, None] - before["velocity"][None, :101]
        reach = radius[:, None] + radius[None] + 0.02 + np.linalg.norm(speed, axis=-1) / 30.0
        boxes = (lower[:, None] <= upper[None]).all(-1) & (lower[None] <= upper[:, None]).all(-1)
        boxes[1:, 1:] &= (np.linalg.norm(apart, axis=-1) <= reach)[1:, 1:]
        expected = {(int(i), int(j)) for i, j in np.argwhere(boxes) if i < j}
        count = sim[FoundPair].counts.numpy()[0]
        a, b = (sim[FoundPair][name].numpy()[0, :count] for name in ("a", "b"))
        found = {(min(i, j), max(i, j)) for i, j in zip(a.tolist(), b.tolist(), strict=True)}
        assert len(found) == count and found == expected


def corner_pairs(count, seed, push):
    """Small cubes, each of whose corners just reaches that of a cube of one size in a step, and the forces on both.

    Accelerations towards each other are up to ``push`` m/s² along every axis; rows are in random order.
    """
    generator = np.random.default_rng(seed)
    boxes, forces = [], []
    for k in range(count):
        half, own, others = generator.uniform((0.1, 0.0, 0.0), (0.24, push, push))
        start = np.array([4.0 * (k % 8), 4.0 * (k // 8), 0.0])
        gap = (own + others) / 900.0 - 2e-7 * generator.integers(0, 3)  # dt is 1/30 s
        boxes += [stone(tuple(start), (half,) * 3), stone(tuple(start + half + 0.25 + gap))]
        forces += [8000.0 * half**3 * own, -8000.0 * 0.25**3 * others]
    order = generator.permutation(2 * count)
    return [boxes[i] for i in order], np.array(forces)[order]


def test_both_bodies_of_a_pair_find_it_or_neither_does():
    """A pair is an event of its finder, and its finder a partner of the other body: two threads decide it."""
    couples = 56
    scenes, forces = zip(*(corner_pairs(couples, seed, 10.0 * (seed % 2)) for seed in range(6)), strict=True)
    sim = simulate(*scenes, margin=0.0, gravity=np.zeros(3, np.float32), sleep_speed=0.0)
    sim[Stone].force.numpy()[:, : 2 * couples] = np.array(forces)[..., None]
    sim.step()
    assert sim.errors() == []
    a, b, finder = (sim[FoundPair].padded(name).cpu().numpy() for name in ("a", "b", "finder"))
    numbers, partners = (sim[Stone][name].numpy() for name in ("num_partners", "partners"))
    for world, count in enumerate(sim[FoundPair].counts.numpy()):
        others = (a + b - finder)[world, :count]
        events = set(zip(finder[world, :count].tolist(), others.tolist(), strict=True))
        rows = [(int(one), row) for row in range(2 * couples) for one in partners[world, row, : numbers[world, row]]]
        assert events == set(rows)
        assert 0 < len(events) < couples


def test_contacts_of_a_body_are_its_links():
    sim = simulate(heap(60, 2))
    bodies, contacts = run(sim, 40), sim[SOLID.Contact]
    count = int(contacts.counts.numpy()[0])
    a, b = contacts.a_id.numpy()[0, :count], contacts.b_id.numpy()[0, :count]
    for row in range(1, 61):
        links = bodies.links.numpy()[0, row, : bodies.num_links.numpy()[0, row]]
        assert sorted(links.tolist()) == np.flatnonzero((a == row) | (b == row)).tolist()


def test_stacks_stand():
    sim = simulate([FLOOR, *(stone((0.0, 0.0, 0.25 + 0.5 * k)) for k in range(5))])
    bodies = run(sim, 150)
    place = bodies.position.numpy()[0, 1:6]
    assert np.abs(place[:, :2]).max() < 0.01
    assert place[:, 2] == pytest.approx(0.25 + 0.5 * np.arange(5), abs=0.02)
    assert np.abs(bodies.velocity.numpy()[0, 1:6]).max() < 0.01


@pytest.mark.parametrize(("friction", "rests"), [(0.3, False), (0.7, True)])
def test_boxes_slide_on_an_incline_at_the_exact_speed_or_rest(friction, rests):
    angle = np.radians(30.0)
    floor = (*FLOOR[:-1], friction)
    up = np.array([np.sin(angle), 0.0, np.cos(angle)])
    sim = simulate([floor, stone(tuple(0.25 * up), friction=friction)], tilt=float(angle))
    speed = float(np.linalg.norm(run(sim, 30).velocity.numpy()[0, 1]))
    exact = 9.8 * (np.sin(angle) - friction * np.cos(angle))
    assert speed < 1e-3 if rests else speed == pytest.approx(exact, rel=0.02)


def test_collisions_keep_momentum():
    scene = [stone((0.6 * k, 0.02 * k, 0.0), velocity=(3.0 - k, 0.1 * k, 0.0)) for k in range(6)]
    sim = simulate(scene, gravity=np.zeros(3, np.float32))
    run(sim, 1)
    bodies = sim[Stone]
    before = (bodies.mass.numpy()[0, :6, None] * bodies.velocity.numpy()[0, :6]).sum(axis=0)
    run(sim, 60)
    after = (bodies.mass.numpy()[0, :6, None] * bodies.velocity.numpy()[0, :6]).sum(axis=0)
    assert after == pytest.approx(before, abs=1e-5 * float(np.abs(before).max()))


def test_a_large_body_rests_on_small_ones():
    small = [stone((x, y, 0.25)) for x in (-1.5, 1.5) for y in (-1.5, 1.5)]
    sim = simulate([FLOOR, *small, stone((0.0, 0.0, 0.75), (2.0, 2.0, 0.25))])
    bodies = run(sim, 60)
    assert bodies.large.numpy()[0, :6].tolist() == [True, False, False, False, False, True]
    assert bodies.position.numpy()[0, 5, 2] == pytest.approx(0.75, abs=0.02)


def test_bodies_at_rest_sleep_and_wake():
    sim = simulate([FLOOR, *(stone((0.0, 0.0, 0.25 + 0.5 * k)) for k in range(3))])
    bodies = run(sim, 60)
    assert not bodies.awake.numpy()[0, 1:4].any() and np.abs(bodies.velocity.numpy()).max() == 0.0
    place = bodies.position.numpy().copy()
    assert np.array_equal(run(sim, 10).position.numpy(), place)
    bodies.position.numpy()[0, 1] = (5.0, 0.0, 0.25)  # the support of the others
    assert run(sim, 15).position.numpy()[0, 2:4, 2] == pytest.approx([0.25, 0.75], abs=0.15)
    run(sim, 60)
    bodies.velocity.numpy()[0, 2] = (2.0, 0.0, 0.0)
    assert run(sim, 1).awake.numpy()[0, 2] and run(sim, 10).position.numpy()[0, 2, 0] > 0.05


def test_a_slow_push_wakes_a_body():
    sim = simulate([FLOOR, stone((0.0, 0.0, 0.25)), stone((0.5, 0.0, 0.25))])
    bodies = run(sim, 60)
    assert not bodies.awake.numpy()[0, 1:3].any()
    for _ in range(30):
        bodies.force.numpy()[0, 1] = (2.0 * 0.6 * 9.8 * 125.0, 0.0, 0.0)  # the friction of both boxes is 0.5
        run(sim, 1)
    assert bodies.position.numpy()[0, 2, 0] > 0.6


def test_the_interpreter_and_the_cpu_agree():
    states = []
    for device in ("python", "cpu"):
        sim = simulate(heap(6, 3), heap(3, 4), device=device)
        run(sim, 4)
        states.append([sim[Stone].padded(name).cpu().numpy() for name in ("position", "rotation", "velocity", "spin")])
    for interpreted, compiled in zip(*states, strict=True):
        assert interpreted.tobytes() == compiled.tobytes()


def test_other_substeps_than_those_of_the_systems_are_a_fault():
    sim = simulate([FLOOR], substeps=2)
    sim.step()
    assert "substeps is 2, which is not that of physics.systems" in sim.errors()[0].message


def test_what_systems_rejects():
    class Plain(physics.Body):
        pass

    with pytest.raises(wl.DefinitionError, match=r"derive from physics\.ManyBody, and Plain does not") as raised:
        physics.systems(Pit, Plain, mapping="many_bodies")
    assert raised.value.file == __file__ and raised.value.fix == "write 'class Plain(physics.ManyBody)'"
    with pytest.raises(wl.DefinitionError, match="mapping cannot be 'gpu'"):
        physics.systems(Pit, Stone, mapping="gpu")
    with pytest.raises(wl.DefinitionError, match="at least 1, not 0 and 4"):
        physics.systems(Pit, Stone, mapping="many_bodies", substeps=0)
