"""A pipe that wakes a sleeping process: a worker that waits for submissions, or the parent that waits for results.

Worker processes load this file without the rest of worldloom, so it imports nothing of it.
"""

from __future__ import annotations

import contextlib
import os


class Wakeup:
    """A pipe whose write end wakes the process that waits at its read end. Unread notifications count as one.

    Args:
        read_fd: The read end, in the process that waits.
        write_fd: The write end, in the process that notifies.
    """

    def __init__(self, read_fd: int | None, write_fd: int | None) -> None:
        self.read_fd, self.write_fd = read_fd, write_fd
        if write_fd is not None:
            os.set_blocking(write_fd, False)

    def notify(self) -> None:
        """Wake the other side. A full pipe wakes it as well; a closed one is detected elsewhere."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self.write_fd, b"\0")  # type: ignore[arg-type]

    def wait(self) -> bool:
        """Block until a notification; False once all write ends are closed."""
        return os.read(self.read_fd, 4096) != b""  # type: ignore[arg-type]

    def drain(self) -> None:
        """Discard notifications, without blocking."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.read_fd, 4096)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the ends that this process holds."""
        for end in (self.read_fd, self.write_fd):
            if end is not None:
                with contextlib.suppress(OSError):
                    os.close(end)
        self.read_fd = self.write_fd = None
