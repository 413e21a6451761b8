"""A synthetic history of three states, or of many."""

from __future__ import annotations

import datetime

import numpy as np

from worldloom.envs.covid.history import PER_STATE, EpisodeHistory


def made_history(label: str = "made", n: int = 3, length: int = 5, level: float = 3.0) -> EpisodeHistory:
    """All series grow by 100 per day and by the index of the state; stringency and subsidies are constant."""
    day, state = np.arange(1.0, length + 1.0)[:, None], np.arange(float(n))[None, :]
    parts = {name: 100.0 * day + state for name in PER_STATE} | {"level": np.full((length, n), level)}
    return EpisodeHistory(
        label=label,
        states=tuple(f"State {i}" for i in range(n)),
        postal=tuple(f"{chr(65 + i // 26)}{chr(65 + i % 26)}" for i in range(n)),
        population=np.arange(1.0, n + 1.0) * 1e4,
        country=n * (n + 1) / 2 * 1e4,
        start=datetime.date(2020, 3, 22),
        days=np.arange(1.0, length + 1.0),
        subsidy=np.full(length, 60.0),
        planner_rewards=np.full(length, 0.5),
        **parts,
    )
