"""A made-up country of 51 states for tests and a first try of the COVID-19 economy. None of its figures is real.

Every number comes from a closed formula of the state's number i and of the day d, so that it is the same everywhere. What differs from
state to state does so by ``u(i, k)``, the fractional part of ``(i + 1) * G[k]`` with irrational G[k] (square roots of primes): evenly
spread over 0 to 1 and unrelated from one k to the next.

    population        6 million * exp(1.0 * z(u)), z the logistic approximation of the normal distribution: log-normal
    beta_slope        -0.004 to -0.018 per level; beta_intercept so that at level 1 an infected person infects 1.6 to 2.4 others in the
                      1 / gamma = 14 days of the disease, and at level 10 at most 0.7: level 1 spreads, level 10 contains
    filter_weights    rising with the decay time, so that a step from level 1 to 10 costs 4 to 9 percent of jobs at first
    alphas            0.65 to 0.85, planner 0.75
    indices           ranges of the order of the indices that occur
    policy            level 1 until day 70 + 10 u, then a rise to a state's own peak in 14 days, then a level less about every 30 days
    histories         the disease begins on day 50 with 1 to 20 infected in a million and doubles every 5 days until day 81, the start
    subsidy           100 billion dollars on day 105, 50 on day 361

Histories after the start follow the same model of infections at the levels of ``policy``, without vaccines until day 377 and with
3,000 doses per million and day after it, so that replaying them looks like a pandemic.
"""

from __future__ import annotations

STATES, DAYS, START_DAY = 51, 518, 81
GAMMA, DELAY, MORTALITY = 1.0 / 14.0, 29, 0.02
LAMBDAS = (28.0, 63.0, 129.0, 264.0, 542.0)
FIRST_CASES, FIRST_VACCINES = 50, 377
GENERATORS = (2, 3, 5, 7, 11, 13, 17, 19)
