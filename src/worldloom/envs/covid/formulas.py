"""Formulas of the economy: intervals of decisions and deliveries, unemployment, utility and rewards."""

import math

import worldloom as wl
from worldloom import clamp, exp, log

YEAR = 365.0  # days
AT_LEVEL_ONE = math.log(2.0)  # softplus(0): unemployment in percent without level changes, before the bias


@wl.function
def decided(level: int, action: int, t: int, interval: int) -> int:
    """The subsidy level in step t. Actions take effect every ``interval`` steps, beginning with the first."""
    return action if (t - 1) % interval == 0 else level


@wl.function
def next_delivery(t: int, start: int, interval: int) -> int:
    """The first step from t on with a delivery of vaccines: a multiple of ``interval``, at ``start`` or later."""
    first = max(t, start)
    return (first + interval - 1) // interval * interval


@wl.function
def softplus(x: float) -> float:
    return max(x, 0.0) + log(1.0 + exp(-abs(x)))


@wl.function
def workers(people: float, sick: float, unemployed: float, working_share: float) -> float:
    """Number of working people; ``sick`` counts people of all ages who are too ill to work or dead."""
    return max(0.0, working_share * people - (sick * working_share + unemployed))


@wl.function
def share_at_work(bias: float, working_share: float) -> float:
    """The share of working people at level 1 without the disease; ``bias`` is the unemployment bias in percent."""
    return working_share - (AT_LEVEL_ONE + bias) / 100.0


@wl.function
def utility(share: float, eta: float) -> float:
    """Utility of a day at a share of the full product, with constant relative risk aversion ``eta``."""
    year = clamp(share, 0.1, 3.0)
    gain = log(year) if eta == 1.0 else (year ** (1.0 - eta) - 1.0) / (1.0 - eta)
    return (1.0 + gain) / YEAR


@wl.function
def share_of_health(factor: float, alpha: float) -> float:
    """The weight of health against the economy: the odds of ``alpha`` times ``factor``, as a probability."""
    odds = factor * alpha / (1.0 - alpha)
    return odds / (1.0 + odds)


@wl.function
def scaled(x: float, low: float, high: float) -> float:
    """Maps the range ``low`` to ``high`` linearly to 0 to 1."""
    return (x - low) / (high - low + 1e-10)
