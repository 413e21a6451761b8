"""Populations of agents: every entity has one row of actions, observations and rewards for as long as it exists."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from varying_agents import OFFICE, QUIT, ROWS, Office, Worker, numbers, office, open_office, orders, work

import worldloom as wl
from worldloom.core.state.replay_log import ReplayLog
from worldloom.core.tools.compare import compare, first_difference

pytestmark = pytest.mark.usefixtures("quick_compilation")


def rows_of(simulation: wl.Simulation, name: str) -> list:
    return simulation[Worker].agent_rows[name].numpy()[0].tolist()


@pytest.fixture(params=["python", "cpu"])
def device(request: pytest.FixtureRequest) -> str:
    return request.param


def test_agents_keep_their_rows_when_entities_move(device: str) -> None:
    simulation = office(device, config={"staff": 3, "hires": 0})
    simulation.step(orders(QUIT, 1, 2))
    assert simulation[Worker].number.numpy()[0, :2].tolist() == [1, 2]  # they moved up in their own table
    assert numbers(simulation) == [None, 1, 2]
    assert rows_of(simulation, "pay") == [-5.0, 1.0, 2.0]  # the last reward of the one that quit is kept
    assert rows_of(simulation, "terminated") == [True, False, False]
    assert rows_of(simulation, "badge") == [[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]]
    assert rows_of(simulation, "served") == [0, 1, 1]
    simulation.step(orders(1, 2, 0))
    assert rows_of(simulation, "pay") == [0.0, 2.0, 0.0]  # actions reach the entity of their row
    assert rows_of(simulation, "terminated") == [False, False, False]


def test_new_agents_take_free_rows_and_act_from_the_next_step_on(device: str) -> None:
    simulation = office(device)
    assert numbers(simulation) == [0, 1, None]
    simulation.step(orders(1, 1, 2))
    assert numbers(simulation) == [0, 1, 2]
    assert rows_of(simulation, "pay") == [1.0, 1.0, 0.0]
    simulation.step(orders(0, 0, 2))
    assert rows_of(simulation, "pay") == [0.0, 0.0, 2.0]


def test_a_row_may_end_one_agent_and_begin_another_in_one_step(device: str) -> None:
    simulation = office(device, config={"staff": 3})
    simulation.step(orders(0, QUIT, 0))
    assert numbers(simulation) == [0, 3, 2]
    assert rows_of(simulation, "terminated") == [False, True, False]
    assert rows_of(simulation, "pay") == [0.0, -5.0, 0.0]  # of the agent that acted
    assert rows_of(simulation, "badge")[1] == [3.0, 0.0]  # of the agent that is there


def test_rows_that_were_free_come_before_those_that_ended_in_the_step(device: str) -> None:
    simulation = office(device)
    simulation.step(orders(QUIT, 0, 0))
    assert numbers(simulation) == [None, 1, 2]


def test_actions_of_free_rows_are_ignored(device: str) -> None:
    simulation = office(device, config={"hires": 0})
    simulation.step(orders(0, 1, 99))
    assert simulation.errors() == [] and rows_of(simulation, "pay") == [0.0, 1.0, 0.0]
    simulation.step({Worker: np.array([[0, 99, 99]], np.int64)})
    assert [fault.message for fault in simulation.errors()] == ["action Worker.order is 99, which is not in 0 to 3"]
    assert simulation.truncated.numpy()[0]


def test_actions_too_large_for_their_column_are_named(device: str) -> None:
    simulation = office(device)
    simulation.step({"Worker.order": np.array([[0, 2**40, 0]])})
    assert [fault.message for fault in simulation.errors()] == [
        f"action Worker.order is {2**40}, which is not in 0 to 3"
    ]


def test_the_end_of_the_world_ends_its_agents(device: str) -> None:
    simulation = office(device, config={"max_steps": 2})
    simulation.step(orders(QUIT, 0, 0))
    simulation.step(orders(0, 0, 0))
    assert simulation.truncated.numpy()[0]
    assert rows_of(simulation, "truncated") == [True, True, True]  # also the one that was hired in this step
    assert rows_of(simulation, "terminated") == [False, False, False]
    assert rows_of(simulation, "final_badge") == [[3.0, 0.0], [1.0, 2.0], [2.0, 1.0]]
    assert rows_of(simulation, "final_active") == [True, True, True]
    assert numbers(simulation) == [0, 1, None]  # the next episode has begun
    simulation.step(orders(0, 0, 0))
    assert rows_of(simulation, "truncated") == [False, False, False]


def test_next_step_autoreset_begins_with_new_agents(device: str) -> None:
    simulation = office(device, autoreset="next_step", config={"max_steps": 2})
    for _ in range(2):
        simulation.step(orders(0, QUIT, 0))
    assert numbers(simulation) == [0, 3, 2] and rows_of(simulation, "truncated")[0]
    simulation.step(orders(QUIT, QUIT, QUIT))  # only resets
    assert numbers(simulation) == [0, 1, None]
    assert rows_of(simulation, "pay") == [0.0] * ROWS and rows_of(simulation, "terminated") == [False] * ROWS


def test_a_reset_from_outside_frees_all_rows(device: str) -> None:
    simulation = office(device, num_worlds=2)
    for _ in range(3):
        simulation.step({"Worker.order": np.array([[0, QUIT, 0]] * 2, np.int32)})
    simulation.reset(np.array([True, False]))
    assert numbers(simulation) == [0, 1, None] and numbers(simulation, 1) != [0, 1, None]


def test_python_and_cpu_agree() -> None:
    assert compare(OFFICE, ("python", "cpu"), num_worlds=5, steps=60) is None


def model_step(rows: list[list[int] | None], hired: int, actions: list[int]) -> tuple[list[float], list[bool], int]:
    """One step of the office in plain Python. ``rows`` holds the number and the age of each worker, and is changed.

    Returns the rewards, the terminations and the number of workers hired so far.
    """
    before = list(rows)
    pay = [0.0 if row is None else -5.0 if act == QUIT else float(act) for row, act in zip(rows, actions, strict=True)]
    ended = [row is not None and act == QUIT for row, act in zip(rows, actions, strict=True)]
    for k, row in enumerate(before):
        rows[k] = None if row is None or ended[k] else [row[0], row[1] + 1]
    if None in rows:
        free = [k for k in range(ROWS) if rows[k] is None]
        rows[min(free, key=lambda k: (before[k] is not None, k))] = [hired, 0]
        hired += 1
    return pay, ended, hired


def test_rows_follow_a_plain_model() -> None:
    simulation = office("cpu", autoreset="disabled", config={"max_steps": 0})
    rows: list[list[int] | None] = [[0, 0], [1, 0], None]
    hired, generator = 2, np.random.default_rng(0)
    for _ in range(300):
        actions = generator.integers(0, 4, ROWS).tolist()
        pay, ended, hired = model_step(rows, hired, actions)
        simulation.step(orders(*actions))
        assert rows_of(simulation, "pay") == pay and rows_of(simulation, "terminated") == ended
        assert rows_of(simulation, "badge") == [[0.0, 0.0] if row is None else list(map(float, row)) for row in rows]
        assert rows_of(simulation, "active") == [row is not None for row in rows]


@pytest.mark.parametrize("autoreset", ["next_step", "disabled"])
@pytest.mark.parametrize("fuse", [True, False])
def test_python_and_cpu_agree_in_other_modes(autoreset: str, fuse: bool) -> None:
    simulations = [office(d, 4, autoreset=autoreset, fuse=fuse) for d in ("python", "cpu")]
    generator = np.random.default_rng(0)
    for step in range(40):
        actions = generator.integers(0, 4, (4, ROWS), dtype=np.int32)
        for simulation in simulations:
            simulation.step(actions)
        assert first_difference(*simulations, step) is None


def test_copies_and_snapshots_continue_from_the_same_agents(tmp_path) -> None:
    simulation = office("cpu", 3)
    simulation.step(np.array([[QUIT, 0, 0], [0, QUIT, 0], [0, 0, 0]], np.int32))
    others = [copy.deepcopy(simulation), office("cpu", 3)]
    simulation.snapshot().save(tmp_path / "state")
    others[1].restore(wl.Snapshot.load(tmp_path / "state"))
    for step in range(12):
        actions = np.full((3, ROWS), step % 4, np.int32)
        for each in (simulation, *others):
            each.step(actions)
        assert all(first_difference(simulation, other, step) is None for other in others)


def test_a_replay_log_repeats_the_agents(tmp_path) -> None:
    simulation = office("cpu", 2)
    recorder = simulation.record()
    for step in range(15):
        simulation.step(np.full((2, ROWS), step % 4, np.int32))
    recorder.stop().save(tmp_path / "log")
    log = ReplayLog.load(tmp_path / "log", OFFICE)
    assert set(log.definition.actions()) == {"Worker.order"}
    for world in range(2):
        with log.replay(world, 1, "python") as replay:  # the digests of its steps are verified
            badges = [sim[Worker].agent_rows.badge.numpy() for sim in (replay.run(), simulation)]
            assert badges[0][0].tolist() == badges[1][world].tolist()


def test_fingerprints_of_populations_without_agents_stay_as_they_were() -> None:
    plain = replace(OFFICE, entities={Worker: wl.UpTo(ROWS)})
    assert plain.hash == "2e1ae2385ac35710fcd7d5a1a8574d81a9ba5c4402f1f416114c476f4507485e"
    assert plain.hash != OFFICE.hash


def test_other_capacities_keep_the_agents() -> None:
    for count in (5, wl.UpTo(5)):
        assert OFFICE.with_counts({Worker: count}).entities == {Worker: wl.UpTo(5, agents=True)}


class Tool(wl.Entity):
    weight: float


class Alarm(wl.Event):
    answer: wl.Action(wl.Discrete(2))


@pytest.mark.parametrize(
    ("kind", "limit", "problem"),
    [
        (Tool, wl.UpTo(2, agents=True), "have no action, but they are declared as agents"),
        (Alarm, wl.UpTo(2, agents=True), "are events, but they are declared as agents"),
        (Worker, wl.UpTo(2, batch=8, agents=True), "has agents=True and batch"),
        (Worker, wl.UpTo(2, agents="yes"), "has agents='yes', which is neither True nor False"),
    ],
)
def test_populations_that_cannot_be_agents_are_refused(kind: type, limit: wl.UpTo, problem: str) -> None:
    with pytest.raises(wl.DefinitionError, match=problem):
        wl.Simulation(wl.Definition("Wrong-test", Office, {kind: limit, Worker: limit}, step=(work,)), 1, "python")


def test_only_populations_of_agents_have_agent_rows() -> None:
    plain = wl.Simulation(replace(OFFICE, entities={Worker: wl.UpTo(ROWS)}), 1, "python", seed=0)
    with pytest.raises(wl.InputError, match=r"'Worker' has no agent rows: register it with wl\.UpTo"):
        plain[Worker].agent_rows
    with pytest.raises(AttributeError, match="the number of 'Worker' is fixed: 'agent_rows' is for kinds"):
        fixed = wl.Definition("Fixed-test", Office, {Worker: 2}, step=(work_only,))
        wl.Simulation(fixed, 1, "python")[Worker].agent_rows


@wl.system
def work_only(worker: Worker):
    worker.age += 1


def test_a_reward_that_is_not_finite_is_a_fault_also_when_its_agent_is_removed(device: str) -> None:
    @wl.system
    def leave(worker: Worker):
        worker.pay = 1.0 / (1.0 - float(worker.order))
        if worker.order == 1:
            worker.despawn()

    world = wl.Definition(
        "Bad-pay-test", Office, {Worker: wl.UpTo(2, agents=True)}, reset=(open_office,), step=(leave,)
    )
    simulation = wl.Simulation(world, 1, device, seed=0)
    simulation.step(orders(0, 1))
    (fault,) = simulation.errors()
    assert "pay of Worker__agents 1 is not a finite number" in fault.message
