"""Chi-square test of counts."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def assert_as_likely(found: list[Array], expected: list[Array]) -> None:
    """A chi-square test over many tables at once: counts against expected counts, within five standard deviations."""
    statistic = sum(float(((f - e) ** 2 / e).sum()) for f, e in zip(found, expected, strict=True))
    freedom = sum(len(e) - 1 for e in expected)
    assert abs(statistic - freedom) < 5.0 * np.sqrt(2.0 * freedom), (
        f"chi-square {statistic:.1f} with {freedom} degrees of freedom"
    )
