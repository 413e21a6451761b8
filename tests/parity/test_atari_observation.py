"""Observations made of ALE's raw frames, against those that EnvPool and ale-py's vector environment give for the same actions.

Both differ in how they begin a game, in how a stack of pictures begins, and in what they show of a game that ends within a step. The two classes below say how.
"""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from opencv_reference import assert_environments

from worldloom.atari.frames.observe import FrameSelection, Look, Observer
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format

ale_py = pytest.importorskip("ale_py", reason="ale-py has the ROMs")
CPU, SKIP, NOOP, FIRE = wp.get_device("cpu"), 4, 0, 1


class Console:
    """One game of ALE, shown by an Observer.

    Args:
        game: Its ROM.
        look: How it is shown.
        most_lines: Lines of the picture that are shown at most.
    """

    most_lines = 250

    def __init__(self, game: str, look: Look) -> None:
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path(game))
        self.actions = [action.value for action in self.ale.getMinimalActionSet()]
        lines = self.ale.getScreenDims()[0]
        television = Format.PAL if lines == 250 else Format.NTSC
        palette = (greys if look.colour == "grey" else colours)(television)
        self.observer = Observer(look, [min(lines, self.most_lines)], [palette], CPU)
        self.frames = np.zeros((1, 2, lines, 160), np.uint8)
        self.pictures = wp.array(self.frames, device=CPU, copy=False)
        self.screen = wp.zeros((1, int(np.prod(self.observer.shape))), dtype=wp.uint8, device=CPU)

    def keep(self, place: int) -> None:
        self.frames[0, place] = self.ale.getScreen()

    def look(self, show: FrameSelection, fresh: bool = False) -> np.ndarray:
        chosen, begins = (
            wp.array([value], dtype=kind, device=CPU) for value, kind in ((show, wp.int32), (fresh, wp.bool))
        )
        self.observer.launch(self.pictures, wp.zeros(1, dtype=wp.int32, device=CPU), self.screen, chosen, begins)
        return self.screen.numpy()[0].reshape(self.observer.shape)


class LikeEnvPool(Console):
    """A game begins with a frame of FIRE, or one without anything. A frame is shown though the game ends with it."""

    most_lines = 210

    def reset(self) -> np.ndarray:
        self.ale.reset_game()
        self.ale.act(FIRE if FIRE in self.actions else NOOP)
        self.keep(0)
        return self.look(FrameSelection.FIRST, fresh=True)

    def step(self, choice: int) -> np.ndarray:
        for frame in range(SKIP):
            self.ale.act(self.actions[choice])
            if frame >= SKIP - 2:
                self.keep(frame - SKIP + 2)
            if self.ale.game_over():
                break
        return self.look(
            FrameSelection.BRIGHTER
            if frame == SKIP - 1
            else FrameSelection.FIRST
            if frame == SKIP - 2
            else FrameSelection.SAME
        )


class LikeVector(Console):
    """A game begins with a frame of FIRE, or at once. A frame with which the game ends is not shown.

    Where that is the last one of a step, the frame before it is added to what was shown already; no game here ends so.
    """

    def reset(self) -> np.ndarray:
        self.ale.reset_game()
        if FIRE in self.actions:
            self.ale.act(FIRE)
        self.keep(0)
        return self.look(FrameSelection.FIRST, fresh=True)

    def step(self, choice: int) -> np.ndarray:
        for frame in range(SKIP):
            self.ale.act(self.actions[choice])
            if self.ale.game_over():
                assert frame < SKIP - 1
                return self.look(FrameSelection.SAME)
            if frame >= SKIP - 2:
                self.keep(frame - SKIP + 2)
        return self.look(FrameSelection.BRIGHTER)


def play(console: LikeEnvPool | LikeVector, env, steps: int, seed: int, endings: int = 0) -> None:
    """The same actions in both; the step behind an end begins the next game."""
    rng, over, ended = np.random.default_rng(seed), False, 0
    observations, _ = env.reset()
    assert_environments(console.reset(), observations[0], "at the beginning")
    for step in range(steps):
        choice = int(rng.integers(len(console.actions)))
        mine = console.reset() if over else console.step(choice)
        observations, _, terminated, truncated, _ = env.step(np.array([choice], np.int32))
        assert not truncated[0]
        assert terminated[0] == console.ale.game_over()
        assert_environments(mine, observations[0], f"step {step}")
        over = bool(terminated[0])
        ended += over
    assert ended >= endings


@pytest.mark.parametrize(
    ("game", "id", "look", "steps"),
    [
        ("pong", "Pong-v5", Look(), 120),
        ("breakout", "Breakout-v5", Look(), 360),
        ("air_raid", "AirRaid-v5", Look(), 60),
        ("carnival", "Carnival-v5", Look(stack=2, colour="planes"), 60),
        ("pong", "Pong-v5", Look(area=False, stack=1), 60),
    ],
)
def test_envpool(game: str, id: str, look: Look, steps: int):
    envpool = pytest.importorskip("envpool", reason="EnvPool is what observations are compared with")
    settings = {"stack_num": look.stack, "gray_scale": look.colour == "grey", "use_inter_area_resize": look.area}
    env = envpool.make_gymnasium(id, num_envs=1, noop_max=1, **settings)
    play(LikeEnvPool(game, look), env, steps, seed=0, endings=2 if game == "breakout" else 0)


@pytest.mark.parametrize(
    ("game", "look", "steps"),
    [
        ("pong", Look(older="zero"), 120),
        ("breakout", Look(older="zero"), 360),
        ("air_raid", Look(stack=2, colour="pixels", older="zero"), 60),
    ],
)
def test_vector_environment_of_ale(game: str, look: Look, steps: int):
    from ale_py.vector_env import AtariVectorEnv

    settings = {"stack_num": look.stack, "grayscale": look.colour == "grey"}
    env = AtariVectorEnv(game, num_envs=1, num_threads=1, noop_max=0, **settings)
    play(LikeVector(game, look), env, steps, seed=0, endings=2 if game == "breakout" else 0)
    env.close()
