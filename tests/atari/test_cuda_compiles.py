"""The console's text for CUDA compiles, with no GPU at hand: some of it no CPU ever sees."""

from __future__ import annotations

import sys

import pytest
import warp as wp

from worldloom.atari.emulator import console
from worldloom.atari.frames import observe_kernels
from worldloom.atari.frames.observe import Look, Observer
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="Warp has no compiler for CUDA on macOS")
HOPPER = 90


def compiled(kernel: wp.Kernel, folder) -> int:
    """Bytes of the machine code of a kernel's module."""
    wp.compile_aot_module(kernel.module, arch=HOPPER, module_dir=str(folder), use_ptx=False)
    (found,) = folder.glob("*.cubin")
    return found.stat().st_size


@pytest.mark.parametrize("name", ["power_on", "emulate", "draw"])
def test_the_console(name, tmp_path):
    assert compiled(getattr(console.kernels(), name), tmp_path) > 4096


@pytest.mark.parametrize(
    "look",
    [Look(), Look(colour="pixels", stack=1), Look(colour="planes", area=False, older="zero")],
    ids=["grey", "pixels", "planes"],
)
def test_observations(look, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        "worldloom.atari.frames.observe.kernel", lambda form: made.append(observe_kernels.kernel(form)) or made[-1]
    )
    Observer(look, [210], [(greys if look.colour == "grey" else colours)(Format.NTSC)], wp.get_device("cpu"))
    assert compiled(made[0], tmp_path) > 4096
