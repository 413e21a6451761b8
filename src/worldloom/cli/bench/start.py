"""``worldloom bench start``: time from process start to the first step, with an empty and with a full kernel cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from worldloom.cli.bench.cold_start_probe import DONE
from worldloom.cli.world_command import WorldCommand
from worldloom.core.base import device as devices
from worldloom.core.base.errors import InputError
from worldloom.terminal import console
from worldloom.terminal.flags import Json


@dataclass
class BenchStart(WorldCommand):
    """Measure the time from process start to the first step: cold (empty kernel cache) and warm (kernels cached)."""

    device: str = "cpu"
    """Device: cpu, cuda:N, auto or python."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            env = self.definition().id
            devices.resolve(self.device)
            with tempfile.TemporaryDirectory(prefix="worldloom-") as cache:
                cold, warm = (seconds_to_first_step(self.env, self.device, cache) for _ in range(2))
        if self.json:
            console.print_json({"env": env, "device": self.device, "cold_seconds": cold, "warm_seconds": warm})
        else:
            times = f"cold {cold:.2f} s, warm {warm:.2f} s"
            text = f"{env} on {self.device}, from the start of the process to the first step: {times}"
            console.out().print(text, soft_wrap=True)
        return 0


def seconds_to_first_step(env: str, device: str, cache: str) -> float:
    """Seconds from the start of a new process to its first step, with ``cache`` as the folder of compiled kernels."""
    environment = {**os.environ, "WARP_CACHE_PATH": cache, "CUDA_CACHE_PATH": os.path.join(cache, "cuda")}
    command = [sys.executable, "-m", "worldloom.cli.bench.cold_start_probe", env, device]
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        output: list[str] = []
        for line in process.stdout:
            if line.strip() == DONE:
                return time.perf_counter() - start
            output.append(line.strip())
    reason = next((line for line in reversed(output) if line), f"it exited with code {process.returncode}")
    raise InputError(f"a new process could not step '{env}' on {device}: {reason}")
