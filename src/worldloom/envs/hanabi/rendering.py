"""A picture of a game: hands with hints, piles, discards and tokens."""

from __future__ import annotations

import worldloom as wl
from worldloom.core.model.canvas import Canvas, Image
from worldloom.envs.hanabi.view import COLOR_LETTERS, GameView, HeldCard, view_game

TABLE, EDGE, LIGHT, DIM = (40, 62, 54), (20, 30, 28), (240, 240, 232), (120, 140, 132)
COLORS = {"R": (214, 69, 65), "Y": (236, 190, 60), "G": (88, 168, 92), "W": (232, 232, 226), "B": (76, 118, 212)}
CARD_WIDTH, CARD_HEIGHT, GAP = 56.0, 72.0, 10.0
MARGIN, LINE = 20.0, 24.0


def draw(sim: wl.Simulation, world: int) -> Image:
    """A picture of one world. Below each card are the hints that its holder got."""
    game = view_game(sim, world)
    row = CARD_HEIGHT + 2.0 * LINE
    columns = max(game.hand_size, len(game.fireworks)) * (CARD_WIDTH + GAP)
    width = int(max(2.0 * MARGIN + 120.0 + columns, 460.0))
    height = int(2.0 * MARGIN + 3.0 * LINE + row * (len(game.hands) + 1) + LINE * (len(game.fireworks) + 1))
    canvas = Canvas(width, height, TABLE)
    canvas.text(MARGIN, MARGIN, f"SCORE {game.score}   DECK {game.deck}", LIGHT, 2.0)
    canvas.text(MARGIN, MARGIN + LINE, f"INFORMATION {game.information}   LIVES {game.lives}", LIGHT, 2.0)
    canvas.text(MARGIN, MARGIN + 2.0 * LINE, game.last_move.upper(), COLORS["Y"], 2.0)
    top = MARGIN + 3.5 * LINE
    canvas.text(MARGIN, top + CARD_HEIGHT / 2.0, "PILES", LIGHT, 2.0)
    for place, pile in enumerate(game.fireworks):
        _draw_card(canvas, place, top, COLOR_LETTERS[place], str(pile) if pile > 0 else "", empty=pile == 0)
    for player, cards in enumerate(game.hands):
        top += row
        name = f"PLAYER {player}"
        canvas.text(MARGIN, top + CARD_HEIGHT / 2.0, name, LIGHT if player == game.turn else DIM, 2.0)
        if player == game.turn:
            canvas.circle(MARGIN / 2.0, top + CARD_HEIGHT / 2.0 + 7.0, 5.0, COLORS["Y"])
        for place, card in enumerate(cards):
            _draw_held(canvas, place, top, card)
    _draw_discards(canvas, game, top + row)
    return canvas.image()


def _left(place: int) -> float:
    return MARGIN + 120.0 + place * (CARD_WIDTH + GAP)


def _draw_card(canvas: Canvas, place: int, top: float, color: str, label: str, empty: bool = False) -> None:
    canvas.rectangle(_left(place), top, CARD_WIDTH, CARD_HEIGHT, EDGE)
    inner = (CARD_WIDTH - 4.0, CARD_HEIGHT - 4.0)
    canvas.rectangle(_left(place) + 2.0, top + 2.0, *inner, TABLE if empty else COLORS[color])
    canvas.text(_left(place) + 20.0, top + 24.0, label or color, COLORS[color] if empty else EDGE, 4.0)


def _draw_held(canvas: Canvas, place: int, top: float, card: HeldCard) -> None:
    _draw_card(canvas, place, top, card.name[0], card.name[1])
    if card.hinted != "XX":
        canvas.text(_left(place) + 16.0, top + CARD_HEIGHT + 6.0, card.hinted.replace("X", "-"), LIGHT, 2.0)


def _draw_discards(canvas: Canvas, game: GameView, top: float) -> None:
    canvas.text(MARGIN, top, "DISCARDS", LIGHT, 2.0)
    for line in range(len(game.fireworks)):
        letter = COLOR_LETTERS[line]
        ranks = " ".join(name[1] for name in game.discards if name[0] == letter)
        canvas.text(_left(0), top + line * LINE, f"{letter} {ranks}".rstrip(), COLORS[letter], 2.0)
