"""Digests of bundled worlds over 60 steps in exact mode, which were equal on aarch64 and on x86-64.

``digests.json`` holds the first 16 hexadecimal digits of SHA-256 over all observations, rewards and ends of 16
environments. An intended change of a world's rules changes its digests: print the new ones with ``python
tests/core/test_digests.py NAME``, and confirm them on the other architecture.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from thorough import THOROUGH

import worldloom as wl
from worldloom.envs import MODULES
from worldloom.envs.covid import SYNTHETIC
from worldloom.vector.adapters.gymnasium import WorldVectorEnv

KNOWN: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "digests.json").read_text())
STEPS, WORLDS = 60, 16
LARGE = (
    "Covid", "EscapeRoom", "Hanabi", "HideSeek", "Overcooked", "Tag",
    "Breakout-v5", "Enduro-v5", "MontezumaRevenge-v5", "Pong-v5", "Seaquest-v5",
)  # fmt: skip
"""How the names of worlds begin that are compiled: the interpreter would take seconds."""
INTERPRETED = [name for name in KNOWN if not name.startswith(LARGE)]
SAMPLE = ("Taxi-v4", "TagContinuousTraining-v0", "Breakout-v5")
COMPILED = [name for name in KNOWN if THOROUGH or name in SAMPLE]
"""Worlds that are compiled: one of every kind, and all in ``make test-thorough``."""


def parts(value: Any) -> Iterator[np.ndarray]:
    """The arrays of an observation, in a fixed order."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from parts(value[key])
    elif isinstance(value, tuple):
        for one in value:
            yield from parts(one)
    else:
        yield np.ascontiguousarray(np.asarray(value))


def allowed(mask: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One choice per agent out of those that its mask allows."""
    return (generator.random(mask.shape) * (mask != 0)).argmax(axis=-1).astype(np.int32)


def digests(name: str, device: str) -> dict[str, str]:
    """The digests of a world in exact mode, with seeded actions."""
    env = WorldVectorEnv(name, WORLDS, seed=7, exact=True, device=device, gymnasium_types=False)
    env.action_space.seed(11)
    generator = np.random.default_rng(11)
    observations, _ = env.reset(seed=5)
    seen, rewards, ends = (hashlib.sha256() for _ in range(3))
    for _ in range(STEPS):
        for one in parts(observations):
            seen.update(one.tobytes())
        masked = isinstance(observations, dict) and "action_mask" in observations
        actions = allowed(observations["action_mask"], generator) if masked else env.action_space.sample()
        observations, reward, terminated, truncated, _ = env.step(actions)
        rewards.update(np.asarray(reward, np.float64).tobytes())
        ends.update(np.asarray(terminated | truncated).tobytes())
    env.close()
    return {"observations": seen.hexdigest()[:16], "rewards": rewards.hexdigest()[:16], "ends": ends.hexdigest()[:16]}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str) -> None:
    if name.endswith("-v5") and name not in wl.list_all_envs():
        pytest.skip("the Atari games are not installed")
    assert digests(name, "cpu") == KNOWN[name]


@pytest.mark.parametrize("name", INTERPRETED)
def test_interpreted(name: str) -> None:
    assert digests(name, "python") == KNOWN[name]


def test_every_bundled_world_has_digests() -> None:
    bundled = {
        id for id in {*MODULES, SYNTHETIC} if not id.startswith(("Locomotion", "Flagrun"))
    }  # bits of MuJoCo's library
    assert bundled - set(KNOWN) == set()


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(given, json.dumps(digests(given, "cpu")))
