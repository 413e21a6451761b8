"""Copies of observations from entities to agent rows by the threads of a warp."""

import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.frontend.shared_loop import MAX_SERIAL_STORES
from worldloom.core.kernels.row_copies import MAX_LOADS, RowCopy, fits_in_registers
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

SCENTS = MAX_SERIAL_STORES + 10


class Den(wl.World):
    pass


class Fox(wl.Entity):
    run: wl.Action(wl.Discrete(2))
    scent: wl.Observation(SCENTS)
    traces: wl.Observation(4, 5)
    signs: wl.Observation(20, dtype=bool)
    age: wl.Info(int)
    reward: wl.Reward


@wl.system
def settle(world: Den):
    for _ in range(2):
        world.spawn(Fox, age=0)


@wl.system
def live(fox: Fox, world: Den):
    fox.age += 1
    if fox.age == 3:
        fox.despawn()
    elif fox.age == 2 and fox.id % 2 == 0:
        world.spawn(Fox, age=0)


@wl.system
def smell(fox: Fox, world: Den):
    for i in range(SCENTS):
        fox.scent[i] = world.random() + float(fox.age)
    for i in range(4):
        for j in range(5):
            fox.traces[i, j] = world.random()
    for i in range(20):
        fox.signs[i] = (fox.age + i) % 3 == 0


DEN = wl.Definition(
    "Den-test", Den, {Fox: wl.UpTo(3, agents=True)}, reset=(settle,), step=(live,), observe=(smell,), max_steps=6
)


def test_a_warp_copies_and_clears_what_loops_do() -> None:
    cpu, machine_side = (wl.Simulation(DEN, 2, "cpu", seed=4) for _ in range(2))
    machine = Machine(machine_side)
    assert "wl_copy_Fox__agents(" in machine.program.text and "wl_clear_Fox__agents(" in machine.program.text
    active = set[int]()
    for step in range(5):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
        rows = cpu[Fox].agent_rows
        active.add(int(rows.active.numpy().sum()))
        assert (rows.scent.numpy().any(axis=2) == rows.active.numpy()).all()
    assert len(active) > 1


def test_interpreter_and_cpu_agree() -> None:
    python, cpu = (wl.Simulation(DEN, 2, device, seed=4) for device in ("python", "cpu"))
    for step in range(8):
        python.step()
        cpu.step()
        assert first_difference(python, cpu, step) is None


def test_all_numbers_are_loaded_before_the_first_is_stored() -> None:
    columns = ("wp.array(dtype=wp.float32, ndim=2)",) * 4
    text = RowCopy("wl_copy_Fox", columns, (("wp::float32", 70), ("wp::int32", 1))).text()
    assert text.count("const wp::") == text.count("] = held") == 4
    assert text.rindex("from1.data") < text.index("to0.data")
    assert "min(lane, 5)" in text and "if (lane < 6)" in text


def test_long_rows_are_copied_by_loops() -> None:
    assert fits_in_registers([("float", 32 * MAX_LOADS)]) and not fits_in_registers(
        [("float", 32 * MAX_LOADS), ("", 1)]
    )

    class Owl(wl.Entity):
        turn: wl.Action(wl.Discrete(2))
        sight: wl.Observation(33 * MAX_LOADS)
        reward: wl.Reward

    made = wl.Definition("Owl-test", Den, {Owl: wl.UpTo(2, agents=True)})
    with wl.Simulation(made, 1, "python") as sim:  # where agents of a whole episode have copies too
        text = generate(sim.schedule, True, True).text
    assert "publish_Owl" in text and "wl_copy_" not in text
