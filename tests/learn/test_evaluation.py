"""Evaluation: whole episodes, equally shared, and what each agent got of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, parse_agents
from worldloom.learn.play.evaluation import evaluate, limit_steps, num_worlds_for
from worldloom.learn.play.frames import record_frames


class Always:
    """Gives every agent the same choice, and counts its steps in a memory."""

    def __init__(self, choice):
        self.choice, self.seen = choice, []

    def initial_state(self, rows, device):
        return torch.zeros(rows, 1, device=device)

    def act(self, observations, state, mask):
        self.seen.append(state[:, 0].tolist())
        return torch.full((len(state), 1), self.choice, dtype=torch.int32), state + 1


def make_actors(simulation, **choices):
    return {
        name: (
            AgentGroup(
                simulation, parse_agents("Runner" if name == "all" else f"Runner[{name[-1]}]", simulation.definition)
            ),
            Always(c),
        )
        for name, c in choices.items()
    }


def test_returns_and_lengths_of_known_episodes(race):
    with wl.Simulation(race, 3, seed=0) as worlds:
        found = evaluate(worlds, make_actors(worlds, all=0), 6)
    assert (found.episodes, found.mean_return, found.std_return, found.mean_length) == (6, 4.0, 0.0, 4.0)
    assert found.returns == {"all": 4.0}
    assert found.steps_per_second > 0


def test_agents_that_leave_get_nothing_more(race):
    with wl.Simulation(race, 2, seed=0) as worlds:
        found = evaluate(worlds, make_actors(worlds, agent0=0, agent1=1), 4)
    assert found.returns == {"agent0": 4.0, "agent1": 1.0}
    assert (found.mean_return, found.least_return, found.greatest_return) == (2.5, 1.0, 4.0)
    assert found.std_return == pytest.approx(np.std([4.0, 1.0] * 4, ddof=1))


def test_short_episodes_are_not_favoured(race):
    with wl.Simulation(race, 2, seed=0, config={"goal": np.array([2, 8])}) as worlds:
        found = evaluate(worlds, make_actors(worlds, all=0), 5)
    assert found.mean_length == (3 * 2 + 2 * 8) / 5
    assert found.mean_return == found.mean_length


def test_memories_begin_anew_with_each_episode(race):
    with wl.Simulation(race, 1, seed=0, config={"goal": 3}) as worlds:
        actors = make_actors(worlds, agent0=0, agent1=0)
        evaluate(worlds, actors, 2)
    assert actors["agent1"][1].seen == [[0.0], [1.0], [2.0]] * 2


def test_one_is_told_how_it_goes(race):
    said = []
    with wl.Simulation(race, 2, seed=0) as worlds:
        evaluate(worlds, make_actors(worlds, all=0), 4, on_progress=said.append)
    assert said[0] == 0 and said[-1] == 4 and said == sorted(said)


def test_what_never_ends_is_given_up(race):
    with wl.Simulation(race, 1, seed=0, config={"goal": 1000}) as worlds:
        with pytest.raises(InputError, match="did not end within 20 steps"):
            evaluate(worlds, make_actors(worlds, all=0), 1, max_steps=20)
        with pytest.raises(InputError, match="at least one episode"):
            evaluate(worlds, make_actors(worlds, all=0), 0)


def test_the_limit_is_that_of_one_episode(race):
    with wl.Simulation(race, 1, seed=0, config={"goal": 3}) as worlds:
        assert evaluate(worlds, make_actors(worlds, all=0), 10, max_steps=4).mean_length == 3.0


def test_actors_of_other_worlds_are_refused(race):
    """Their actions would not reach the worlds that are stepped."""
    refused = pytest.raises(InputError, match="actor 'all' acts in other worlds than those of the evaluation")
    with wl.Simulation(race, 2, seed=0) as worlds, wl.Simulation(race, 2, seed=0) as others, refused:
        evaluate(worlds, make_actors(others, all=0), 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_steps": "5"}, "max_steps is a whole number from 1, not '5'"),
        ({"max_steps": 0}, "max_steps is a whole number from 1, not 0"),
        ({"cut_after": "x"}, "cut_after is a whole number from 0, not 'x'"),
        ({"cut_after": -1}, "cut_after is a whole number from 0, not -1"),
        ({"on_progress": 5}, "on_progress is a function"),
    ],
)
def test_wrong_arguments_are_refused(race, arguments, message):
    with wl.Simulation(race, 2, seed=0) as worlds, pytest.raises(InputError, match=message):
        evaluate(worlds, make_actors(worlds, all=0), 2, **arguments)


def test_long_episodes_are_cut_off_and_counted(race):
    with wl.Simulation(race, 2, seed=0, config={"goal": np.array([3, 1000])}) as worlds:
        result = evaluate(worlds, make_actors(worlds, all=0), 4, cut_after=limit_steps(worlds, 20))
        assert (result.cut_episodes, result.mean_length, result.greatest_return) == (2, 11.5, 20.0)
    with wl.Simulation(race, 1, seed=0, config={"goal": 20}) as worlds:  # it ends by its own rules in step 20
        assert evaluate(worlds, make_actors(worlds, all=0), 2, cut_after=limit_steps(worlds, 20)).cut_episodes == 0
    with wl.Simulation(race, 1, seed=0, config={"goal": 1000, "max_steps": 5}) as worlds:
        assert limit_steps(worlds, 20) == 0
        assert evaluate(worlds, make_actors(worlds, all=0), 1).cut_episodes == 0


@pytest.mark.parametrize(("episodes", "worlds"), [(1, 1), (100, 100), (1031, 1024)])
def test_worlds_for_episodes(episodes, worlds):
    assert num_worlds_for(episodes) == worlds


@pytest.mark.parametrize(
    ("settings", "ages"),
    [
        ({"episodes": 2}, [0, 1, 2, 3, 4] * 2),
        ({"episodes": 9, "max_frames": 7}, [0, 1, 2, 3, 4, 0, 1]),
        ({"episodes": 9, "min_frames": 6}, [0, 1, 2, 3, 4] * 2),
        ({"episodes": 2, "every": 2}, [0, 2, 4] * 2),
        ({"episodes": 2, "every": 3}, [0, 3, 4] * 2),
        ({"episodes": 9, "every": 3, "max_frames": 4}, [0, 3, 4, 0]),
    ],
)
def test_pictures_show_episodes_from_start_to_end(race, settings, ages):
    drawn = replace(
        race, render=lambda simulation, world: np.full((2, 2, 3), simulation["Runner"].age.numpy()[world, 0], np.uint8)
    )
    with wl.Simulation(drawn, 1, seed=0, autoreset="disabled") as worlds:
        assert [
            int(picture[0, 0, 0]) for picture in record_frames(worlds, make_actors(worlds, all=0), **settings)
        ] == ages


def test_tiles_keep_the_last_image_until_all_have_ended(race):
    def draw(simulation, world):
        return np.full((1, 1, 3), simulation["Runner"].age.numpy()[world, 0], np.uint8)

    drawn = replace(race, render=draw)
    with wl.Simulation(drawn, 2, seed=0, autoreset="disabled", config={"goal": [2, 4]}) as worlds:
        frames = [frame[0, :, 0].tolist() for frame in record_frames(worlds, make_actors(worlds, all=0))]
        worlds.reset()
        sparse = [frame[0, :, 0].tolist() for frame in record_frames(worlds, make_actors(worlds, all=0), every=3)]
    assert frames == [[0, 0], [1, 1], [2, 2], [2, 3], [2, 4]]
    assert sparse == [[0, 0], [2, 3], [2, 4]]


def test_a_world_without_a_renderer_has_no_pictures(race):
    with (
        wl.Simulation(race, 1, seed=0, autoreset="disabled") as worlds,
        pytest.raises(InputError, match="has no renderer"),
    ):
        next(record_frames(worlds, make_actors(worlds, all=0)))
