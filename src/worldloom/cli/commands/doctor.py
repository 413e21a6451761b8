"""``worldloom doctor``: versions, devices and optional packages of this machine."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import warp as wp
from rich import box
from rich.markup import escape
from rich.table import Table

from worldloom.atari.cli.roms_command import roms_status
from worldloom.core.base.shards import num_cores
from worldloom.envs.covid.fetch_command import data_status
from worldloom.terminal import console
from worldloom.terminal.flags import Json

PACKAGES = {"worldloom": "worldloom", "warp": "warp-lang", "torch": "torch", "gymnasium": "gymnasium", "numpy": "numpy"}
"""Packages by the name that is shown."""

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "jax": ("worlds inside JAX", ("jax",)),
    "pettingzoo": ("PettingZoo's interface", ("pettingzoo",)),
    "torchrl": ("training with TorchRL", ("torchrl",)),
    "sb3": ("training with Stable-Baselines3", ("stable-baselines3",)),
    "rsl-rl": ("training with rsl_rl", ("rsl-rl-lib",)),
    "rl-games": ("training with rl_games", ("rl-games",)),
    "skrl": ("training with skrl", ("skrl",)),
    "tianshou": ("training with Tianshou", ("tianshou",)),
    "rllib": ("training with RLlib", ("lz4", "ormsgpack")),
    "compat": ("all of these trainers, dm_env, and EnvPool to compare with", ("dm-env", "envpool")),
    "view": ("curves, plots and videos", ("imageio-ffmpeg", "matplotlib")),
    "atari": ("ROMs of the Atari games", ("ale-py",)),
    "robots": ("robots and MuJoCo's tasks", ("mujoco", "mujoco-warp")),
    "export": ("policies as ONNX files", ("onnx", "onnxruntime", "onnxscript")),
    "wandb": ("metrics in Weights & Biases", ("wandb",)),
    "mlflow": ("metrics in MLflow", ("mlflow-skinny", "alembic", "sqlalchemy")),
    "sweep": ("sweeps over settings", ("optuna",)),
    "cluster": ("training on a Ray cluster", ("ray",)),
}
"""The purpose of each extra, and the packages it installs."""


@dataclass(frozen=True)
class Gpu:
    """One GPU: its device alias, its name, and its memory in bytes."""

    device: str
    name: str
    memory: int


@dataclass(frozen=True)
class Extra:
    """One extra of the package, and its missing packages."""

    name: str
    purpose: str
    missing: tuple[str, ...]

    @property
    def command(self) -> str:
        return f"pip install 'worldloom[{self.name}]'"


@dataclass(frozen=True)
class MachineReport:
    """The result of :func:`inspect_machine`.

    Attributes:
        versions: The version of each package; None if it is not installed.
        cores: CPU cores that this process may use.
        gpus: Every GPU.
        driver: The driver, in words, or the problem if there is no GPU.
        cache: The folder of compiled kernels.
        cache_bytes: Its size.
        covid: Where the data of the COVID-19 economy is, or how to get it.
        roms: The number of Atari 2600 games with a ROM, or how to get ROMs.
        extras: Every extra.
    """

    versions: dict[str, str | None]
    cores: int
    gpus: tuple[Gpu, ...]
    driver: str
    cache: str
    cache_bytes: int
    covid: str
    roms: str
    extras: tuple[Extra, ...]


@dataclass
class Doctor:
    """Show versions, devices, the kernel cache, available data and ROMs, and missing extras."""

    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            report = inspect_machine()
        console.print_result(self.json, _as_json(report), _table(report))
        return 0


def _folder_size(folder: Path) -> int:
    """Bytes of all files in ``folder``, except those that another process deletes meanwhile."""
    total = 0
    for where, _, names in os.walk(folder, onerror=lambda _: None):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(where, name)).st_size
    return total


def inspect_machine() -> MachineReport:
    """Inspect this machine."""
    wp.init()
    gpus = tuple(Gpu(d.alias, d.name, int(d.total_memory)) for d in wp.get_cuda_devices())
    cores = num_cores()
    cache = Path(wp.config.kernel_cache_dir)
    size = _folder_size(cache)
    versions = {"python": platform.python_version(), **{name: _version(package) for name, package in PACKAGES.items()}}
    extras = tuple(
        Extra(name, purpose, tuple(p for p in packages if _version(p) is None))
        for name, (purpose, packages) in EXTRAS.items()
    )
    return MachineReport(
        versions, cores, gpus, _driver(bool(gpus)), str(cache), size, data_status(), roms_status(), extras
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _driver(has_gpus: bool) -> str:
    """The NVIDIA driver in words, or how to fix its absence."""
    cuda = wp.get_cuda_driver_version()
    if cuda is None:
        return "no NVIDIA driver was found: worlds run on the CPU; install the driver from nvidia.com to use a GPU"
    if not has_gpus:
        return (
            "an NVIDIA driver is installed but shows no GPU: "
            "check nvidia-smi, and whether CUDA_VISIBLE_DEVICES hides it"
        )
    version = Path("/proc/driver/nvidia/version")
    number = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", version.read_text()) if version.is_file() else None
    return f"NVIDIA driver {number.group(1) if number else ''} for CUDA {cuda[0]}.{cuda[1]}".replace("  ", " ")


def _as_json(report: MachineReport) -> dict[str, Any]:
    extras = {
        e.name: {"purpose": e.purpose, "missing": e.missing, "command": e.command if e.missing else None}
        for e in report.extras
    }
    return {**asdict(report), "extras": extras}


def _table(report: MachineReport) -> Table:
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for package, version in report.versions.items():
        table.add_row(package, version or "not installed")
    table.add_row("", "")
    table.add_row("cpu", f"{report.cores} cores")
    for gpu in report.gpus:
        table.add_row(gpu.device, f"{gpu.name}, {console.format_bytes(gpu.memory)}")
    table.add_row("driver", report.driver)
    table.add_row("kernel cache", f"{report.cache}, {console.format_bytes(report.cache_bytes)}")
    table.add_row("covid data", escape(report.covid))
    table.add_row("Atari ROMs", escape(report.roms))
    table.add_row("", "")
    for extra in report.extras:
        state = f"missing {', '.join(extra.missing)}: {extra.command}" if extra.missing else "installed"
        table.add_row(extra.name, escape(f"{extra.purpose}: {state}"))
    return table
