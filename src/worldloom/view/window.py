"""Images on the user's screen while a program runs: a window of pygame, or coloured characters in the terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Protocol, TextIO

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.view.tiles import Frame

HALF_BLOCK = "\u2580"
"""The upper half of a character cell: its colour and that of the background are two pixels."""


class Screen(Protocol):
    """Shows one image after another."""

    def show(self, image: Frame) -> None:
        """Show an image, uint8 (height, width, 3), for 1 / ``frames_per_second`` s."""

    def close(self) -> None:
        """Remove what is shown."""


def open_screen(title: str, frames_per_second: int) -> Screen:
    """A window, or the terminal where there is none.

    Args:
        title: The title of the window.
        frames_per_second: Upper bound of the rate of images.

    Raises:
        InputError: If there is neither.
    """
    if _has_display():
        try:
            return PygameWindow(title, frames_per_second)
        except ImportError:
            pass
    if sys.stdout.isatty():
        return TerminalScreen(sys.stdout, frames_per_second)
    raise InputError(
        "render_mode='human' needs a display with the package pygame (pip install pygame), or a terminal: "
        "use render_mode='rgb_array' here"
    )


def _has_display() -> bool:
    """Whether a window can be opened."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"))


class PygameWindow:
    """A window of pygame, which takes the size of the images.

    Args: As for :func:`open_screen`.
    """

    def __init__(self, title: str, frames_per_second: int) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        self._pygame: Any = pygame
        self._fps, self._clock = frames_per_second, pygame.time.Clock()
        self._surface: Any = None
        pygame.display.init()
        pygame.display.set_caption(title)

    def show(self, image: Frame) -> None:
        size = (image.shape[1], image.shape[0])
        if self._surface is None or self._surface.get_size() != size:
            self._surface = self._pygame.display.set_mode(size)
        self._surface.blit(self._pygame.surfarray.make_surface(np.swapaxes(image, 0, 1)), (0, 0))
        self._pygame.event.pump()
        self._pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        self._pygame.display.quit()


class TerminalScreen:
    """Coloured characters in a terminal, two pixels each, in the place of the image before.

    Args:
        output: The terminal.
        frames_per_second: Upper bound of the rate of images.
    """

    def __init__(self, output: TextIO, frames_per_second: int) -> None:
        self._output, self._interval, self._next, self._lines = output, 1.0 / max(frames_per_second, 1), 0.0, 0

    def show(self, image: Frame) -> None:
        try:
            size = os.get_terminal_size(self._output.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((80, 24))
        text = half_blocks(image, size.columns, max(size.lines - 1, 1))
        up = f"\x1b[{self._lines}F" if self._lines else ""
        self._output.write(up + text)
        self._output.flush()
        self._lines = text.count("\n")
        time.sleep(max(self._next - time.monotonic(), 0.0))
        self._next = time.monotonic() + self._interval

    def close(self) -> None:
        self._lines = 0


def half_blocks(image: Frame, columns: int, lines: int) -> str:
    """An image as lines of coloured characters with ANSI escapes, in at most ``columns`` x ``lines`` cells."""
    height, width = image.shape[:2]
    scale = min(columns / width, 2.0 * lines / height, 1.0)
    across, down = max(int(width * scale), 1), max(int(height * scale / 2.0), 1)
    rows = np.arange(2 * down) * height // (2 * down)
    pixels = image[rows][:, np.arange(across) * width // across].tolist()
    text = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        cells = (
            f"\x1b[38;2;{a[0]};{a[1]};{a[2]};48;2;{b[0]};{b[1]};{b[2]}m{HALF_BLOCK}"
            for a, b in zip(upper, lower, strict=True)
        )
        text.append("".join(cells) + "\x1b[0m\n")
    return "".join(text)
