"""Settings of SAC and DQN that population-based training may search."""

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.config.continuous_config import SACConfig
from worldloom.learn.config.dqn_config import DQNConfig
from worldloom.learn.experiments.population.changeable import check_changeable
from worldloom.learn.experiments.search.dimension import Choices
from worldloom.learn.runs.training_request import TrainingRequest


def check(name: str, algorithm: str, config: SACConfig | DQNConfig) -> None:
    check_changeable([Choices(name, (0.1, 0.2))], TrainingRequest("Pendulum-v1", algorithm, config))


def test_an_adapted_temperature_is_not_searched() -> None:
    check("temperature", "sac", SACConfig(auto_temperature=False))
    with pytest.raises(InputError, match="temperature: it cannot change during a training"):
        check("temperature", "sac", SACConfig())


@pytest.mark.parametrize("name", ["v_min", "v_max"])
def test_the_range_of_distributional_critics_is_not_searched(name: str) -> None:
    for algorithm, config in (("sac", SACConfig()), ("dqn", DQNConfig())):
        with pytest.raises(InputError, match=f"{name}: it cannot change during a training"):
            check(name, algorithm, config)
