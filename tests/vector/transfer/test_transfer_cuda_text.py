"""The kernels of the transfer compile for CUDA, which needs no GPU, and move 16 bytes at a time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import warp as wp
from warp._src.context import runtime

from worldloom.vector.transfer.transfer_kernels import ACTION_KERNELS, RECEIVING_KERNELS, copy_columns, take_mail

pytestmark = pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")


def test_the_kernels_compile(tmp_path: Path) -> None:
    wp.compile_aot_module(copy_columns.module, arch=80, module_dir=tmp_path, use_ptx=True)
    (ptx,) = tmp_path.glob("*.ptx")
    entries = {part.split("(")[0].strip(): part for part in ptx.read_text().split(".entry")[1:]}
    for kernel in (*ACTION_KERNELS.values(), *RECEIVING_KERNELS.values(), take_mail):
        assert any(name.startswith(kernel.key) for name in entries)
    copies = [text for name, text in entries.items() if name.startswith("copy_columns")]
    assert len(copies) == 2
    assert all(re.search(r"ld\.(global\.)?v4\.[ub]32", copy) for copy in copies)
    assert not any(".local" in text for text in entries.values()), "addresses and mail stay in registers"
