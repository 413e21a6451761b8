"""Blackjack is Gymnasium's: the same episodes with the same cards, and cards as likely."""

from __future__ import annotations

from collections import Counter

import gymnasium
import numpy as np
from chi_square import Array, assert_as_likely

import worldloom as wl

EPISODES = 1000


class Script:
    """Deals given cards, in the place of Gymnasium's random numbers."""

    def __init__(self, cards: list[int]) -> None:
        self.cards = list(cards)

    def choice(self, deck: list[int]) -> int:
        return self.cards.pop(0)


def hand_sum(points: int, ace: bool) -> int:
    return points + 10 if ace and points <= 11 else points


def dealers_cards(points: int, ace: bool, total: int, count: int) -> list[int] | None:
    """Cards that a dealer who draws up to 17 may draw to come from ``points`` to ``total`` with ``count`` cards."""
    if hand_sum(points, ace) >= 17:
        return [] if (points, count) == (total, 0) else None
    for card in range(1, 11) if count else ():
        rest = dealers_cards(points + card, ace or card == 1, total, count - 1)
        if rest is not None:
            return [card, *rest]
    return None


def split(points: int, ace: bool) -> list[int]:
    """Two cards with these points."""
    first = 1 if ace else max(2, points - 10)
    return [first, points - first]


def test_blackjack_given_the_cards() -> None:
    """All four sets of rules, one per world: what Gymnasium says to the cards that our worlds dealt."""
    worlds = 4 * EPISODES
    sab, natural = np.arange(worlds) % 2 == 0, np.arange(worlds) // 2 % 2 == 0
    sim = wl.Simulation(
        "Blackjack-v1", worlds, "cpu", seed=4, autoreset="disabled", config={"sab": sab, "natural": natural}
    )
    player = sim["Player"]

    def cards() -> dict[str, list]:
        names = ("points", "ace", "cards", "shown", "dealer_points", "dealer_ace", "dealer_cards")
        return {n: player[n].numpy()[:, 0].tolist() for n in names}

    rng = np.random.default_rng(0)
    envs = [
        gymnasium.make("Blackjack-v1", disable_env_checker=True, sab=bool(s), natural=bool(n)).unwrapped
        for s, n in zip(sab, natural, strict=True)
    ]
    before = cards()
    for world, env in enumerate(envs):
        env.player = split(before["points"][world], before["ace"][world])
        env.dealer = [before["shown"][world], before["dealer_points"][world] - before["shown"][world]]
        assert env._get_obs() == tuple(player.sight.numpy()[world, 0].tolist())
    running, rewards = set(range(worlds)), Counter()
    for _ in range(25):
        action = (rng.random(worlds) < 0.6).astype(np.int32)
        sim.step(action)
        after = cards()
        sight, reward, terminated = (
            player.sight.numpy()[:, 0].tolist(),
            player.reward.numpy()[:, 0].tolist(),
            sim.terminated.numpy().tolist(),
        )
        for world in sorted(running):
            env = envs[world]
            if action[world]:
                drawn = [after["points"][world] - before["points"][world]]
            else:
                total, more = (
                    after["dealer_points"][world],
                    after["dealer_cards"][world] - before["dealer_cards"][world],
                )
                found = dealers_cards(before["dealer_points"][world], before["dealer_ace"][world], total, more)
                assert found is not None, (world, before["dealer_points"][world], after["dealer_points"][world])
                drawn = found
            env._np_random = Script(drawn)
            seen, points, end, cut, _ = env.step(int(action[world]))
            assert env._np_random.cards == [] and not cut
            assert (tuple(sight[world]), reward[world], terminated[world]) == (seen, points, end), (
                world,
                env.player,
                env.dealer,
            )
            if end:
                running.discard(world)
                rewards[points] += 1
        before = after
    assert not running and set(rewards) == {-1.0, 0.0, 1.0, 1.5}


def test_blackjack_deals_every_card_as_often() -> None:
    worlds = 50_000
    sim = wl.Simulation("Blackjack-v1", worlds, "cpu", seed=4, autoreset="disabled")
    deck = np.bincount([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10], minlength=11)[1:] / 13.0
    sums: Counter = Counter()
    for a in range(1, 11):
        for b in range(1, 11):
            sums[hand_sum(a + b, 1 in (a, b))] += deck[a - 1] * deck[b - 1]
    shown = np.bincount(sim["Player"].shown.numpy()[:, 0], minlength=11)[1:]
    dealt = Counter(sim["Player"].sight.numpy()[:, 0, 0].tolist())
    assert_as_likely(
        [shown, np.array([dealt[s] for s in sums])], [worlds * deck, worlds * np.array(list(sums.values()))]
    )
    before = sim["Player"].points.numpy()[:, 0].copy()
    sim.step(np.ones(worlds, np.int32))
    assert_as_likely([np.bincount(sim["Player"].points.numpy()[:, 0] - before, minlength=11)[1:]], [worlds * deck])


def test_blackjacks_dealer_ends_as_often_on_every_sum() -> None:
    """For each card that the dealer may show, against the distribution that the rules give."""
    worlds = 50_000
    sim = wl.Simulation("Blackjack-v1", worlds, "cpu", seed=9, autoreset="disabled")
    shown = sim["Player"].shown.numpy()[:, 0].copy()
    sim.step(np.zeros(worlds, np.int32))
    points, ace = sim["Player"].dealer_points.numpy()[:, 0], sim["Player"].dealer_ace.numpy()[:, 0]
    ends = np.minimum(np.where(ace & (points <= 11), points + 10, points), 22)

    def ending(points: int, ace: bool, cards: int, chance: float, into: Array) -> Array:
        if cards >= 2 and hand_sum(points, ace) >= 17:
            into[min(hand_sum(points, ace), 22) - 17] += chance
            return into
        for card in range(1, 14):
            ending(points + min(card, 10), ace or card == 1, cards + 1, chance / 13.0, into)
        return into

    found = [np.bincount(ends[shown == card] - 17, minlength=6) for card in range(1, 11)]
    expected = [found[card - 1].sum() * ending(card, card == 1, 1, 1.0, np.zeros(6)) for card in range(1, 11)]
    assert_as_likely(found, expected)
