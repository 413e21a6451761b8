"""One set of compiler flags for all CPU kernels of a process."""

import warp as wp

import worldloom as wl
from worldloom.core.base import cpu_flags
from worldloom.core.codegen.program import _CACHE


def test_worlds_and_other_kernels_are_compiled_with_the_same_flags():
    simulation = wl.Simulation("CartPole-v1", 1, "cpu", seed=0)
    simulation.step()
    flags = {next(iter(kernels.values())).module.options["cpu_compiler_flags"] for kernels in _CACHE.values()}
    assert flags == {wp.config.cpu_compiler_flags}


def test_flags_are_added_once_and_keep_what_was_given():
    made = cpu_flags.complete(None)
    assert made.startswith("-march=native -w -fwrapv -fno-builtin-sin ")
    assert cpu_flags.complete(made) == made
    assert cpu_flags.complete("").startswith("-w -fwrapv")
    assert cpu_flags.complete("-O1 -w").split()[:3] == ["-O1", "-w", "-fwrapv"]
