"""Repeated work, where there is no GPU: it runs as it is."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.graphs import Repeated


@pytest.mark.parametrize("captured", [True, False])
def test_without_a_gpu_the_work_is_done_at_every_call(captured: bool) -> None:
    number = torch.zeros(())
    work = Repeated(lambda: number.add_(1.0), torch.device("cpu"), captured)
    for _ in range(4):
        work()
    assert number.item() == 4.0 and not work.captured


def test_errors_of_the_work_are_seen() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Repeated(fail, torch.device("cpu"))()
