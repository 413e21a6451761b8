"""The TIA equals ALE's, pixel by pixel, in programs that go beyond what games do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from references.assembler import Register
from references.chip_programs import (
    frames_cut_off,
    moves_at_every_cycle,
    objects_over_objects,
    random_frames,
    random_writes,
)
from references.lockstep import Lockstep
from thorough import THOROUGH, sample

pytest.importorskip("ale_py", reason="ale-py is not installed")

MOVING = [
    Register.HMOVE,
    *(
        register
        for register in Register
        if Register.HMP0 <= register <= Register.HMBL or Register.RESP0 <= register <= Register.RESBL
    ),
]
NTSC, ANY = [200, 230, 244, 250, 259, 262, 263, 270], [20, 60, 150, 244, 262, 290, 292, 312, 341, 343, 345, 400, 600]


@pytest.fixture
def assert_as_ale(tmp_path: Path) -> Callable[..., None]:
    """Run programs under the name of a known game whose rules do not react to them."""

    def compare(images: Iterable[bytes], frames: int) -> None:
        files = []
        for number, image in enumerate(images):
            files.append(tmp_path / str(number) / "tetris.bin")
            files[-1].parent.mkdir()
            files[-1].write_bytes(image)
        findings = Lockstep([str(file) for file in files], frames).run(frames)
        assert {number: finding.differs for number, finding in enumerate(findings) if finding.differs} == {}
        assert all(finding.frames == frames for finding in findings)

    return compare


def test_writes_at_any_moment(assert_as_ale) -> None:
    dense = [random_writes(seed, 8, 0.15) for seed in range(5 if THOROUGH else 2)]
    moving = [random_writes(seed, 12, 0.25, MOVING) for seed in range(3 if THOROUGH else 2)]
    assert_as_ale(dense + moving + [random_writes(8, 30, 0.5)], 2)


def test_moves_at_every_cycle(assert_as_ale) -> None:
    assert_as_ale(sample(moves_at_every_cycle(), 3), 1)


def test_which_object_is_seen_and_which_meet(assert_as_ale) -> None:
    assert_as_ale(sample(objects_over_objects(), 2), 2)


def test_frames_of_any_length(assert_as_ale) -> None:
    assert_as_ale(
        [random_frames(seed, NTSC if seed < 3 else ANY) for seed in range(8 if THOROUGH else 5)], 8 if THOROUGH else 5
    )


def test_frames_that_are_cut_off_after_a_write(assert_as_ale) -> None:
    assert_as_ale(sample(frames_cut_off(), 8), 4)
