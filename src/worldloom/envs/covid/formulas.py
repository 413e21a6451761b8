"""The formulas of the economy, in numbers alone: decisions that hold, deliveries, unemployment, utility and rewards."""

import math

import worldloom as wl
from worldloom import clamp, exp, log

YEAR = 365.0  # days
AT_LEVEL_ONE = math.log(2.0)  # softplus(0): percent of unemployment, beside the bias, where no level ever changed


@wl.function
def decided(level: int, action: int, t: int, interval: int) -> int:
    """The level of subsidies in step t: a decision is read every ``interval`` steps, from the first on, and holds until the next."""
    return action if (t - 1) % interval == 0 else level


@wl.function
def next_delivery(t: int, start: int, interval: int) -> int:
    """The first step from t on that delivers vaccines: a multiple of ``interval`` and not before ``start``."""
    first = max(t, start)
    return (first + interval - 1) // interval * interval


@wl.function
def softplus(x: float) -> float:
    return max(x, 0.0) + log(1.0 + exp(-abs(x)))


@wl.function
def workers(people: float, sick: float, unemployed: float, working_share: float) -> float:
    """How many of ``people`` work, where ``sick`` of all ages are too ill or dead."""
    return max(0.0, working_share * people - (sick * working_share + unemployed))


@wl.function
def share_at_work(bias: float, working_share: float) -> float:
    """The share of the people who work at level 1 without a disease; ``bias`` is that of their unemployment, in percent."""
    return working_share - (AT_LEVEL_ONE + bias) / 100.0


@wl.function
def utility(share: float, eta: float) -> float:
    """What a day at a share of the full product is worth: constant relative risk aversion, the more there is the less more of it is worth."""
    year = clamp(share, 0.1, 3.0)
    gain = log(year) if eta == 1.0 else (year ** (1.0 - eta) - 1.0) / (1.0 - eta)
    return (1.0 + gain) / YEAR


@wl.function
def share_of_health(factor: float, alpha: float) -> float:
    """The weight of health against the economy when the odds of the fitted weight ``alpha`` are multiplied."""
    odds = factor * alpha / (1.0 - alpha)
    return odds / (1.0 + odds)


@wl.function
def scaled(x: float, low: float, high: float) -> float:
    """``x`` from the range ``low`` to ``high`` onto 0 to 1."""
    return (x - low) / (high - low + 1e-10)
