"""Rows of arrays in the shared memory of a warp, for systems with 32 threads per entity on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from warp._src.context import runtime
from warp_row_worlds import Guard, tick, watch, yard

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.codegen.shared_rows.warp_rows import BLOCK, MAX_BYTES
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine

PLACES = 40


class Counter(wl.Entity):
    counts: wl.Array(float, PLACES)
    pairs: wl.Array(float, PLACES, 2)
    sum: float


class Hall(wl.World):
    pass


@wl.system(threads=32)
def count(counter: Counter, world: Hall):
    for place in wl.share(PLACES):
        counter.counts[place] += 1.0
    for other in world.all(Counter):
        for place in range(PLACES):
            other.pairs[place, 0] += 1.0


class Tower(wl.Entity):
    marks: wl.Array(float, MAX_BYTES // 8 + 1, 2)


class Hill(wl.World):
    pass


@wl.system(threads=32)
def mark(tower: Tower, world: Hill):
    for place in wl.share(MAX_BYTES // 8 + 1):
        tower.marks[place, 1] = 1.0


def program_of(definition: wl.Definition) -> Program:
    return generate(wl.Simulation(definition, 1, "python").schedule, True, True, uneven=0)


def kept_rows(definition: wl.Definition) -> dict[str, str]:
    """The lines of a step that make rows in shared memory: by column, whether they are loaded and stored."""
    text = program_of(definition).text
    rows: dict[str, str] = {}
    for verb in ("begin", "make", "end"):
        for line in text.splitlines():
            if f"= wl_{verb}_row_Guard__" in line or (verb == "end" and f" wl_{verb}_row_Guard__" in line):
                name = line.split("_row_Guard__")[1].split("(")[0]
                if "def " not in line and verb not in rows.get(name, ""):
                    rows[name] = f"{rows.get(name, '')} {verb}".strip()
    return rows


@pytest.mark.parametrize("population", [True, False])
def test_kernels_for_cuda_do_what_the_cpu_does(population: bool) -> None:
    """Threads overtake each other, and a number that no thread has written cannot be read from shared memory."""
    world = yard(tick, watch) if population else yard(tick, watch, guards=2, enters=False)
    cpu, machine_side = (wl.Simulation(world, 3, "cpu", seed=4) for _ in range(2))
    machine = Machine(machine_side, uneven=0)
    assert "wl_begin_row_Guard__seen" in machine.program.text
    for step in range(8):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert cpu[Guard].seen.numpy().any() and (cpu.world.episode.numpy() > 0).all()


def test_python_and_cpu_agree() -> None:
    assert compare(yard(tick, watch), num_worlds=4, steps=15) is None


def test_rows_are_moved_as_little_as_possible() -> None:
    rows = {"seen": "begin end", "view": "make end", "chart": "make end", "scratch": "make"}
    assert kept_rows(yard(tick, watch)) == rows
    (spec,) = [s for s in program_of(yard(tick, watch)).step if isinstance(s, KernelSpec) and s.threads == 32]
    assert {name for _, name in spec.shared_columns} == set(rows) and not spec.coalesced
    assert spec.block == BLOCK and not spec.has_free_block
    assert "scratch" not in {name for _, name in spec.stores}


def test_a_transient_array_is_not_stored_for_the_engine_that_clears_it() -> None:
    """Between two steps its value is undefined."""
    assert kept_rows(yard(tick, watch, guards=2, enters=False))["scratch"] == "make"


def test_a_transient_array_that_others_use_is_stored() -> None:
    @wl.system
    def look_at_scratch(guard: Guard):
        guard.total += guard.scratch[3, 0]

    assert kept_rows(yard(tick, watch, look_at_scratch))["scratch"] == "make end"


def test_a_transient_array_is_stored_where_a_callable_may_read_it() -> None:
    assert kept_rows(yard(tick, watch, lambda sim: None))["scratch"] == "make end"


def test_a_transient_array_is_stored_where_its_system_runs_twice() -> None:
    """The second run may read what the first has written."""
    assert kept_rows(yard(watch, tick, watch))["scratch"] == "make end"


class Clerk(wl.Entity):
    files: wl.Array(float, 200, 3)
    notes: wl.Transient(wl.Array(float, 200, 2))


class Office(wl.World):
    pass


@wl.system(threads=32)
def sort(clerk: Clerk, world: Office):
    for k in wl.share(200):
        clerk.files[k, 1] = clerk.files[k, 0] + 1.0
        clerk.notes[k, 1] = clerk.files[k, 2]
    for k in wl.share(200):
        clerk.files[k, 0] = clerk.notes[199 - k, 1]


def test_transient_arrays_come_first() -> None:
    """Both together would be too long. Long arrays are cleared at resets by launches of the engine."""
    text = program_of(wl.Definition("Office-rows", Office, {Clerk: 40}, step=(sort,))).text
    assert "= wl_make_row_Clerk__notes(" in text and "_row_Clerk__files(" not in text and "wl_end_row" not in text


def test_rows_that_agents_share_with_their_entities() -> None:
    """In compiled code the observations of these agents are those of their rows."""
    definition = yard(tick, watch, guards=wl.UpTo(3, agents=True))
    text = generate(wl.Simulation(definition, 1, "cpu").schedule, True, True, uneven=0).text
    assert "= wl_make_row_Guard__agents__view(" in text and " wl_end_row_Guard__agents__view(" in text
    assert "= wl_begin_row_Guard__seen(" in text


def test_adjacent_numbers_and_rows_of_others_stay_in_memory() -> None:
    definition = wl.Definition("Hall-rows", Hall, {Counter: 2}, step=(count,))
    assert "_row_Counter" not in program_of(definition).text


def test_long_rows_stay_in_memory() -> None:
    assert "_row_Tower" not in program_of(wl.Definition("Hill-rows", Hill, {Tower: 2}, step=(mark,))).text


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_elements_go_to_shared_memory(tmp_path: Path) -> None:
    program = program_of(yard(tick, watch))
    (name,) = [s.name for s in program.step if isinstance(s, KernelSpec) and s.threads == 32]
    module = program._build("warp_rows", cuda=True)[name].module
    wp.compile_aot_module(module, arch=80, module_dir=tmp_path, use_ptx=True)
    (ptx,) = (path.read_text() for path in tmp_path.glob("*.ptx"))
    (kernel,) = [part for part in ptx.split(".entry")[1:] if part.strip().startswith(f"{name}_")]
    assert kernel.count("st.shared") >= 5 and kernel.count("ld.shared") >= 5
