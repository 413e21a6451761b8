"""Independent work on the CPU runs at once, in order."""

import torch

from worldloom.learn.device.side_streams import SideStreams


def test_work_on_the_cpu_is_done_in_order():
    done: list[int] = []
    streams = SideStreams(torch.device("cpu"))
    streams.start([lambda: done.append(1), lambda: done.append(2)])
    assert done == [1, 2]
    streams.wait()
