"""Overcooked and overcooked-ai in lockstep: both get the same actions, and their states are compared in every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from references.overcooked import Cook, Original

import worldloom as wl
from worldloom.envs.overcooked.recipes import INFINITE_BONUS, recipe_index
from worldloom.envs.overcooked.tables import object_code

PLAYER_STATE = ("cell", "facing", "held")
ROOM_STATE = ("objects", "soups", "ticks")
MOST_VALUABLE = 47.0 * INFINITE_BONUS
"""A delivery with the infinite bonus of tutorial_3."""

Observe = Callable[[Original, int], np.ndarray]


def planes(game: Original, horizon: int) -> np.ndarray:
    """The encoding of all players: the package's for two, else the general one."""
    return game.planes(horizon) if len(game.state.players) == 2 else game.general_planes(horizon)


def features(game: Original, horizon: int) -> np.ndarray:
    return game.features()


class Lockstep:
    """Games of overcooked-ai in one layout, and as many worlds, which get the same actions.

    Args:
        sim: The simulation, at the start of an episode; one world per game.
        games: The games, all of one layout.
        horizon: Steps of an episode.
        rng: Draws the actions.
        cooks: Whether players cook and serve; else they act at random.
    """

    def __init__(
        self, sim: wl.Simulation, games: Sequence[Original], horizon: int, rng: np.random.Generator, cooks: bool = False
    ) -> None:
        self.sim, self.games, self.horizon, self.rng = sim, games, horizon, rng
        self.size, self.clock, self.compared = sim.definition.world.size, 0, 0
        self.counts: Counter[str] = Counter()
        self.pots = {cell: index for index, cell in enumerate(games[0].mdp.get_pot_locations())}
        self.players = len(games[0].state.players)
        self.cooks = [[Cook(id, rng) for id in range(self.players)] for _ in games] if cooks else []

    @property
    def where(self) -> str:
        return f"{self.games[0].mdp.layout_name}, step {self.clock}"

    def check_state(self) -> None:
        """Players, objects on counters and pots are equal in all games."""
        count, size = len(self.games), self.size
        expected: dict[str, Any] = {name: np.zeros((count, self.players), int) for name in PLAYER_STATE}
        expected["objects"] = np.zeros((count, size.cells), np.uint8)
        expected["soups"] = np.zeros((count, size.pots), np.uint8)
        expected["ticks"] = np.full((count, size.pots), -1, np.int16)
        for world, game in enumerate(self.games):
            for id, (x, y, facing, held) in enumerate(game.players()):
                expected["cell"][world, id] = x * size.height + y
                expected["facing"][world, id] = facing
                expected["held"][world, id] = object_code(held)
            for (x, y), (thing, tick) in game.objects().items():
                pot = self.pots.get((x, y))
                if pot is None:
                    expected["objects"][world, x * size.height + y] = object_code(thing)
                else:
                    expected["soups"][world, pot], expected["ticks"][world, pot] = recipe_index(thing), tick
        for names, table in ((PLAYER_STATE, self.sim["Player"]), (ROOM_STATE, self.sim.world)):
            for name in names:
                found = table[name].numpy()
                np.testing.assert_array_equal(found, expected[name], err_msg=f"{self.where}: {name}")

    def check_observations(self, sim: wl.Simulation, observe: Observe, every: int = 1) -> None:
        """Observations are equal where the layout is, and 0 outside; in every ``every``-th step, by turns of games."""
        chosen = range(-self.clock % every, len(self.games), every)
        seen = sim["Player"].sight.numpy()[chosen]
        expected = np.zeros_like(seen)
        for place, world in enumerate(chosen):
            own = observe(self.games[world], self.horizon)
            expected[(place, *map(slice, own.shape))] = own
        np.testing.assert_array_equal(seen, expected, err_msg=f"{self.where}: observations of games {chosen}")
        self.compared += len(chosen)

    def actions(self) -> np.ndarray:
        """Actions of all players, shape (worlds, players)."""
        if not self.cooks:
            return self.rng.integers(0, 6, (len(self.games), self.players)).astype(np.int32)
        pairs = zip(self.cooks, self.games, strict=True)
        return np.array([[cook.act(game) for cook in cooks] for cooks, game in pairs], np.int32)

    def step(self, actions: np.ndarray) -> None:
        """Step all games and worlds; rewards and ends are equal."""
        results = [game.step(acts) for game, acts in zip(self.games, actions.tolist(), strict=True)]
        sparse = np.minimum([result[0] for result in results], MOST_VALUABLE)
        shaped = np.array([result[1] for result in results])
        self.sim.step(actions)
        self.clock += 1
        player, ended = self.sim["Player"], self.clock == self.horizon
        expected = sparse.sum(axis=1, keepdims=True) + shaped
        np.testing.assert_array_equal(player.reward.numpy(), expected, err_msg=self.where)
        assert (self.sim.truncated.numpy() == ended).all() and not self.sim.terminated.numpy().any(), self.where
        if ended:
            for game in self.games:
                game.reset()
            self.clock = 0
        else:
            np.testing.assert_array_equal(player.sparse.numpy(), sparse, err_msg=self.where)
            np.testing.assert_array_equal(player.shaped.numpy(), shaped, err_msg=self.where)
            self.counts["collision"] += int((player.target.numpy() != player.cell.numpy()).any(axis=1).sum())

    def all_counts(self) -> Counter[str]:
        """Events of all games by name."""
        return sum((Counter(game.counts) for game in self.games), Counter(self.counts))
