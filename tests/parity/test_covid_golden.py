"""The NumPy reference of the economy gives the golden values of the published model, to all known digits."""

import numpy as np
import pytest
from references.covid import Economy, Settings

from worldloom.envs.covid import published

GOLDEN = {
    # policy: ((mean reward of governors, reward of the planner, deaths, unemployment %, product in billion dollars)
    # after 1 and 540 days, sums of rewards)
    (0, 0): (
        (0.87338, 0.87253, 3_942, 7.9986, 54.833),
        (0.96910, 0.97243, 1_025_544, 5.7596, 57.005),
        (431.590, 437.982),
    ),
    (1, 0): (
        (0.97079, 0.96050, 3_942, 5.7232, 57.233),
        (0.99647, 1.00568, 4_662_531, 4.1918, 57.959),
        (379.970, 369.775),
    ),
    (10, 0): (
        (0.70320, 0.76348, 3_942, 10.5673, 52.124),
        (0.89939, 0.91804, 92_962, 7.3497, 55.508),
        (356.193, 384.392),
    ),
    (5, 10): (
        (1.26775, 0.87065, 3_942, 7.7890, 64.060),
        (1.34530, 0.97229, 1_811_712, 5.3636, 66.278),
        (644.607, 419.367),
    ),
}
HALF_DIGITS = (0.5e-5, 0.5e-5, 0.5, 0.5e-4, 0.5e-3)


@pytest.fixture(scope="module")
def parameters():
    folder = published.installed()
    if folder is None:
        pytest.skip("the published data is not here: pip install --no-deps ai-economist==1.7.1")
    return published.read_published(folder)


def test_worth_of_work(parameters):
    economy = Economy(parameters)
    assert economy.daily_product == pytest.approx(320.806, abs=0.5e-3)
    assert economy.full_product.sum() / 1e9 == pytest.approx(58.813, abs=0.5e-3)
    assert economy.planner_alpha == pytest.approx(0.58365, abs=0.5e-5)


@pytest.mark.parametrize("policy", GOLDEN, ids=["keep", "level 1", "level 10", "level 5 with subsidy"])
def test_constant_policies(parameters, policy):
    level, subsidy = policy
    economy = Economy(parameters, Settings(cooldown=1))
    seen, sums = {}, np.zeros(2)
    outcome = economy.reset()
    while not outcome.done:
        outcome = economy.step(np.full(economy.n, level), subsidy)
        rewards = np.array([outcome.governor_reward.mean(), outcome.planner_reward])
        sums += rewards
        share = economy.unemployed.sum() / parameters.population.sum()
        seen[economy.t] = (*rewards, economy.deaths.sum(), 100.0 * share, economy.product.sum() / 1e9)
    first, last, golden_sums = GOLDEN[policy]
    assert economy.t == 540
    for found, golden in ((seen[1], first), (seen[540], last)):
        assert np.all(np.abs(np.subtract(found, golden)) <= HALF_DIGITS)
    np.testing.assert_allclose(sums, golden_sums, rtol=0.0, atol=0.5e-3)


def test_what_was_decided_then_runs_to_the_last_day_that_is_known(parameters):
    for mode, last in (("real policies", 436), ("replay", 404)):
        economy = Economy(parameters, Settings(mode=mode))
        outcome = economy.reset()
        while not outcome.done:
            outcome = economy.step(np.zeros(economy.n, int), 0)
            assert np.isfinite(outcome.governors).all() and np.isfinite(outcome.planner).all()
        assert economy.t == last
        assert (economy.levels[last] == parameters.policy[parameters.start_day + last]).all()
        assert economy.subsidy_level == 5  # 386 billion dollars, 81 billion to the level
