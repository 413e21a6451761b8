"""HideSeek: rewards, ends, observations, numbers of agents and statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hideseek_scenes import FORWARD, LOCK, NOTHING, make_scene

import worldloom as wl
from worldloom.envs.hideseek.entities import SOLID
from worldloom.learn.play.episode_metrics import LastEpisodes

BOX, RAMP = 0, 3  # rows with 3 boxes
HIDER, SEEKER = 0, 3  # numbers of agents
METRICS = {
    *("boxes_moved_before", "boxes_moved_after", "ramps_moved_before", "ramps_moved_after"),
    *("hider_locks", "seeker_locks", "spotted_fraction", "hider_entries", "seeker_entries"),
}
"""What trainings and evaluations report."""


def rewards(sim: wl.Simulation) -> list[float]:
    """Of three hiders and two seekers in world 0."""
    return [*sim["Hider"].agent_rows.reward.numpy()[0], *sim["Seeker"].agent_rows.reward.numpy()[0, :2]]


def hide(scene) -> None:
    """Hiders on one side and seekers on the other, looking away."""
    for number in range(3):
        scene.put_agent(number, -6.0 + 4.0 * number, -10.0, np.pi)
    for number in (3, 4):
        scene.put_agent(number, 4.0 * (number - 3), 10.0)


def test_rewards_are_those_of_the_team(sim: wl.Simulation) -> None:
    """Hiders get 1 while no seeker sees any of them, else -1; seekers the opposite."""
    scene = make_scene(sim, preparation=0)
    hide(scene)
    scene.step()
    assert rewards(sim) == [1.0, 1.0, 1.0, -1.0, -1.0]
    scene.put_agent(SEEKER, 0.0, 10.0, np.pi)
    scene.step()
    assert rewards(sim) == [-1.0, -1.0, -1.0, 1.0, 1.0]
    scene.put_agent(SEEKER, 0.0, 10.0)
    scene.step()
    assert rewards(sim) == [1.0, 1.0, 1.0, -1.0, -1.0]  # nothing is left of the step before


def test_outside_costs_the_agent_ten(sim: wl.Simulation) -> None:
    scene = make_scene(sim, preparation=0)
    hide(scene)
    scene.put_agent(1, 3.0, -18.5, np.pi)
    scene.put_agent(4, 18.0, 10.0)
    scene.step()
    assert rewards(sim) == [1.0, -9.0, 1.0, -1.0, -11.0]


def test_nothing_counts_during_the_preparation(sim: wl.Simulation) -> None:
    """The first reward is that of step 95, counted from 0."""
    scene = make_scene(sim)
    hide(scene)
    scene.put_agent(1, 3.0, -18.5, np.pi)
    sim.world.step.numpy()[:] = 94
    scene.step()
    assert rewards(sim) == [0.0] * 5
    scene.step()
    assert rewards(sim) == [1.0, -9.0, 1.0, -1.0, -1.0]


def test_an_episode_ends_after_240_steps(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    sim.world.step.numpy()[:] = 238
    scene.step()
    assert not sim.world.truncated.numpy().any() and scene.agent(HIDER, "preparation_left") == 0
    scene.step()
    assert sim.world.truncated.numpy().all() and not sim.world.terminated.numpy().any()
    assert sim["Hider"].agent_rows.truncated.numpy().all()
    assert sim["Seeker"].agent_rows.truncated.numpy()[0].tolist() == [True, True, False]
    assert scene.agent(HIDER, "preparation_left") == 96 and int(sim.world.step.numpy()[0]) == 0


def test_the_preparation_counts_down(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    assert scene.agent(HIDER, "preparation_left") == scene.agent(SEEKER, "preparation_left") == 96
    scene.step()
    assert scene.agent(HIDER, "preparation_left") == 95
    for step, left in ((94, 1), (95, 0), (96, 0)):
        sim.world.step.numpy()[:] = step
        scene.step()
        assert scene.agent(SEEKER, "preparation_left") == left


def test_agents_observe_others_in_their_frame(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 1.0, 2.0, 0.5)
    scene.put_agent(2, -4.0, 6.0, 1.0)
    scene.put_agent(4, 3.0, -5.0, 2.0)
    scene.step()
    own, others = scene.first_agent, scene.agent(HIDER, "others")
    np.testing.assert_allclose(others[1, :2], scene.seen_from(own, own + 2), atol=1e-4)
    np.testing.assert_allclose(others[3, :2], scene.seen_from(own, own + 4), atol=1e-4)
    assert others[:, 4].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]  # two hiders, two seekers, an empty row
    assert scene.agent(4, "others")[:, 4].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert (others[4] == 0.0).all()
    assert scene.agent(HIDER, "agent_type") == 1 and scene.agent(SEEKER, "agent_type") == 0


def test_agents_observe_boxes_and_ramps(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 1.0, 2.0, 0.5)
    scene.put(BOX, 5.0, 9.0, 1.2)
    scene.put(RAMP, -5.0, -9.0, 2.0)
    scene.solids.velocity.numpy()[:, BOX, :2] = (3.0, 0.0)
    scene.solids.owner.numpy()[:, RAMP] = 2
    scene.step()
    own, boxes, ramps = scene.first_agent, scene.agent(HIDER, "boxes"), scene.agent(HIDER, "ramps")
    np.testing.assert_allclose(boxes[0, :2], scene.seen_from(own, BOX), atol=1e-4)
    vx, vy = scene.solids.velocity.numpy()[0, BOX, :2]
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(boxes[0, 2:4], [c * vx + s * vy, c * vy - s * vx], atol=1e-3)
    assert boxes[0, 4:6].tolist() == [8.0, 1.5]
    assert boxes[0, 6] == pytest.approx(0.5 - 1.2, abs=2e-2)
    np.testing.assert_allclose(ramps[0, :2], scene.seen_from(own, RAMP), atol=1e-4)
    assert ramps[0, 4] == pytest.approx(0.5 - 2.0, abs=1e-2) and ramps[0, 5:].tolist() == [0.0, 1.0]
    assert scene.agent(SEEKER, "ramps")[0, 5:].tolist() == [1.0, 0.0]
    assert (boxes[3:] == 0.0).all()


def test_agents_observe_themselves_and_critics_all_positions(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    row = scene.put_agent(HIDER, 9.0, -4.5, 0.5)
    scene.step()
    myself, places = scene.agent(HIDER, "myself"), scene.agent(SEEKER, "all_positions")
    x, y, z = scene.position(row)
    np.testing.assert_allclose(myself[:6], [x / 18.0, y / 18.0, z, -np.sin(0.5), np.cos(0.5), 0.0], atol=1e-2)
    np.testing.assert_allclose(myself[6:], [1.0, 0.0, 95.0 / 96.0, 1.0 / 240.0], atol=1e-6)
    np.testing.assert_array_equal(places[0], scene.position(row)[:2])
    np.testing.assert_array_equal(places[6 + BOX], scene.position(BOX)[:2])
    np.testing.assert_array_equal(places[15], scene.position(RAMP)[:2])
    assert (places[5] == 0.0).all() and (places[9:15] == 0.0).all()


@pytest.mark.parametrize(("hiders", "seekers"), [(1, 1), (3, 3), (2, 3)])
def test_the_number_of_agents_is_configuration(sim: wl.Simulation, hiders: int, seekers: int) -> None:
    """Without compiling again; each world may have its own."""
    make_scene(sim, hiders=hiders, seekers=seekers)
    assert sim["Hider"].agent_rows.active.numpy().sum(axis=1).tolist() == [hiders] * 4
    assert sim["Seeker"].agent_rows.active.numpy().sum(axis=1).tolist() == [seekers] * 4
    sim.set_config("hiders", np.int32([1, 2, 3, 3]))
    sim.reset(seeds=1)
    assert sim["Hider"].counts.numpy().tolist() == [1, 2, 3, 3]
    assert sim.errors() == []


def test_statistics_show_the_stages_of_play(sim: wl.Simulation) -> None:
    scene = make_scene(sim, preparation=4)  # rewards from step 3 on
    hide(scene)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(BOX, 0.0, 3.0)
    sim.world.num_doors.numpy()[:] = 2
    sim["Level"].doors.numpy()[:, 0, :2] = [(-2.0, 0.2, 2.0, 0.2), (-18.0, -2.0, -18.0, 2.0)]
    start = scene.position(BOX)
    scene.step((5, 10, 5, 1, 0))  # it grabs, and passes the door
    for _ in range(2):
        scene.step(FORWARD)
    before = np.linalg.norm((scene.position(BOX) - start)[:2])
    world = sim.world
    assert world.boxes_moved_before.numpy()[0] == pytest.approx(before, rel=0.2) and before > 0.1
    assert world.boxes_moved_after.numpy()[0] == 0.0 and world.ramps_moved_before.numpy()[0] < 1e-3
    assert world.hider_entries.numpy()[0] == 1 and world.seeker_entries.numpy()[0] == 0
    scene.step(LOCK)
    scene.put_agent(SEEKER, 12.0, 0.0, np.pi / 2.0)
    scene.step(NOTHING)
    assert world.hider_locks.numpy()[0] == 1
    assert world.spotted_steps.numpy()[0] == 1 and world.spotted_fraction.numpy()[0] == 0.5
    sim.world.step.numpy()[:] = 239
    scene.step(NOTHING)
    assert world.boxes_moved_before.numpy()[0] == 0.0 and world.hider_locks.numpy()[0] == 0
    last = LastEpisodes(sim)
    means = last.means(last.sums().tolist())
    assert world.final_hider_locks.numpy()[0] == 1 and world.final_hider_entries.numpy()[0] == 1
    assert world.final_boxes_moved_before.numpy()[0] == pytest.approx(before, rel=0.2)
    assert set(means) == METRICS and means["hider_locks"] > 0.0


def test_random_play_is_without_faults_and_far_from_capacities(sim: wl.Simulation) -> None:
    make_scene(sim)
    sim.set_config("min_boxes", 8)
    sim.set_config("max_boxes", 9)
    sim.reset(seeds=3)
    rng, most = np.random.default_rng(1), 0
    for _ in range(12):
        choices = {f"{kind}.choose": rng.integers(0, (11, 11, 11, 2, 2), (4, 3, 5)) for kind in ("Hider", "Seeker")}
        sim.step(choices)
        most = max(most, int(sim[SOLID.Contact].counts.numpy().max()))
        positions = sim["Solid"].position.numpy()
        assert np.isfinite(positions).all()
    assert sim.errors() == [] and most <= 40


def test_settled_bodies_overlap_by_millimetres(sim: wl.Simulation) -> None:
    """Packed bodies that all agents push together for a second, and that then come to rest."""
    scene = make_scene(sim, boxes=8, preparation=0, packed=True)
    sim.reset(seeds=0)  # the scene has parked all bodies
    for _ in range(30):
        scene.step(*[FORWARD] * 5)
    for _ in range(60):
        scene.step(*[NOTHING] * 5)
    counts, points = sim[SOLID.Contact].counts.numpy(), sim[SOLID.Contact].num_points.numpy()
    live = (np.arange(points.shape[1]) < counts[:, None])[..., None] & (np.arange(4) < points[..., None])
    depth = -sim[SOLID.Contact].separations.numpy()[live]
    assert len(depth) > 100
    assert np.clip(depth, 0.0, None).mean() < 1.5e-3 and np.quantile(depth, 0.99) < 3e-3
