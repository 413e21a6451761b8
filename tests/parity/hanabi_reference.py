"""Games of the Hanabi Learning Environment with the deck, the first player and the moves of another implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
from hanabi_learning_environment import pyhanabi

Array = np.ndarray[Any, Any]


class ReferenceGames:
    """Games with the same parameters.

    The package has no function that deals a chosen card, so the moves that deal each card are taken from the history
    of random games.

    Args:
        parameters: Those of ``pyhanabi.HanabiGame``.
    """

    def __init__(self, **parameters: Any) -> None:
        self.game = pyhanabi.HanabiGame({"seed": 1, **parameters})
        self.encoder = pyhanabi.ObservationEncoder(self.game)
        self.players = self.game.num_players()
        self._deals = self._find_deals()

    def _find_deals(self) -> dict[int, Any]:
        """The move that deals each card, by card."""
        deals: dict[int, Any] = {}
        while len(deals) < self.game.num_colors() * self.game.num_ranks():
            state = self.game.new_initial_state()
            while state.cur_player() == pyhanabi.CHANCE_PLAYER_ID:
                state.deal_random_card()
            for move in (item.move() for item in state.move_history()):
                deals[move.color() * self.game.num_ranks() + move.rank()] = move
        return deals

    def start(self, deck: Array, first: int) -> ReferenceGame:
        """A game with the cards of ``deck`` in their order, in which player ``first`` has the first turn."""
        while True:
            game = ReferenceGame(self, deck)
            if game.turn == first:
                return game

    def deal(self, state: Any, card: int) -> None:
        pyhanabi.lib.StateApplyMove(state._state, self._deals[card].c_move)


class ReferenceGame:
    """One game."""

    def __init__(self, games: ReferenceGames, deck: Array) -> None:
        self.games, self.state = games, games.game.new_initial_state()
        self._deck = iter(deck.tolist())
        self._deal()

    def _deal(self) -> None:
        while self.state.cur_player() == pyhanabi.CHANCE_PLAYER_ID:
            self.games.deal(self.state, next(self._deck))

    @property
    def turn(self) -> int:
        return int(self.state.cur_player())

    def step(self, move: int) -> tuple[int, bool]:
        """Make a move. Returns the change of the score, and whether the game has ended."""
        before = self.state.score()
        self.state.apply_move(self.games.game.get_move(move))
        self._deal()
        return self.state.score() - before, self.state.is_terminal()

    def legal(self) -> Array:
        """Whether each move is legal for the player to move."""
        game, moves = self.games.game, pyhanabi.lib.StateLegalMoves(self.state._state)
        legal, move = np.zeros(game.max_moves(), bool), pyhanabi.ffi.new("pyhanabi_move_t*")
        for place in range(pyhanabi.lib.NumMoves(moves)):
            pyhanabi.lib.GetMove(moves, place, move)
            legal[pyhanabi.lib.GetMoveUid(game.c_game, move)] = True
            pyhanabi.lib.DeleteMove(move)
        pyhanabi.lib.DeleteMoveList(moves)
        return legal

    def observe(self, player: int) -> Array:
        """The encoded observation of one player."""
        observation = self.state.observation(player)
        text = pyhanabi.lib.EncodeObservation(self.games.encoder._encoder, observation.observation())
        encoded = np.frombuffer(pyhanabi.ffi.string(text), np.uint8)[::2] - ord("0")
        pyhanabi.lib.DeleteString(text)
        return encoded
