"""Environments for the tests of the process pool. Workers import this file, so it imports only Gymnasium."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

FINE, RAISE, KILL, HANG, EXIT, STOP = range(6)
"""Actions of Moody."""


class Mixed(gymnasium.Env):
    """Every kind of space, infos of every kind, and short episodes of random length."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 7}
    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-1.0, 1.0, (2, 3), np.float32),
            "inner": spaces.Tuple((spaces.Discrete(50, start=-5), spaces.MultiBinary(4))),
            "level": spaces.Box(0, 255, (), np.uint8),
        }
    )
    action_space = spaces.Dict(
        {
            "push": spaces.Box(-1.0, 1.0, (2,)),
            "pick": spaces.Tuple((spaces.Discrete(3), spaces.MultiDiscrete([3, 4]))),
            "flags": spaces.MultiBinary(2),
        }
    )

    def __init__(self, bonus: float = 0.0, render_mode: str | None = None) -> None:
        self.bonus, self.render_mode = bonus, render_mode
        self.closed = False

    def _look(self) -> dict[str, Any]:
        place = self.np_random.uniform(-1, 1, (2, 3)).astype(np.float32)
        return {
            "place": place,
            "inner": (int(self.np_random.integers(-5, 45)), self.np_random.integers(0, 2, 4, np.int8)),
            "level": np.uint8(self.age),
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.age, self.last = 0, int(self.np_random.integers(1, 6))
        return self._look(), {"options": options} if options else {}

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains({**action, "pick": (int(action["pick"][0]), action["pick"][1])}), action
        self.age += 1
        reward = (
            float(action["push"].sum() + action["pick"][0] + 10 * action["pick"][1].sum() + 100 * action["flags"].sum())
            + self.bonus
        )
        info: dict[str, Any] = (
            {"age": self.age, "deep": {"half": self.age / 2, "wide": np.arange(3) * self.age}} if self.age % 2 else {}
        )
        if self.age == 2:
            info["word"] = "two"
        return self._look(), reward, self.age >= self.last, self.age == 4, info

    def render(self) -> np.ndarray:
        return np.full((2, 2, 3), self.age, np.uint8)


class Moody(gymnasium.Env):
    """Behaves as its action says: steps normally, raises, kills itself, hangs, exits or stops."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(6)

    def __init__(self, with_child: bool = False) -> None:
        self.pid, self.episodes, self.with_worldloom = os.getpid(), 0, "worldloom" in sys.modules
        self.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]).pid if with_child else 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.age, self.episodes = 0, self.episodes + 1
        if options and options.get("refuse"):
            raise RuntimeError("no new episode today")
        self.luck = float(self.np_random.uniform())
        return np.array([0.0, self.luck]), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.age += 1
        if action == RAISE:
            raise ValueError("out of sorts")
        if action == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if action == HANG:
            time.sleep(1000)
        if action == EXIT:
            os._exit(3)
        if action == STOP:
            os.kill(os.getpid(), signal.SIGSTOP)
        return np.array([float(self.age), self.luck]), 1.0, False, False, {}


class Uneven(gymnasium.Env):
    """Environments with an even number step at once, the others after ``delay`` seconds."""

    observation_space = spaces.Box(0, 1000, (), np.int64)
    action_space = spaces.Discrete(2)

    def __init__(self, number: int, delay: float) -> None:
        self.number, self.delay = number, delay if number % 2 else 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return np.array(0), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        time.sleep(self.delay)
        self.steps += 1
        return (
            np.array(self.steps),
            float(self.number),
            False,
            False,
            {"long": b"x" * (5000 if action else 0), "number": self.number},
        )


class Unpicklable(Moody):
    """Cannot be sent to another process."""

    def __reduce__(self) -> Any:
        raise TypeError("no pickle of me")
