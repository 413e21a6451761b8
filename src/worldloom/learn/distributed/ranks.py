"""Several processes that train one policy: each has its share of the worlds, and sums over all of them are taken together."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from worldloom.core.base.errors import InputError, WorldloomError

TIMEOUT_S = 300.0
"""How long a process waits for the others before it gives up, so that a lost one does not hang the rest."""
REQUIRED_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What a launcher tells its processes."""


class LostProcessError(WorldloomError):
    """Another process of the training ended, or did not answer in time."""


@dataclass(frozen=True)
class Ranks:
    """One of the processes that train together: this one.

    Attributes:
        rank: Its number.
        size: How many there are.
        hosts: For what the processes tell each other without a look at their GPUs; None for the group that they compute in.
    """

    rank: int = 0
    size: int = 1
    hosts: dist.ProcessGroup | None = None

    @property
    def is_single(self) -> bool:
        return self.size == 1

    @property
    def is_leader(self) -> bool:
        """Whether this is the process that writes files and talks to the user."""
        return self.rank == 0

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph can hold the exchange."""
        return self.is_single or dist.get_backend() == "nccl"

    def sum_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace ``tensor`` by its sum over all processes, and return it."""
        if not self.is_single:
            _exchange(lambda: dist.all_reduce(tensor))
        return tensor

    def mean_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace ``tensor`` by its mean over all processes, and return it."""
        if not self.is_single:
            _exchange(lambda: dist.all_reduce(tensor))
            tensor /= self.size
        return tensor

    def broadcast_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace ``tensor`` by that of the process that leads, and return it."""
        if not self.is_single:
            _exchange(lambda: dist.broadcast(tensor, 0))
        return tensor

    def share(self, num_envs: int) -> tuple[int, int]:
        """The first world of this process and how many it has, of ``num_envs`` in all."""
        if num_envs % self.size:
            raise InputError(
                f"{num_envs} worlds cannot be shared evenly by {self.size} processes: use a multiple of {self.size}"
            )
        each = num_envs // self.size
        return self.rank * each, each

    def any(self, mine: bool) -> bool:
        """Whether something holds in any process. The hosts talk; their GPUs go on meanwhile."""
        if self.is_single:
            return mine
        flag = torch.tensor([float(mine)])
        _exchange(lambda: dist.all_reduce(flag, group=self.hosts))
        return bool(flag)

    def barrier(self) -> None:
        """Wait until every process has come this far."""
        self.any(False)


def join_process_group(device: str) -> tuple[Ranks, str]:
    """Join the processes that ``torchrun`` or another launcher started, if any. Returns this process's place, and the device it should use.

    GPUs talk through NCCL, one process on each. Processes on the CPU, and those that have to share a GPU, talk through gloo.
    """
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Ranks(), device
    device, crowded = _own_device(device)
    if not dist.is_initialized():
        missing = [name for name in REQUIRED_VARIABLES if name not in os.environ]
        if missing:
            raise InputError(
                f"WORLD_SIZE speaks of several processes, but {', '.join(missing)} is not set: start them with torchrun, or unset WORLD_SIZE"
            )
        _exchange(lambda: _form_group("gloo" if device == "cpu" or crowded else "nccl"))
    hosts = (
        None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT_S))
    )
    return Ranks(dist.get_rank(), dist.get_world_size(), hosts), device


def launch_id() -> str:
    """What tells this launch of ``torchrun`` from others, and stays the same when it starts its processes again; empty without it."""
    named = os.environ.get("TORCHELASTIC_RUN_ID", "")
    return _launcher_id() if named == "none" else named  # torchrun's word for a launch without --rdzv-id


def leave_process_group() -> None:
    """Leave the group of processes, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _launcher_id() -> str:
    """What tells the process that started this one from all others. Containers repeat names and numbers, so its start is told too, where it is known."""
    parent = os.getppid()
    start = (
        _read(Path(f"/proc/{parent}/stat")).rpartition(")")[2].split()
    )  # the name before it, in brackets, may hold anything
    boot = _read(Path("/proc/sys/kernel/random/boot_id")).strip()
    return ":".join(
        [socket.gethostname(), str(parent), *start[19:20], *([boot] if boot else [])]
    )  # field 22, of which the name was the second


def _read(file: Path) -> str:
    """The text of a file; empty where there is none to be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _form_group(backend: str) -> None:
    """Make the group of all processes, in a part of the launcher's store that is of this start alone.

    ``torchrun`` has one store for all its starts, where addresses of processes that are gone still lie. So the others greet the first with a
    word that is new, and it answers each with the name of the part; nothing old is taken for an answer.
    """
    store, rank, size = next(dist.rendezvous("env://", timeout=timedelta(seconds=TIMEOUT_S)))
    mine = secrets.token_hex(8)
    if rank:
        store.set(f"worldloom/greeting/{rank}", mine)
        name = store.get(f"worldloom/answer/{mine}").decode()
        store.set(f"worldloom/{name}/{rank}", "here")
    else:
        name = mine
        awaited, end = set(range(1, size)), time.monotonic() + TIMEOUT_S
        while awaited:
            for other in awaited:
                if store.check([f"worldloom/greeting/{other}"]):
                    store.set(f"worldloom/answer/{store.get(f'worldloom/greeting/{other}').decode()}", name)
            awaited = {other for other in awaited if not store.check([f"worldloom/{name}/{other}"])}
            if time.monotonic() > end:
                raise RuntimeError(f"process {min(awaited)} did not come")
            time.sleep(0.01)
    dist.init_process_group(
        backend, store=dist.PrefixStore(name, store), rank=rank, world_size=size, timeout=timedelta(seconds=TIMEOUT_S)
    )


def _exchange(talk: Callable[[], object]) -> None:
    try:
        talk()
    except RuntimeError as error:
        raise LostProcessError(
            f"another process of the training was lost, or did not answer within {TIMEOUT_S:.0f} s: {str(error).splitlines()[0]}"
        ) from error


def _own_device(device: str) -> tuple[str, bool]:
    """The device of this process among those of its machine, and whether it has to share it."""
    if device == "cpu" or not torch.cuda.is_available():
        return "cpu" if device == "auto" else device, False
    gpus, here = torch.cuda.device_count(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    own = int(os.environ.get("LOCAL_RANK", "0")) % gpus
    torch.cuda.set_device(own)
    return f"cuda:{own}", here > gpus
