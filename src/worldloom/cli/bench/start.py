"""``worldloom bench start``: how long a fresh process takes to its first step, with nothing compiled and with everything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from worldloom.cli.bench.cold_start_probe import DONE
from worldloom.core.base import device as devices
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import find
from worldloom.terminal import console
from worldloom.terminal.flags import Env, Json


@dataclass
class BenchStart:
    """Measure the time from the start of a process to its first step: cold (nothing compiled yet) and warm (from the cache)."""

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    device: str = "cpu"
    """Where it runs: cpu, cuda:N, auto or python."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            made = find(self.env)
            devices.resolve(self.device)
            with tempfile.TemporaryDirectory(prefix="worldloom-") as cache:
                cold, warm = (seconds_to_first_step(self.env, self.device, cache) for _ in range(2))
        if self.json:
            console.print_json({"env": made.id, "device": self.device, "cold_seconds": cold, "warm_seconds": warm})
        else:
            text = f"{made.id} on {self.device}, from the start of the process to the first step: cold {cold:.2f} s, warm {warm:.2f} s"
            console.out().print(text, soft_wrap=True)
        return 0


def seconds_to_first_step(env: str, device: str, cache: str) -> float:
    """Seconds that a fresh process takes to its first step, with its compiled kernels kept in the folder ``cache``."""
    environment = {**os.environ, "WARP_CACHE_PATH": cache, "CUDA_CACHE_PATH": os.path.join(cache, "cuda")}
    command = [sys.executable, "-m", "worldloom.cli.bench.cold_start_probe", env, device]
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            if line.strip() == DONE:
                return time.perf_counter() - start
            said.append(line.strip())
    reason = next((line for line in reversed(said) if line), f"it ended with code {process.returncode}")
    raise InputError(f"a fresh process could not step '{env}' on {device}: {reason}")
