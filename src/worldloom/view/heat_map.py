"""Heat maps: a matrix of numbers as colors, each with its text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worldloom.view.figure import new_figure, save_figure


def draw_heat_map(
    values: Sequence[Sequence[float]],
    target: Path,
    title: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    texts: Sequence[Sequence[str]] | None = None,
    labels: tuple[str, str] = ("", ""),
) -> None:
    """Draw a matrix.

    Args:
        values: The numbers, by row and column.
        target: The file, written atomically; its suffix, such as ``.png``, selects the format.
        title: The title of the figure.
        rows, columns: Their names.
        texts: The text of each cell; None for its number.
        labels: What the rows and the columns are.
    """
    width, height = 2.5 + 1.3 * len(columns), 2.0 + 0.7 * len(rows)
    figure = new_figure("a heat map", max(width, 4.0), max(height, 3.0))
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="viridis", aspect="auto")
    figure.colorbar(image, ax=axes)
    axes.set(title=title, ylabel=labels[0], xlabel=labels[1])
    axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    least, greatest = min(map(min, values)), max(map(max, values))
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            dark = value < 0.5 * (least + greatest)
            text = f"{value:.3g}" if texts is None else texts[i][j]
            axes.text(j, i, text, ha="center", va="center", color="white" if dark else "black")
    save_figure(figure, target)
