"""Images on the screen: a window of pygame, coloured characters in a terminal, or an error."""

import io

import numpy as np
import pytest

from worldloom.core.base.errors import InputError
from worldloom.view import window


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.setattr(window, "_has_display", lambda: False)


def test_two_pixels_are_one_character():
    image = np.zeros((4, 3, 3), np.uint8)
    image[0] = (255, 0, 0)
    image[3] = (0, 0, 255)
    text = window.half_blocks(image, columns=80, lines=24)
    assert text.count("\n") == 2 and text.count(window.HALF_BLOCK) == 6
    first, second = text.splitlines()
    assert first.startswith("\x1b[38;2;255;0;0;48;2;0;0;0m") and first.endswith("\x1b[0m")
    assert second.startswith("\x1b[38;2;0;0;0;48;2;0;0;255m")


@pytest.mark.parametrize("size", [(400, 600), (600, 400), (3, 900), (900, 3)])
def test_images_fit_the_terminal(size):
    text = window.half_blocks(np.zeros((*size, 3), np.uint8), columns=40, lines=10)
    lines = text.splitlines()
    assert 1 <= len(lines) <= 10
    assert all(1 <= line.count(window.HALF_BLOCK) <= 40 for line in lines)


def test_a_terminal_draws_over_the_image_before(monkeypatch, no_display):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    screen = window.open_screen("a world", 1000)
    image = np.zeros((8, 8, 3), np.uint8)
    screen.show(image)
    first = terminal.getvalue()
    screen.show(image)
    screen.close()
    assert terminal.getvalue() == f"{first}\x1b[4F{first}"


def test_neither_a_display_nor_a_terminal(monkeypatch, no_display):
    monkeypatch.setattr("sys.stdout", io.StringIO())
    with pytest.raises(
        InputError, match=r"render_mode='human' needs a display with the package pygame .* or a terminal"
    ):
        window.open_screen("a world", 30)


def test_a_window(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    screen = window.open_screen("a world", 1000)
    image = np.zeros((20, 30, 3), np.uint8)
    image[5, 7] = (10, 20, 30)
    screen.show(image)
    surface = pygame.display.get_surface()
    assert surface.get_size() == (30, 20)
    assert tuple(surface.get_at((7, 5)))[:3] == (10, 20, 30)
    assert pygame.display.get_caption()[0] == "a world"
    screen.close()
    assert not pygame.display.get_init()
