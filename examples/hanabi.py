"""Hanabi with PettingZoo, one agent at a time: players who act on hints, and random ones."""

import numpy as np

from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import Sizes
from worldloom.envs.hanabi.view import COLOR_LETTERS, HeldCard, game_text, view_game
from worldloom.vector import WorldAecEnv

rng = np.random.default_rng(0)
env = WorldAecEnv("HanabiSmall-v0", device="python")  # two colours, hands of two cards, one life
sizes = Sizes(settings_of("HanabiSmall-v0"))


def at_random(allowed: np.ndarray) -> int:
    return int(rng.choice(allowed))


def fits(card: HeldCard, piles: list[int]) -> bool:
    """Whether the holder of a card knows that it fits: its rank was hinted, and each plausible colour needs it."""
    ranks = {piles[COLOR_LETTERS.index(letter)] + 1 for letter in card.plausible if letter in COLOR_LETTERS}
    return card.hinted[1] != "X" and ranks == {int(card.hinted[1])}


def by_hints(allowed: np.ndarray) -> int:
    """Play a card that is known to fit; else hint the next fact about one that fits; else discard the oldest."""
    game = view_game(env.simulation, 0)
    for place, card in enumerate(game.hands[game.turn]):
        if fits(card, game.fireworks):
            return sizes.plays + place
    for card in game.hands[1 - game.turn]:
        color, rank = COLOR_LETTERS.index(card.name[0]), int(card.name[1]) - 1
        hint = sizes.rank_hints + rank if card.hinted[1] == "X" else sizes.color_hints + color
        if rank == game.fireworks[color] and not fits(card, game.fireworks) and hint in allowed:
            return hint
    return int(allowed[0] if allowed[0] < sizes.plays else allowed[-1])  # a discard, or any hint with all tokens


for policy in (at_random, by_hints):
    scores = []
    for seed in range(5):
        env.reset(seed=seed)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else policy(np.flatnonzero(observation["action_mask"])))
        scores.append(int(env.simulation.world.score.numpy()[0]))
    print(f"{policy.__name__}: a mean score of {np.mean(scores):.1f} of 10")
print(game_text(env.simulation))
