"""Names of agents that come and go."""

import pytest

from worldloom.vector.adapters.agent_names import FREE, AgentNames


@pytest.fixture
def names() -> AgentNames:
    names = AgentNames({"guard": 1, "worker": 3}, {"worker": 5})
    names.begin({"worker": [10, 11, FREE]})
    return names


def test_possible_names_are_fixed(names: AgentNames) -> None:
    assert names.possible == ["guard_0", "worker_0", "worker_1", "worker_2", "worker_3", "worker_4"]
    assert names.kinds["worker_4"] == "worker" and names.kinds["guard_0"] == "guard"


def test_agents_are_numbered_in_the_order_in_which_they_appear(names: AgentNames) -> None:
    assert names.rows == {"guard_0": ("guard", 0), "worker_0": ("worker", 0), "worker_1": ("worker", 1)}
    assert names.update({"worker": [30, 11, 20]}) == ({"worker_0"}, ["worker_2", "worker_3"])
    assert names.rows["worker_2"] == ("worker", 2) and names.rows["worker_3"] == ("worker", 0)


def test_a_name_is_used_once_per_episode(names: AgentNames) -> None:
    assert names.update({"worker": [FREE, 11, FREE]}) == ({"worker_0"}, [])
    assert names.update({"worker": [12, 11, FREE]}) == (set(), ["worker_2"])
    names.begin({"worker": [12, FREE, FREE]})
    assert list(names.rows) == ["guard_0", "worker_0"]


def test_agents_without_a_name_are_noticed(names: AgentNames) -> None:
    names.update({"worker": [20, 21, 22]})
    assert not names.used_up
    assert names.update({"worker": [30, 21, 22]}) == ({"worker_2"}, [])
    assert names.used_up
