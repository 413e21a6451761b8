"""Whole games against the Hanabi Learning Environment, step by step, with the same deck and the same moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hanabi_players import PLAYERS, random_player
from thorough import THOROUGH

import worldloom as wl
from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes
from worldloom.envs.hanabi.view import game_text, view_game

pytest.importorskip(
    "hanabi_learning_environment",
    reason="needs CMAKE_POLICY_VERSION_MINIMUM=3.5 pip install hanabi-learning-environment==0.0.4",
)

from hanabi_reference import ReferenceGame, ReferenceGames


@dataclass(frozen=True)
class Case:
    """Games to compare: their id, the number for each player in ``make test``, and that in ``make test-thorough``."""

    id: str
    games: dict[str, int] = field(default_factory=lambda: {"random": 1, "strong": 1})
    thorough: int = 2000


CASES = [
    Case("Hanabi-v0"),
    Case("Hanabi-v0:players=3", {"random": 1}),
    Case("Hanabi-v0:players=4", {"strong": 0}),
    Case("Hanabi-v0:players=5", {"random": 1}),
    Case("HanabiSmall-v0", {"random": 3, "strong": 3}),
    Case("HanabiVerySmall-v0", {"random": 3, "strong": 3}),
    Case("HanabiSmall-v0:players=5", {"strong": 1}),
    Case("Hanabi-v0:observation_type=minimal", {"random": 1}, 200),
    Case("Hanabi-v0:players=3,observation_type=minimal,random_start_player=true", {"random": 1}, 200),
    Case("Hanabi-v0:players=3,random_start_player=true,agents=current", {"random": 2}, 200),
    Case("Hanabi-v0:players=2,colors=3,ranks=4,hand_size=7,max_information_tokens=5", {"strong": 1}, 200),
    Case("HanabiSmall-v0:players=3,colors=5,ranks=1,hand_size=5", {"random": 2, "strong": 2}, 200),
    Case("HanabiSmall-v0:players=2,colors=1,ranks=2,max_life_tokens=64", {"random": 3}, 200),
    Case("HanabiSmall-v0:dtype=float32,max_information_tokens=64", {"random": 1}, 200),
]
CHOSEN = [
    (case, player, case.thorough if THOROUGH else games)
    for case in CASES
    for player, games in (dict.fromkeys(PLAYERS, 0) | case.games).items()
    if THOROUGH or games > 0
]


def reference(settings: HanabiSettings) -> ReferenceGames:
    names = ("players", "colors", "ranks", "max_information_tokens", "max_life_tokens", "random_start_player")
    return ReferenceGames(
        hand_size=Sizes(settings).hand,
        observation_type=int(settings.observation_type == "canonical"),
        **{name: getattr(settings, name) for name in names},
    )


class Match:
    """The same games in worldloom and in the reference. Finished ones start again until ``games`` have ended."""

    def __init__(self, id: str, player: str, games: int, device: str, worlds: int) -> None:
        self.settings = settings_of(id)
        self.sim = wl.Simulation(id, worlds, device, seed=5, autoreset="disabled")
        self.reference, self.player, self.games = reference(self.settings), PLAYERS[player], games
        self.rng = np.random.default_rng(3)
        self.scores: list[int] = []
        self.states = [self.start(world) for world in range(worlds)]

    def start(self, world: int) -> ReferenceGame:
        table = self.sim.world
        return self.reference.start(table.deck.numpy()[world], int(table.turn.numpy()[world]))

    def compare(self, world: int) -> None:
        """Players, legal moves, observations and text of one game."""
        state, agents = self.states[world], self.sim["Player"]
        turn = int(self.sim.world.turn.numpy()[world])
        assert turn == state.turn
        current, legal = self.settings.agents == "current", state.legal()
        players = [turn] if current else range(self.settings.players)
        no_op = [] if current else [[player != turn] for player in players]
        masks = [legal & (player == turn) for player in players]
        assert (agents.action_mask.numpy()[world] == (masks if current else np.hstack([masks, no_op]))).all()
        assert (agents.observation.numpy()[world] == [state.observe(player) for player in players]).all()

    def moves(self) -> np.ndarray[Any, Any]:
        """A move of every game for the player to move; 0 for all others, whose actions have no effect."""
        actions = np.zeros(self.sim["Player"].move.shape, np.int32)
        masks, turns = self.sim["Player"].action_mask.numpy(), self.sim.world.turn.numpy()
        moves = Sizes(self.settings).moves
        for world in range(len(actions)):
            agent = 0 if self.settings.agents == "current" else turns[world]
            game = view_game(self.sim, world) if self.player is not random_player else None
            actions[world, agent] = self.player(game, masks[world, agent, :moves], self.settings, self.rng)
        return actions

    def step(self) -> None:
        actions = self.moves()
        moves = actions.max(axis=1)  # the others have 0
        self.sim.step(actions)
        rewards, ended = self.sim["Player"].reward.numpy(), self.sim.terminated.numpy().copy()
        for world, state in enumerate(self.states):
            reward, over = state.step(int(moves[world]))
            assert (rewards[world] == reward).all() and ended[world] == over
            self.compare(world)
            if over:
                self.scores.append(int(state.state.score()))
                assert self.sim.world.score.numpy()[world] == self.scores[-1]
        if ended.any():
            self.sim.reset(ended)
            for world in np.flatnonzero(ended):
                self.states[world] = self.start(int(world))
                self.compare(int(world))

    def run(self) -> None:
        for world in range(len(self.states)):
            self.compare(world)
        while len(self.scores) < self.games:
            self.step()
        assert self.sim.errors() == []


@pytest.mark.parametrize(("case", "player", "games"), CHOSEN, ids=lambda value: getattr(value, "id", str(value)))
def test_games_equal_the_learning_environment(case: Case, player: str, games: int) -> None:
    match = Match(case.id, player, games, "cpu" if THOROUGH else "python", 100 if THOROUGH else 1)
    match.run()
    if THOROUGH and player == "strong" and case.id == "Hanabi-v0":
        assert np.mean(match.scores) > 20.0 and max(match.scores) == 25


@pytest.mark.usefixtures("quick_compilation")
def test_compiled_games_equal_the_learning_environment() -> None:
    match = Match("Hanabi-v0:players=4", "strong", 20, "cpu", 10)
    match.run()
    assert max(match.scores) > 10


def test_text_equals_the_learning_environments() -> None:
    """All but the discards, which are printed in another order."""
    match = Match("HanabiSmall-v0", "random", 1, "python", 1)
    for _ in range(4):
        expected, discards = str(match.states[0].state).split("Discards:")
        shown, own_discards = game_text(match.sim).split("Discards:")
        assert shown == expected and sorted(own_discards.split()) == sorted(discards.split())
        match.step()
