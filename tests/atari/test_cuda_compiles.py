"""The CUDA source of the console compiles without a GPU; parts of it are never compiled for a CPU."""

from __future__ import annotations

import sys

import pytest
import warp as wp
from thorough import sample

from worldloom.atari.emulator.console_kernels import kernels
from worldloom.atari.frames import observe_kernels
from worldloom.atari.frames.observe import FrameFormat, Observer
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="Warp has no compiler for CUDA on macOS")
HOPPER = 90


def compiled(kernel: wp.Kernel, folder) -> int:
    """Size of the machine code of a kernel's module."""
    wp.compile_aot_module(kernel.module, arch=HOPPER, module_dir=str(folder), use_ptx=False)
    (binary,) = folder.glob("*.cubin")
    return binary.stat().st_size


@pytest.mark.parametrize("name", sample(["emulate", "draw", "power_on"], 1))
def test_the_console(name, tmp_path):
    assert compiled(getattr(kernels(), name), tmp_path) > 4096


@pytest.mark.parametrize(
    "frame_format",
    sample(
        [FrameFormat(), FrameFormat(colour="pixels", stack=1), FrameFormat(colour="planes", area=False, older="zero")],
        1,
    ),
    ids=lambda frame_format: frame_format.colour,
)
def test_observations(frame_format, tmp_path, monkeypatch):
    built = []
    monkeypatch.setattr(
        "worldloom.atari.frames.observe.kernel", lambda form: built.append(observe_kernels.kernel(form)) or built[-1]
    )
    palette = (greys if frame_format.colour == "grey" else colours)(Format.NTSC)
    Observer(frame_format, [210], [palette], wp.get_device("cpu"))
    assert compiled(built[0], tmp_path) > 4096
