"""What the kernels of a graph read from a mailbox, tried on the CPU without a graph."""

from __future__ import annotations

import pytest
import torch
import warp as wp

from worldloom.vector.transfer import mailbox
from worldloom.vector.transfer.mailbox import NUM_SLOTS, Mailbox
from worldloom.vector.transfer.tensor_copies import MAX_AHEAD, CopySource, TensorCopies
from worldloom.vector.transfer.transfer_kernels import MAIL_ENTRIES, RECEIVING_KERNELS

CPU = wp.get_device("cpu")


class Queue:
    """A stream that counts its events."""

    def __init__(self) -> None:
        self.events = 0

    def record_event(self, event: object) -> object:
        self.events += 1
        return event or object()


def test_every_launch_reads_its_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    box, queue = Mailbox(CPU), Queue()
    waited: list[object] = []
    monkeypatch.setattr(mailbox.wp, "synchronize_event", waited.append)
    for first in range(0, 2 * NUM_SLOTS + 300, 100):  # the host is up to 100 launches ahead
        for k in range(first, first + 100):
            box.send([k, 2**64 - 1 - k])
            box.launched(queue)  # type: ignore[arg-type]
        for k in range(first, first + 100):
            box.take()
            assert box.mail.numpy()[:2].tolist() == [k, 2**64 - 1 - k]
    assert queue.events == (2 * NUM_SLOTS + 300) // 256 and len(waited) == queue.events - 3


def test_a_slot_holds_all_entries() -> None:
    box = Mailbox(CPU)
    box.send(list(range(MAIL_ENTRIES)))
    box.take()
    assert box.mail.numpy().tolist() == list(range(MAIL_ENTRIES))


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        (torch.tensor([5, -7, 2**31 - 1], dtype=torch.int32), "int32", [5, -7, 2**31 - 1]),
        (torch.tensor([5, -(2**40), 2**33]), "int32", [5, -(2**31), 2**31 - 1]),
        (torch.tensor([0.5, -3.0, 1e30]), "float32", [0.5, -3.0, 1e30]),
        (torch.tensor([0.5, 1.0 + 2.0**-40, 1e300], dtype=torch.float64), "float32", [0.5, 1.0, float("inf")]),
    ],
)
def test_actions_are_converted(values: torch.Tensor, column: str, expected: list[float]) -> None:
    box = Mailbox(CPU)
    target = wp.zeros(3, dtype=getattr(wp, column), device=CPU)
    box.send([0, values.data_ptr(), values.element_size()])
    box.take()
    wp.launch(RECEIVING_KERNELS[column], 3, [box.mail, 1, target], device=CPU)
    assert torch.equal(wp.to_torch(target), torch.tensor(expected, dtype=wp.to_torch(target).dtype))


def test_copies_by_mail() -> None:
    sources = [torch.arange(7.0), torch.arange(5, dtype=torch.int32), torch.arange(33, dtype=torch.uint8)]
    copies = TensorCopies(
        [CopySource(sources[0]), CopySource(sources[1], widen=True)], [CopySource(sources[2])] * 2, lambda: None
    )
    box = Mailbox(CPU)
    launch = copies.record_by_mail(box.mail, 2)
    kept = []
    for step in range(MAX_AHEAD + 3):
        for source in sources:
            source.fill_(step)
        box.send([0, 0, *copies.prepare()])
        box.take()
        launch.launch()
        kept.append((copies(), copies.packed()))
    for step, (separate, packed) in enumerate(kept):
        assert [copy.dtype for copy in separate] == [torch.float32, torch.int64]
        assert all((copy == step).all() for copy in (*separate, *copies.unpack(packed)))


def test_discarded_copies_are_made_anew() -> None:
    source = torch.zeros(4)
    copies = TensorCopies([CopySource(source)], [], lambda: None)
    copies.prepare()
    source.fill_(1.0)
    copies.discard()
    assert copies()[0].all()
