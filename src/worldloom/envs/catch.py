"""Catch: move a paddle under a falling ball."""

from typing import Any

import worldloom as wl
from worldloom import clamp
from worldloom.core.model.canvas import Canvas, Image


def board(height: int = 10, width: int = 5, id: str = "CatchOf-v0", *, replace: bool = False) -> wl.Definition:
    """Register the game on a board of ``height`` rows and ``width`` columns as ``id`` and return its definition.

    ``replace=True`` replaces a game of this id that has another board.
    """

    class Paddle(wl.Entity):
        x: wl.Between(int, 0, width - 1)  # column of the paddle in the lowest row
        ball_x: wl.Between(int, 0, width - 1)
        ball_y: wl.Between(int, 0, 2**31 - 1)  # row of the ball, 0 at the top
        move: wl.Action(wl.Discrete(3))  # 0 left, 1 stay, 2 right
        sight: wl.Observation(height, width, low=0.0, high=1.0)  # 1 at the ball and at the paddle
        reward: wl.Reward

    class Board(wl.World):
        pass

    @wl.system
    def fall(paddle: Paddle, world: Board):
        paddle.x = clamp(paddle.x + paddle.move - 1, 0, width - 1)
        paddle.ball_y += 1
        if paddle.ball_y >= height - 1:
            paddle.reward = 1.0 if paddle.x == paddle.ball_x else -1.0
            world.terminate()

    @wl.system
    def place(paddle: Paddle, world: Board):
        paddle.x = width // 2
        paddle.ball_x = world.integer(width)
        paddle.ball_y = 0

    @wl.system
    def look(paddle: Paddle):
        for row in range(height):
            for column in range(width):
                paddle.sight[row, column] = 0.0
        paddle.sight[min(paddle.ball_y, height - 1), paddle.ball_x] = 1.0
        paddle.sight[height - 1, paddle.x] = 1.0

    systems: dict[str, list[Any]] = {"reset": [place], "step": [fall], "observe": [look]}
    return wl.register(id, world=Board, entities={Paddle: 1}, **systems, render=draw, replace=replace)


def draw(sim: wl.Simulation, world: int) -> Image:
    paddle = sim["Paddle"]
    height, width = paddle.sight.shape[2:]
    size = 40.0
    canvas = Canvas(int(width * size), int(height * size), (24, 28, 40))
    for row in range(height):
        for column in range(width):
            canvas.rectangle(column * size + 1.0, row * size + 1.0, size - 2.0, size - 2.0, (38, 44, 62))
    x, ball_x, ball_y = (int(column.numpy()[world, 0]) for column in (paddle.x, paddle.ball_x, paddle.ball_y))
    canvas.rectangle(x * size + 3.0, (height - 0.4) * size, size - 6.0, 0.3 * size, (120, 190, 255))
    canvas.circle((ball_x + 0.5) * size, (ball_y + 0.5) * size, 0.3 * size, (255, 200, 80))
    return canvas.image()


CATCH = board(10, 5, "Catch-v0")
