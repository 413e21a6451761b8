"""Repeated work, where there is no GPU: it runs as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.device.cuda_graphs import CudaGraphed


@pytest.mark.parametrize("captured", [True, False])
def test_without_a_gpu_the_work_is_done_at_every_call(captured: bool) -> None:
    number = torch.zeros(())
    work = CudaGraphed(lambda: number.add_(1.0), torch.device("cpu"), captured)
    for _ in range(4):
        work()
    assert number.item() == 4.0 and not work.captured


def test_errors_of_the_work_are_seen() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        CudaGraphed(fail, torch.device("cpu"))()


def test_the_end_of_a_capture_does_not_hide_the_error_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA refuses to end a capture that failed between two streams; a training that runs out of memory says so."""

    @contextmanager
    def capture(graph: object) -> Iterator[None]:
        try:
            yield
        finally:
            raise RuntimeError("capturing stream has unjoined work")

    def fail() -> None:
        raise MemoryError("out of memory")

    monkeypatch.setattr(torch.cuda, "CUDAGraph", object)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    work = CudaGraphed(fail, torch.device("cuda"))
    monkeypatch.setattr(work, "_warm_up", lambda: None)
    work()
    for _ in range(2):  # it is not replayed after that
        with pytest.raises(MemoryError, match="out of memory"):
            work()
    work.body = lambda: None
    with pytest.raises(RuntimeError, match="unjoined"):
        work()


def test_a_new_configuration_makes_room_for_more_cuts() -> None:
    """A limit that is set while a training runs cuts episodes off more often; none of their bootstraps may be lost."""
    trainer = PPO("CartPole-v1", PPOConfig(num_envs=4, num_steps=32, device="cpu", seed=0))
    trainer.iterate()
    (learner,) = trainer.learners.values()
    assert learner.actor.storage.finals == 1
    trainer.simulation.set_config("max_steps", 5)
    trainer.iterate()
    trainer.iterate()
    kept = learner.actor.storage
    assert kept.finals == 7
    assert int((kept.final_steps >= 0).sum()) == int(kept.dones.sum()) > 20
