"""Episodes: their returns and lengths, for agents that stay to the end and for those that leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from worlds import CLOCK, PARTY

import worldloom as wl
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics


class Played(NamedTuple):
    """Some steps: rewards and dones [T, N], steps [finals, N] and counts [N] of cuts, places given out at each step."""

    episodes: EpisodeStatistics
    rewards: torch.Tensor
    dones: torch.Tensor
    steps: torch.Tensor
    count: torch.Tensor
    places: list[list[int]]


def played(simulation: wl.Simulation, steps: int, finals: int = 0) -> Played:
    (kind,) = simulation.definition.entities
    agent_group = AgentGroup(simulation, parse_agents(kind.__name__, simulation.definition))
    episodes = EpisodeStatistics(agent_group.rows, agent_group.device)
    rewards, dones = torch.zeros(steps, agent_group.rows), torch.zeros(steps, agent_group.rows, dtype=torch.bool)
    slots = agent_group.rows if finals else 0
    kept = (
        torch.full((finals, agent_group.rows), -1, dtype=torch.int32),
        torch.zeros(slots, dtype=torch.int32),
        torch.zeros(slots, dtype=torch.int32),
    )
    places = []
    for step in range(steps):
        weights = agent_group.active().float() if agent_group.may_leave else torch.empty(0)
        simulation.step()
        episodes.record(agent_group, step, weights, rewards[step], dones[step], kept)
        places.append(kept[2].tolist())
    return Played(episodes, rewards, dones, kept[0], kept[1], places)


def test_returns_and_lengths_are_added_up_over_finished_episodes() -> None:
    episodes, rewards, dones, *_ = played(
        wl.Simulation(CLOCK, 3, seed=0, config={"max_steps": np.array([2, 5, 0], np.int32)}), 7
    )
    assert episodes.total().tolist() == [4.0, 11.0, 11.0]  # three of 2 steps, one of 5
    assert episodes.running.tolist() == [[1.0, 2.0, 7.0], [1.0, 2.0, 7.0]]
    assert torch.equal(rewards, torch.ones(7, 3))
    assert dones.nonzero().tolist() == [[1, 0], [3, 0], [4, 1], [5, 0]]


def test_an_agent_that_left_counts_no_further() -> None:
    simulation = wl.Simulation(PARTY, 1, seed=0, config={"dies_at": 2, "over_at": 5})
    episodes, _, dones, *_ = played(simulation, 6)
    assert episodes.total().tolist() == [3.0, 2.0 + 5.0 + 5.0, 12.0]
    assert episodes.running[1].tolist() == [1.0, 1.0, 1.0]
    assert dones.nonzero().tolist() == [[1, 0], [4, 0], [4, 1], [4, 2]]  # its next episode begins with the world's


def test_cuts_get_places_one_after_the_other_and_ends_get_none() -> None:
    simulation = wl.Simulation(CLOCK, 2, seed=0, config={"max_steps": np.array([2, 3], np.int32)})
    *_, steps, count, places = played(simulation, 7, finals=3)
    assert steps.tolist() == [[1, 2], [3, 5], [5, -1]] and count.tolist() == [3, 2]
    assert places == [[-1, -1], [0, -1], [-1, 0], [1, -1], [-1, -1], [2, 1], [-1, -1]]
    *_, steps, count, _ = played(wl.Simulation(CLOCK, 2, seed=0, config={"ends_at": 2}), 7, finals=3)
    assert (steps == -1).all() and count.tolist() == [0, 0]


def test_a_reward_that_is_not_finite_counts_as_nothing() -> None:
    simulation = wl.Simulation(CLOCK, 2, seed=0, checks=False)
    agent_group = AgentGroup(simulation, parse_agents("Ticker", CLOCK))
    episodes, reward, done = EpisodeStatistics(2, agent_group.device), torch.zeros(2), torch.zeros(2, dtype=torch.bool)
    simulation["Ticker"]["reward"].torch().copy_(torch.tensor([[torch.nan], [2.0]]))
    nothing = torch.zeros(0, dtype=torch.int32)
    episodes.record(agent_group, 0, torch.empty(0), reward, done, (nothing.view(0, 2), nothing, nothing))
    assert reward.tolist() == [0.0, 2.0] and episodes.running[0].tolist() == [0.0, 2.0]
