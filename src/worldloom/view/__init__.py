"""Curves and videos as files, and images on the screen; matplotlib, ffmpeg and pygame are optional. Imports core only.

Figures of a single world live with that world.
"""

from worldloom.view.curve import draw_curve
from worldloom.view.figure import new_figure, save_figure
from worldloom.view.heat_map import draw_heat_map
from worldloom.view.mean_curve import MeanCurve, draw_mean_curves
from worldloom.view.parallel_coordinates import Axis, draw_parallel_coordinates
from worldloom.view.population_curves import Panel, draw_population
from worldloom.view.tiles import tile_images
from worldloom.view.video import write_video

__all__ = [
    "Axis",
    "MeanCurve",
    "Panel",
    "draw_curve",
    "draw_heat_map",
    "draw_mean_curves",
    "draw_parallel_coordinates",
    "draw_population",
    "new_figure",
    "save_figure",
    "tile_images",
    "write_video",
]
