"""Processes that train together: each runs a part of the worlds, and reductions are over all of them."""

from __future__ import annotations

import os
import secrets
import socket
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist

from worldloom.core.base.errors import InputError, WorldloomError

TIMEOUT_S = 300.0
"""How long a process waits for the others, so that a lost one does not hang the rest."""
REQUIRED_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables that a launcher sets for its processes."""
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
"""The environment variable that, where it is 1, lets the processes of ``torchrun`` have a store of their own."""


class LostProcessError(WorldloomError):
    """Another process of the training ended, or did not answer in time."""


@dataclass(frozen=True)
class Ranks:
    """The rank of this process among those that train together.

    Attributes:
        rank: Its index.
        size: The number of processes.
        hosts: Process group for communication between the hosts; None for the default group.
    """

    rank: int = 0
    size: int = 1
    hosts: dist.ProcessGroup | None = None

    @property
    def is_single(self) -> bool:
        return self.size == 1

    @property
    def is_leader(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph can capture the communication."""
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
        """Replace ``tensor`` by that of the leading process, and return it."""
        if not self.is_single:
            _exchange(lambda: dist.broadcast(tensor, 0))
        return tensor

    def share(self, num_envs: int) -> tuple[int, int]:
        """The first world of this process and its number of worlds, of ``num_envs`` in total."""
        if num_envs % self.size:
            raise InputError(
                f"{num_envs} worlds cannot be shared evenly by {self.size} processes: use a multiple of {self.size}"
            )
        per_process = num_envs // self.size
        return self.rank * per_process, per_process

    def any(self, value: bool) -> bool:
        """Whether ``value`` is True in any process. Hosts communicate without a device synchronization."""
        if self.is_single:
            return value
        flag = torch.tensor([float(value)])
        _exchange(lambda: dist.all_reduce(flag, group=self.hosts))
        return bool(flag)

    def barrier(self) -> None:
        """Wait until every process has reached this call."""
        self.any(False)


def join_process_group(device: str) -> tuple[Ranks, str]:
    """Join the processes that ``torchrun`` or another launcher started, if any.

    Returns this process's ranks and the device it should use. NCCL is used with one process per GPU; gloo on the CPU,
    and where processes share a GPU.
    """
    if os.environ.get("RANK") == "0" and _cannot_rejoin():
        warnings.warn(
            f"a machine that is lost, or comes later, cannot join this training: set {OWN_STORE}=1 "
            "on all machines before torchrun starts",
            stacklevel=2,
        )
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Ranks(), device
    device, shared = _own_device(device)
    if not dist.is_initialized():
        missing = [name for name in REQUIRED_VARIABLES if name not in os.environ]
        if missing:
            raise InputError(
                f"WORLD_SIZE is more than 1, but {', '.join(missing)} is not set: "
                "start the processes with torchrun, or unset WORLD_SIZE"
            )
        _exchange(lambda: _form_group("gloo" if device == "cpu" or shared else "nccl"))
    hosts = (
        None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT_S))
    )
    return Ranks(dist.get_rank(), dist.get_world_size(), hosts), device


def launch_id() -> str:
    """An id of this launch of ``torchrun``, which is the same after restarts of its processes; empty without it."""
    run_id = os.environ.get("TORCHELASTIC_RUN_ID", "")
    return _launcher_id() if run_id == "none" else run_id  # torchrun sets "none" without --rdzv-id


def leave_process_group() -> None:
    """Leave the process group, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _cannot_rejoin() -> bool:
    """Whether ``torchrun`` would start the processes of several machines again, and then fail when a machine joins.

    Its agents share a store with the processes, and publish its address at their first start only: a machine that joins
    later waits for it in vain. Only the environment in which the agents start can change that.
    """
    values = os.environ.get
    if (
        "TORCHELASTIC_RUN_ID" not in os.environ
        or values(OWN_STORE) == "1"
        or values("TORCHELASTIC_MAX_RESTARTS") == "0"
    ):
        return False
    has_several = int(values("GROUP_WORLD_SIZE", "1")) > 1 or ":" in _torchrun_option("nnodes")
    return has_several and _torchrun_option("rdzv-backend") == "c10d"


def _torchrun_option(name: str) -> str:
    """The value of an option of the ``torchrun`` that started this process; empty where it is unknown."""
    words = _read(Path(f"/proc/{os.getppid()}/cmdline")).replace("=", "\0").split("\0")
    given = [value for option, value in pairwise(words) if option.replace("_", "-") == f"--{name}"]
    return given[0] if given else os.environ.get(f"PET_{name.upper().replace('-', '_')}", "")


def _launcher_id() -> str:
    """An id of the parent process. It includes the start time, since containers reuse host names and pids."""
    parent = os.getppid()
    start = (
        _read(Path(f"/proc/{parent}/stat")).rpartition(")")[2].split()
    )  # the name before it, in brackets, may hold anything
    boot = _read(Path("/proc/sys/kernel/random/boot_id")).strip()
    return ":".join(
        [socket.gethostname(), str(parent), *start[19:20], *([boot] if boot else [])]
    )  # field 22, of which the name was the second


def _read(file: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _form_group(backend: str) -> None:
    """Make the group of all processes, under a prefix of the launcher's store that is unique to this start.

    ``torchrun`` has one store for all its restarts, which still holds addresses of processes that ended. So every
    process sends rank 0 a new random token, and rank 0 answers each token with the prefix. No stale entry can be
    mistaken for an answer.
    """
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=TIMEOUT_S)))
    token = secrets.token_hex(8)
    if rank:
        store.set(f"worldloom/greeting/{rank}", token)
        name = store.get(f"worldloom/answer/{token}").decode()
        store.set(f"worldloom/{name}/{rank}", "here")
    else:
        name = token
        awaited, end = set(range(1, size)), time.monotonic() + TIMEOUT_S
        while awaited:
            for other in awaited:
                if store.check([f"worldloom/greeting/{other}"]):
                    store.set(f"worldloom/answer/{store.get(f'worldloom/greeting/{other}').decode()}", name)
            awaited = {other for other in awaited if not store.check([f"worldloom/{name}/{other}"])}
            if time.monotonic() > end:
                raise RuntimeError(f"process {min(awaited)} did not join")
            time.sleep(0.01)
    own_store = dist.PrefixStore(name, store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=own_store, rank=rank, world_size=size, timeout=timedelta(seconds=TIMEOUT_S))


def _exchange(communicate: Callable[[], object]) -> None:
    """Run a collective operation; LostProcessError where another process does not take part."""
    try:
        communicate()
    except RuntimeError as error:
        raise LostProcessError(
            f"another process of the training was lost, or did not answer within {TIMEOUT_S:.0f} s: "
            f"{str(error).splitlines()[0]}"
        ) from error


def _own_device(device: str) -> tuple[str, bool]:
    """The device of this process on its machine, and whether it is shared with another process."""
    if device == "cpu" or not torch.cuda.is_available():
        return "cpu" if device == "auto" else device, False
    gpus, processes = torch.cuda.device_count(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    own = int(os.environ.get("LOCAL_RANK", "0")) % gpus
    torch.cuda.set_device(own)
    return f"cuda:{own}", processes > gpus
