"""Images of the worlds of a simulation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.robots.model import Model
from worldloom.robots.physics import Physics
from worldloom.robots.rendering import process as shared
from worldloom.robots.rendering.camera import choose_camera
from worldloom.robots.rendering.process import DrawProcess

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

Array = np.ndarray[Any, Any]
Places = Callable[["Simulation", int], Mapping[tuple[str, str], Sequence[float]]]

VISIBLE = (
    "qpos", "qvel", "act", "mocap_pos", "mocap_quat", "body_pos", "body_quat", "body_ipos", "geom_pos", "geom_size",
    "site_pos", "hfield_data",
)  # fmt: skip
"""Arrays that an image depends on, as far as they are components."""
PER_REQUEST = 64
"""Images that are drawn, and held in memory, before they are sent."""
_keys = itertools.count()


class Renderer:
    """Draws worlds with MuJoCo's offscreen renderer, for ``wl.register(..., render=robots.Renderer(PHYSICS))``.

    Worlds with robots that are registered without ``render`` have one with these defaults.

    Images are drawn in another process, which owns the OpenGL context: a crash of a driver does not end the training.
    MUJOCO_GL chooses EGL, OSMesa or GLFW; otherwise they are tried in this order.

    Args:
        physics: The physics of the robot.
        width, height: Size of the images in pixels.
        camera: A camera of the model by name or index. By default one that tracks a body, else a free camera that
            follows the root.
        model: The model to draw, with the joints of the physics' model, for other colours or decorations.
        places: Positions that are no part of physics, such as targets: called with the simulation and the index of the
            world, it returns x, y and z of bodies, geoms or sites of the drawn model by kind and name, as in
            ``{("geom", "target"): (x, y, 0.5)}``. NaN keeps a coordinate of the model.
        process: What draws; by default the process that all renderers share.
    """

    def __init__(
        self,
        physics: Physics,
        width: int = 480,
        height: int = 480,
        camera: str | int | None = None,
        model: Model | Callable[[], Model] | None = None,
        places: Places | None = None,
        process: DrawProcess | None = None,
    ) -> None:
        for name, size in (("width", width), ("height", height)):
            if not (isinstance(size, int) and 1 <= size <= 8192):
                raise InputError(f"the {name} of an image is 1 to 8192 pixels, not {size!r}")
        self.physics, self.width, self.height, self.camera = physics, width, height, camera
        self._model, self._places, self._process, self._key = model, places, process, next(_keys)

    def __call__(self, simulation: Simulation, world: int) -> Array:
        """The image of one world, uint8 of shape (height, width, 3)."""
        image: Array = self.images(simulation, [world])[0]
        return image

    def images(self, simulation: Simulation, worlds: Sequence[int]) -> Array:
        """The images of some worlds, uint8 of shape (worlds, height, width, 3)."""
        process, states = self._process or shared.DRAW_PROCESS, self.states(simulation, worlds)
        parts = [states[k : k + PER_REQUEST] for k in range(0, len(states), PER_REQUEST)]
        return np.concatenate([process.draw(self._key, self._drawing, part) for part in parts])

    def states(self, simulation: Simulation, worlds: Sequence[int]) -> list[dict[str, Array]]:
        """The arrays that the images of some worlds depend on."""
        table = self.physics.table(simulation)
        names = [name for name in VISIBLE if name in self.physics.names]
        chosen = list(worlds)
        columns = {name: table[name].numpy()[chosen].astype(np.float64) for name in names}
        states = [{name: rows[k] for name, rows in columns.items()} for k in range(len(chosen))]
        if self._places is not None:
            for world, state in zip(worlds, states, strict=True):
                self._move(state, self._places(simulation, world))
        return states

    def _move(self, state: dict[str, Array], places: Mapping[tuple[str, str], Sequence[float]]) -> None:
        for (kind, name), place in places.items():
            positions = state.setdefault(f"{kind}_pos", np.array(getattr(self.model.mj_model, f"{kind}_pos")))
            position = positions.reshape(-1, 3)[self.model.id(kind, name)]
            position[:] = np.where(np.isnan(place), position, place)

    @cached_property
    def model(self) -> Model:
        """The drawn model."""
        model = self._model or self.physics.model
        return model if isinstance(model, Model) else model()

    @cached_property
    def _drawing(self) -> tuple[Any, ...]:
        camera = choose_camera(self.model, self.camera)
        return (self.model.saved, self.width, self.height, camera)


Physics.default_renderer = Renderer
