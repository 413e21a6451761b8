"""Blackjack: draw cards to get closer to 21 than the dealer without exceeding it."""

import worldloom as wl
from worldloom.core.model.canvas import Canvas, Image, text_width


class Player(wl.Entity):
    points: int  # sum of the player's cards, aces as 1
    ace: bool  # whether the player has an ace
    cards: int  # number of the player's cards
    shown: int  # the dealer's open card, 1 to 10
    dealer_points: int  # sum of the dealer's cards, aces as 1
    dealer_ace: bool
    dealer_cards: int
    hit: wl.Action(wl.Discrete(2))  # 0 stick, 1 take a card
    # the player's sum, the dealer's open card, a usable ace
    sight: wl.Observation(wl.MultiDiscrete(32, 11, 2, as_tuple=True))
    reward: wl.Reward


class Table(wl.World):
    natural: wl.Config = False  # whether winning with a natural pays 1.5
    sab: wl.Config = True  # Sutton and Barto: a natural wins unless the dealer has one too; ignores `natural`


@wl.function
def value(points: int, ace: bool) -> int:
    """The best sum of a hand: one ace counts 11 if the sum stays at most 21."""
    return points + 10 if ace and points <= 11 else points


@wl.function
def score(points: int, ace: bool) -> int:
    """The final score of a hand: 0 beyond 21."""
    return 0 if value(points, ace) > 21 else value(points, ace)


@wl.function
def is_natural(points: int, ace: bool, cards: int) -> bool:
    """Whether a hand is a natural, an ace and a ten."""
    return cards == 2 and value(points, ace) == 21


@wl.system
def hit(player: Player, world: Table):
    if player.hit == 0:
        return
    card = min(world.integer(1, 14), 10)  # ten, jack, queen and king count 10
    player.points += card
    player.ace = player.ace or card == 1
    player.cards += 1
    if player.points > 21:
        player.reward = -1.0
        world.terminate()


@wl.system
def stick(player: Player, world: Table):
    if player.hit == 1:
        return
    while value(player.dealer_points, player.dealer_ace) < 17:
        card = min(world.integer(1, 14), 10)
        player.dealer_points += card
        player.dealer_ace = player.dealer_ace or card == 1
        player.dealer_cards += 1
    mine, theirs = score(player.points, player.ace), score(player.dealer_points, player.dealer_ace)
    player.reward = 1.0 if mine > theirs else -1.0 if mine < theirs else 0.0
    if is_natural(player.points, player.ace, player.cards):
        if world.sab:
            if not is_natural(player.dealer_points, player.dealer_ace, player.dealer_cards):
                player.reward = 1.0
        elif world.natural and mine > theirs:
            player.reward = 1.5
    world.terminate()


@wl.system
def deal(player: Player, world: Table):
    first, second = min(world.integer(1, 14), 10), min(world.integer(1, 14), 10)
    player.points, player.ace, player.cards = first + second, first == 1 or second == 1, 2
    shown, hidden = min(world.integer(1, 14), 10), min(world.integer(1, 14), 10)
    player.shown = shown
    player.dealer_points, player.dealer_ace, player.dealer_cards = shown + hidden, shown == 1 or hidden == 1, 2


@wl.system
def look(player: Player):
    player.sight = wl.vec3i(value(player.points, player.ace), player.shown, int(player.ace and player.points <= 11))


def draw(sim: wl.Simulation, world: int) -> Image:
    total, shown, usable = (int(number) for number in sim["Player"].sight.numpy()[world, 0])
    deck = world + int(sim.world.episode.numpy()[world])  # suits and face cards are decoration
    letters = "A" if shown == 1 else "JQK"[deck % 3] if shown == 10 else str(shown)
    green, white = (53, 122, 76), (245, 245, 240)
    canvas = Canvas(384, 376, green)
    canvas.text(24.0, 24.0, f"DEALER: {shown}", white, 3.0)
    for left, face in ((96.0, white), (208.0, (70, 90, 160))):
        canvas.rectangle(left, 60.0, 80.0, 120.0, (30, 60, 40))
        canvas.rectangle(left + 2.0, 62.0, 76.0, 116.0, face)
    color = (200, 40, 40) if deck % 4 in (1, 2) else (20, 20, 20)
    canvas.text(104.0, 70.0, letters, color, 3.0)
    _draw_suit(canvas, 136.0, 128.0, deck % 4, color)
    for stripe in range(5):
        canvas.rectangle(218.0, 74.0 + 21.0 * stripe, 60.0, 8.0, (140, 160, 215))
    canvas.text(24.0, 208.0, "PLAYER", white, 3.0)
    canvas.text((384.0 - text_width(str(total), 10.0)) / 2.0, 244.0, str(total), white, 10.0)
    if usable:
        canvas.text((384.0 - text_width("USABLE ACE", 3.0)) / 2.0, 336.0, "USABLE ACE", white, 3.0)
    return canvas.image()


def _draw_suit(canvas: Canvas, x: float, y: float, suit: int, color: tuple[int, int, int]) -> None:
    """Clubs, diamonds, hearts or spades around (x, y)."""
    if suit == 0:
        for left, top in ((0.0, -14.0), (-12.0, 4.0), (12.0, 4.0)):
            canvas.circle(x + left, y + top, 11.0, color)
    elif suit == 1:
        canvas.polygon([(x, y - 26.0), (x + 19.0, y), (x, y + 26.0), (x - 19.0, y)], color)
        return
    else:
        point = 24.0 if suit == 2 else -24.0
        for left in (-10.0, 10.0):
            canvas.circle(x + left, y - point / 4.0, 11.0, color)
        canvas.polygon([(x - 20.0, y - point / 12.0), (x, y + point), (x + 20.0, y - point / 12.0)], color)
    if suit != 2:
        canvas.polygon([(x, y - 4.0), (x + 9.0, y + 24.0), (x - 9.0, y + 24.0)], color)


BLACKJACK = wl.register(
    "Blackjack-v1", world=Table, entities={Player: 1}, reset=[deal], step=[hit, stick], observe=[look], render=draw
)
