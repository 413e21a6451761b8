"""Exact mode: accurate functions, the same bits compiled and interpreted, no code that a GPU would round otherwise."""

import re

import numpy as np
import pytest
import warp as wp
from exact_probe import BINARY, EDGES, FUNCTIONS, PROBE, UNARY, arguments, kernels, run, same_bits
from thorough import THOROUGH
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.base.errors import DefinitionError, InputError
from worldloom.core.codegen import stages
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.frontend.targets import accessors
from worldloom.core.kernels import exact
from worldloom.core.schedule.schedule import plan
from worldloom.core.tools.compare import compare

NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}


@pytest.fixture(scope="module")
def compiled():
    return kernels()


def reference(name: str, given: tuple[np.ndarray, ...]) -> np.ndarray:
    """The function in 64 bits, by NumPy."""
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64) for a in given]
        if name in ("asin", "acos"):
            wide = [np.clip(wide[0], -1.0, 1.0)]
        return getattr(np, NUMPY.get(name, name))(*wide)


def ulps(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """How far numbers of 32 bits lie from the true ones, in units of the last place; infinity counts as 2**128."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float32)
        size = np.where(np.isfinite(rounded), np.abs(rounded), np.finfo(np.float32).max)
        wide, true = (np.clip(values.astype(np.float64), -(2.0**128), 2.0**128) for values in (found, expected))
        apart = np.abs(wide - true) / np.spacing(size)
    return np.where(
        np.isnan(expected), np.where(np.isnan(found), 0.0, np.inf), np.where(np.isnan(found), np.inf, apart)
    )


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("min", "max")])
def test_within_two_units_of_the_last_place(compiled, name: str) -> None:
    given = arguments(name, 200_000 if THOROUGH else 40_000)
    found, expected = run(compiled[name], given, "cpu"), reference(name, given)
    off = ulps(found, expected)
    worst = int(off.argmax())
    assert off[worst] <= 2.0, f"{name}{tuple(float(a[worst]) for a in given)} is {found[worst]}, not {expected[worst]}"
    signed = ~np.isnan(expected)
    assert (np.signbit(found) == np.signbit(expected))[signed].all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreted_as_compiled(compiled, name: str) -> None:
    count = 8_000 if THOROUGH else 1_500
    given = arguments(name, count, seed=1)
    step = max(1, given[0].size // count)
    given = tuple(np.concatenate([a[: EDGES.size], a[::step]]) for a in given)
    interpreted = exact.INTERPRETED[exact.PREFIX + name]
    with np.errstate(all="ignore"):
        twins = [interpreted(*numbers) for numbers in zip(*given, strict=True)]
    assert {type(t) for t in twins} == {np.float32}
    wrong = ~same_bits(np.array(twins, np.float32), run(compiled[name], given, "cpu"))
    assert not wrong.any(), [float(a[wrong][0]) for a in given]


def test_minimum_and_maximum_take_the_first_of_equals_and_numbers_before_none(compiled) -> None:
    x, y = (
        np.array([0.0, -0.0, 1.0, np.nan, 2.0, -np.inf], np.float32),
        np.array([-0.0, 0.0, np.nan, 1.0, 1.0, np.inf], np.float32),
    )
    assert (
        run(compiled["min"], (x, y), "cpu").view(np.int32).tolist()
        == np.array([0.0, -0.0, 1.0, 1.0, 1.0, -np.inf], np.float32).view(np.int32).tolist()
    )
    assert (
        run(compiled["max"], (x, y), "cpu").view(np.int32).tolist()
        == np.array([0.0, -0.0, 1.0, 1.0, 2.0, np.inf], np.float32).view(np.int32).tolist()
    )


def test_which_functions_have_versions() -> None:
    assert exact.version("sin", (wp.float32,)) == ("wl_exact_sin", wp.float32)
    assert exact.version("sin", (wp.float16,)) == ("wl_exact_sin", wp.float32)
    assert exact.version("min", (wp.float64, wp.float64)) == ("wl_exact_min", wp.float64)
    assert exact.version("max", (wp.vec3,)) == ("wl_exact_max_of", wp.float32)
    for name, kinds in (
        ("sqrt", (wp.float64,)),
        ("min", (wp.int32, wp.int32)),
        ("dot", (wp.vec3, wp.vec3)),
        ("max", (wp.vec3i, wp.vec3i)),
    ):
        assert exact.version(name, kinds) is None
    for name, kinds in (("pow", (wp.float64, wp.float64)), ("quat_rpy", (wp.float64,) * 3)):
        with pytest.raises(exact.NoExactVersionError):
            exact.version(name, kinds)
    assert set(UNARY + BINARY) <= set(exact.COMPILED)


# -- worlds ----------------------------------------------------------------------------------------------------------


def test_a_world_of_all_that_can_differ() -> None:
    assert compare(PROBE, ("python", "cpu"), num_worlds=6, steps=25, exact=True) is None


def test_fast_mode_is_left_as_it_was() -> None:
    schedule = plan(PROBE, "same_step", checks=True)
    for cuda in (False, True):
        text = generate(schedule, fuse=True, cuda=cuda).text
        assert exact.PREFIX not in text and "atomic_add" in text
        assert exact.PREFIX in generate(schedule, fuse=True, cuda=cuda, exact=True).text


def test_the_kernels_for_cuda_add_in_the_order_of_the_cpu(columns, monkeypatch) -> None:
    """Run on the CPU, thread by thread, they give the bits of those for the CPU."""
    monkeypatch.setattr(
        stages, "MAX_THREADS_PER_WORLD", 0
    )  # threads that come one after the other cannot wait for each other
    one, two = (wl.Simulation(PROBE, 4, "cpu", seed=3, threads=1, exact=True) for _ in range(2))
    program = generate(two.schedule, fuse=True, cuda=True, exact=True)
    reach = accessors.definitions(
        [f for view in two.schedule.tables.values() for f in view.fields.values()], program.types, cuda=False
    )
    body = program.text[program.text.index("@wp.func\n") :]
    program.text = (
        reach
        + "\n"
        + body.replace("thread_number()", "wp.tid()")
        .replace("wl_stream_", "wl_put_")
        .replace("wl_once_", "wl_get_")
        .replace("wl_read_", "wl_get_")
    )
    made = program.load(two.device, "Probe-test")
    serial = [
        spec
        for spec in program.step
        if isinstance(spec, KernelSpec) and any("gather" in label for label in spec.labels)
    ]
    assert len(serial) == 1 and serial[0].rows == 1 and serial[0].labels == ("gather(Probe)",)
    assert "atomic_add" not in program.text
    for _ in range(22):
        one.step()
        for spec in program.step:
            assert isinstance(spec, KernelSpec)
            errors = [two._fault_buffers[0]] if spec.takes_errors else []
            taken = [two.tables[table][field].array for table, field in spec.columns]
            wp.launch(made[spec.name], 4 * spec.rows, inputs=[0, 4 * spec.rows, 0, *taken, *errors], device="cpu")
    left, right = columns(one), columns(two)
    assert all((left[name].view(np.uint8) == right[name].view(np.uint8)).all() for name in left)
    assert len(np.unique(left["Probe.sum"])) > 1 and (left["World.episode"] == 1).all()


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_the_code_for_cuda_rounds_every_step(tmp_path) -> None:
    """Every operation on real numbers says how it rounds; none is fused, approximate, flushed to zero or atomic."""
    program = generate(plan(wl.definition("Pendulum-v1"), "same_step", checks=True), fuse=True, cuda=True, exact=True)
    module = next(iter(program._build("ptx", cuda=True).values())).module
    assert module.name == "worldloom_exact_cuda_ptx"
    wp.compile_aot_module(module, arch=90, module_dir=tmp_path, use_ptx=True)
    code = next(tmp_path.glob("*.ptx")).read_text()
    found = set(
        re.findall(
            r"\b((?:add|sub|mul|div|sqrt|rcp|fma|mad|ex2|lg2|sin|cos|atom|red)\.[a-z0-9.]*f(?:16|32|64))\b", code
        )
    )
    rounded = {
        f"{operation}.rn.f{bits}" for operation in ("add", "sub", "mul", "div", "rcp", "sqrt") for bits in (32, 64)
    }
    assert {"add.rn.f32", "mul.rn.f32", "div.rn.f32"} <= found <= rounded
    assert ".ftz" not in code and ".approx" not in code


class Wide(wl.Entity):
    angle: wl.float64


@wl.system
def turn(wide: Wide):
    wide.angle = wl.sin(wide.angle) + wl.sqrt(wide.angle)


def test_numbers_of_64_bits_have_no_exact_sine() -> None:
    definition = wl.Definition("Wide-test", wl.World, {Wide: 1}, step=(turn,))
    for device in ("cpu", "python"):
        with pytest.raises(
            DefinitionError, match=r"test_exact\.py:\d+.*\n?.*no version of 'sin' for numbers of 64 bits"
        ):
            wl.Simulation(definition, 1, device, exact=True).step()
    wl.Simulation(definition, 1, "python").step()


def test_make_hands_it_on() -> None:
    env = wl.make("CartPole-v1", 2, exact=True)
    assert env.simulation.exact and env.simulation.program.exact
    with pytest.raises(InputError, match="exact=True applies only to worldloom worlds"):
        wl.make("gymnasium:CartPole-v1", 2, exact=True)
