"""Observations of ALE's raw frames, against those of EnvPool and ale-py's vector environment for the same actions.

The two differ in the start of a game, the initial frame stack, and the observation of a game that ends within a step.
"""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from opencv_reference import assert_environments
from thorough import sample

from worldloom.atari.frames.observe import FrameFormat, FrameSelection, Observer
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format

ale_py = pytest.importorskip("ale_py", reason="ale-py has the ROMs")
CPU, SKIP, NOOP, FIRE = wp.get_device("cpu"), 4, 0, 1


class Console:
    """One game of ALE with the observations of an Observer.

    Args:
        game: Its ROM.
        frame_format: Format of the observations.
        most_lines: Lines of the picture that are shown at most.
    """

    most_lines = 250

    def __init__(self, game: str, frame_format: FrameFormat) -> None:
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path(game))
        self.actions = [action.value for action in self.ale.getMinimalActionSet()]
        lines = self.ale.getScreenDims()[0]
        television = Format.PAL if lines == 250 else Format.NTSC
        palette = (greys if frame_format.colour == "grey" else colours)(television)
        self.observer = Observer(frame_format, [min(lines, self.most_lines)], [palette], CPU)
        self.frames = np.zeros((1, 2, lines, 160), np.uint8)
        self.pictures = wp.array(self.frames, device=CPU, copy=False)
        self.screen = wp.zeros((1, int(np.prod(self.observer.shape))), dtype=wp.uint8, device=CPU)

    def keep(self, place: int) -> None:
        self.frames[0, place] = self.ale.getScreen()

    def observe(self, show: FrameSelection, fresh: bool = False) -> np.ndarray:
        chosen, begins = (
            wp.array([value], dtype=kind, device=CPU) for value, kind in ((show, wp.int32), (fresh, wp.bool))
        )
        self.observer.launch(self.pictures, wp.zeros(1, dtype=wp.int32, device=CPU), self.screen, chosen, begins)
        return self.screen.numpy()[0].reshape(self.observer.shape)


class LikeEnvPool(Console):
    """A game starts with a frame of FIRE or a no-op. The final frame of a game is shown."""

    most_lines = 210

    def reset(self) -> np.ndarray:
        self.ale.reset_game()
        self.ale.act(FIRE if FIRE in self.actions else NOOP)
        self.keep(0)
        return self.observe(FrameSelection.FIRST, fresh=True)

    def step(self, choice: int) -> np.ndarray:
        for frame in range(SKIP):
            self.ale.act(self.actions[choice])
            if frame >= SKIP - 2:
                self.keep(frame - SKIP + 2)
            if self.ale.game_over():
                break
        return self.observe(
            FrameSelection.BRIGHTER
            if frame == SKIP - 1
            else FrameSelection.FIRST
            if frame == SKIP - 2
            else FrameSelection.SAME
        )


class LikeVector(Console):
    """A game starts with a frame of FIRE, or at once. The final frame of a game is not shown.

    Where that is the last one of a step, the frame before it is added to what was shown already; no game here ends so.
    """

    def reset(self) -> np.ndarray:
        self.ale.reset_game()
        if FIRE in self.actions:
            self.ale.act(FIRE)
        self.keep(0)
        return self.observe(FrameSelection.FIRST, fresh=True)

    def step(self, choice: int) -> np.ndarray:
        for frame in range(SKIP):
            self.ale.act(self.actions[choice])
            if self.ale.game_over():
                assert frame < SKIP - 1
                return self.observe(FrameSelection.SAME)
            if frame >= SKIP - 2:
                self.keep(frame - SKIP + 2)
        return self.observe(FrameSelection.BRIGHTER)


def play(console: LikeEnvPool | LikeVector, env, steps: int, seed: int, endings: int = 0) -> None:
    """Step both with the same actions; the step after an end starts the next game."""
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
    ("game", "id", "frame_format", "steps"),
    sample(
        [
            ("pong", "Pong-v5", FrameFormat(), 120),
            ("breakout", "Breakout-v5", FrameFormat(), 360),
            ("air_raid", "AirRaid-v5", FrameFormat(), 60),
            ("carnival", "Carnival-v5", FrameFormat(stack=2, colour="planes"), 60),
            ("pong", "Pong-v5", FrameFormat(area=False, stack=1), 60),
        ],
        3,
    ),
)
def test_envpool(game: str, id: str, frame_format: FrameFormat, steps: int):
    envpool = pytest.importorskip("envpool", reason="EnvPool is what observations are compared with")
    settings = {
        "stack_num": frame_format.stack,
        "gray_scale": frame_format.colour == "grey",
        "use_inter_area_resize": frame_format.area,
    }
    env = envpool.make_gymnasium(id, num_envs=1, noop_max=1, **settings)
    play(LikeEnvPool(game, frame_format), env, steps, seed=0, endings=2 if game == "breakout" else 0)


@pytest.mark.parametrize(
    ("game", "frame_format", "steps"),
    sample(
        [
            ("pong", FrameFormat(older="zero"), 120),
            ("breakout", FrameFormat(older="zero"), 360),
            ("air_raid", FrameFormat(stack=2, colour="pixels", older="zero"), 60),
        ],
        2,
    ),
)
def test_vector_environment_of_ale(game: str, frame_format: FrameFormat, steps: int):
    from ale_py.vector_env import AtariVectorEnv

    settings = {"stack_num": frame_format.stack, "grayscale": frame_format.colour == "grey"}
    env = AtariVectorEnv(game, num_envs=1, num_threads=1, noop_max=0, **settings)
    play(LikeVector(game, frame_format), env, steps, seed=0, endings=2 if game == "breakout" else 0)
    env.close()
