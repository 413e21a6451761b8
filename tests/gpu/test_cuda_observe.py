"""Observations on the GPU equal those of the CPU bit for bit, for all formats, and captured into a graph."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import warp as wp
from atari_pictures import FRAME_FORMATS, palettes, pictures

from worldloom.atari.frames.observe import FrameFormat, FrameSelection, Observer

COUNT = 40


class Seen:
    """Consoles on one device after several steps; ``record`` replays all launches but the first from a graph."""

    def __init__(
        self,
        frame_format: FrameFormat,
        heights: tuple[int, ...],
        device: str,
        record: bool = False,
        steps: int = 3,
    ) -> None:
        self.device = wp.get_device(device)
        self.observer = Observer(frame_format, heights, palettes(len(heights), frame_format.colour), self.device)
        rng = np.random.default_rng(7)
        steps_frames = [pictures(rng, COUNT, max(heights)) for _ in range(steps)]
        self.frames = self._array(steps_frames[0], wp.uint8)
        self.game = self._array(rng.integers(0, len(heights), COUNT), wp.int32)
        self.show = self._array(rng.integers(0, len(FrameSelection), COUNT), wp.int32)
        self.fresh = self._array(rng.random(COUNT) < 0.3, wp.bool)
        self.mask = self._array(rng.random(COUNT) < 0.8, wp.bool)
        self.screen = self._array(rng.integers(0, 256, (COUNT, int(np.prod(self.observer.shape)))), wp.uint8)
        graph = None
        for frames in steps_frames:
            self.frames.assign(frames)
            if graph is None:
                self._launch()
            else:
                wp.capture_launch(graph)
            if record and graph is None:
                with wp.ScopedCapture(self.device) as capture:
                    self._launch()
                graph = capture.graph

    def _array(self, values: np.ndarray, kind: type) -> wp.array:
        return wp.array(values, dtype=kind, device=self.device)

    def _launch(self) -> None:
        self.observer.launch(
            self.frames, self.game, self.screen, self.show, self.fresh, first=3, count=COUNT - 5, mask=self.mask
        )


@pytest.mark.parametrize("name", FRAME_FORMATS)
@pytest.mark.parametrize("older", ["repeat", "zero"])
def test_the_same_bits(name: str, older: str):
    frame_format, heights = FRAME_FORMATS[name]
    frame_format = dataclasses.replace(frame_format, older=older)
    cpu, gpu = (Seen(frame_format, heights, device).screen.numpy() for device in ("cpu", "cuda:0"))
    np.testing.assert_array_equal(gpu, cpu)


def test_recorded_into_a_graph():
    frame_format, heights = FRAME_FORMATS["usual"]
    cpu = Seen(frame_format, heights, "cpu").screen.numpy()
    gpu = Seen(frame_format, heights, "cuda:0", record=True).screen.numpy()
    np.testing.assert_array_equal(gpu, cpu)


def test_many_consoles():
    """More blocks than a GPU can hold at once."""
    observer = Observer(FrameFormat(), [210], palettes(1, "grey"), wp.get_device("cuda:0"))
    few = pictures(np.random.default_rng(1), 64, 210)
    count = 8_192
    frames = wp.array(np.tile(few, (count // 64, 1, 1, 1)), device="cuda:0")
    screen = wp.zeros((count, 4, 84, 84), dtype=wp.uint8, device="cuda:0")
    observer.launch(frames, wp.zeros(count, dtype=wp.int32, device="cuda:0"), screen)
    seen = screen.numpy()
    cpu = Observer(FrameFormat(), [210], palettes(1, "grey"), wp.get_device("cpu"))
    wanted = wp.zeros((64, 4, 84, 84), dtype=wp.uint8, device="cpu")
    cpu.launch(wp.array(few, device="cpu"), wp.zeros(64, dtype=wp.int32, device="cpu"), wanted)
    np.testing.assert_array_equal(seen, np.tile(wanted.numpy(), (count // 64, 1, 1, 1)))
