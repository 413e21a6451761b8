"""The process that draws robots: it owns the OpenGL context, and receives models and states.

:mod:`worldloom.robots.rendering.process` runs this file in a new interpreter. A failure of an OpenGL driver ends this
process alone. It imports nothing of worldloom. Messages are tuples that begin with a word:

- ``("load", key, model, width, height, camera)``: a compiled model (.mjb), the size of its images, and its camera, see
  :class:`Scene`.
- ``("draw", key, states)``: for each image, arrays of ``mjData`` and ``mjModel`` by name. The reply is
  ``("images", uint8 of shape (images, height, width, 3))``.
- ``("free", key)``: the model is not needed any more.

The reply to ``load`` is ``("loaded",)``. ``("failed", reason)`` replies to a request that failed. At first the process
sends ``("ready",)``, or ``("failed", reason)`` where there is no OpenGL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

import mujoco
import numpy as np

Array = np.ndarray[Any, Any]
Camera = tuple[int, int, Sequence[float], float]

MAX_GEOMS = 20_000
"""Geoms of a scene, decorations included."""
SHORTCUTS = {"geom_pos": "geom_sameframe", "site_pos": "site_sameframe"}
"""Flags of ``mjModel`` for parts at the origin of their body, whose position MuJoCo does not read."""
PLAIN, ROBOT = (0.5, 0.5, 0.5, 1.0), (0.85, 0.55, 0.35, 1.0)
"""MuJoCo's default colour, and that of a robot without colours."""
SHADOW_SIZE = 1024
"""Pixels of a shadow map along a side, at most. MuJoCo's default of 4,096 takes most of the time of a small image."""
SOFTWARE = ("llvmpipe", "softpipe", "swrast")
"""Names of OpenGL drivers that draw on the CPU; images are drawn without antialiasing there, in half the time."""


class Scene:
    """A model, its state and what draws it.

    Args:
        compiled: The model as the bytes of a .mjb file.
        width, height: Size of the images in pixels.
        camera: A camera of the model by index, or -1 for a free camera; the body whose centre of mass it follows, or
            -1; the point that it shows otherwise; and its distance in metres.
    """

    def __init__(self, compiled: bytes, width: int, height: int, camera: Camera) -> None:
        self.model: Any = mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": compiled})
        self.model.vis.global_.offwidth, self.model.vis.global_.offheight = width, height
        brighten(self.model)
        quality = self.model.vis.quality
        quality.shadowsize = min(quality.shadowsize, SHADOW_SIZE)
        self.data = mujoco.MjData(self.model)
        self.gl = mujoco.GLContext(width, height)  # type: ignore[attr-defined]
        self.gl.make_current()
        if draws_on_cpu():
            quality.offsamples = 0
        self.context = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self.context)
        self.scene, self.options = mujoco.MjvScene(self.model, maxgeom=MAX_GEOMS), mujoco.MjvOption()
        self.area = mujoco.MjrRect(0, 0, width, height)
        self.camera, self.body = mujoco.MjvCamera(), -1
        self._set_camera(*camera)

    def _set_camera(self, index: int, body: int, center: Sequence[float], distance: float) -> None:
        camera: Any = self.camera
        if index >= 0:
            camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, index
            return
        mujoco.mjv_defaultFreeCamera(self.model, camera)
        camera.lookat[:], camera.distance, self.body = center, distance, body

    def draw(self, state: Mapping[str, Array]) -> Array:
        """The image of a state, uint8 (height, width, 3)."""
        self.gl.make_current()
        for name, values in state.items():
            owner = self.data if hasattr(self.data, name) else self.model
            target = getattr(owner, name)
            target[:] = np.nan_to_num(values.reshape(target.shape))
            if name in SHORTCUTS:
                getattr(self.model, SHORTCUTS[name])[:] = 0
        if "hfield_data" in state:
            for k in range(self.model.nhfield):
                mujoco.mjr_uploadHField(self.model, self.context, k)
        mujoco.mj_fwdPosition(self.model, self.data)
        if self.body >= 0:
            self.camera.lookat[:] = self.data.subtree_com[self.body]
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self.model, self.data, self.options, None, self.camera, everything, self.scene)
        mujoco.mjr_render(self.area, self.scene, self.context)
        image = np.empty((self.area.height, self.area.width, 3), np.uint8)
        mujoco.mjr_readPixels(image, None, self.area, self.context)
        return image[::-1]

    def free(self) -> None:
        """Release the OpenGL context."""
        self.gl.make_current()
        self.context.free()
        self.gl.free()


def brighten(model: Any) -> None:
    """Light a model without lights, and colour what moves in a model without colours."""
    if model.nlight == 0:
        model.vis.headlight.ambient[:], model.vis.headlight.diffuse[:] = 0.35, 0.6
    if model.nmat == 0 and (model.geom_rgba == PLAIN).all():
        moves = model.body_weldid[model.geom_bodyid] != 0
        model.geom_rgba[moves] = ROBOT


class Server:
    """Serves requests until the parent has exited."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.scenes: dict[int, Scene] = {}

    def serve(self) -> None:
        while True:
            try:
                reply = self.handle(*self.connection.recv())
            except (EOFError, ConnectionError):
                return  # the parent has exited
            except Exception as error:  # of MuJoCo or of the driver: the parent reports it
                reply = ("failed", describe(error))
            if reply is not None:
                self.connection.send(reply)

    def handle(self, word: str, key: int, *arguments: Any) -> tuple[Any, ...] | None:
        """The reply to a request; None for none."""
        if word == "load":
            self.scenes[key] = Scene(*arguments)
            return ("loaded",)
        if word == "free":
            self.scenes.pop(key).free()
            return None
        return ("images", self.draw(key, *arguments))

    def draw(self, key: int, states: Sequence[Mapping[str, Array]]) -> Array:
        return np.stack([self.scenes[key].draw(state) for state in states])


def describe(error: Exception) -> str:
    """An exception in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # PyOpenGL's errors cannot always be printed
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def draws_on_cpu() -> bool:
    """Whether the driver of the current OpenGL context draws on the CPU."""
    from OpenGL import GL  # type: ignore[import-untyped]

    name = (GL.glGetString(GL.GL_RENDERER) or b"").decode()
    return name.startswith(SOFTWARE)


def check_opengl() -> None:
    """Draw a small model; raises an exception of any kind where there is no OpenGL."""
    model: Any = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    size = mujoco.mj_sizeModel(model)
    buffer = np.zeros(size, np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    scene = Scene(buffer.tobytes(), 8, 8, (-1, -1, (0.0, 0.0, 0.0), 3.0))
    scene.draw({})
    scene.free()


def main(descriptor: int) -> None:
    """Check OpenGL, then serve requests of the connection with this file descriptor."""
    os.set_inheritable(descriptor, False)
    mujoco.set_mju_user_warning(lambda _: None)  # by default MuJoCo appends warnings to a file in the current folder
    connection = Connection(descriptor)
    try:
        check_opengl()
    except Exception as error:  # ImportError, AttributeError and others, by what is missing
        connection.send(("failed", describe(error)))
        return
    connection.send(("ready",))
    Server(connection).serve()


if __name__ == "__main__":
    del sys.path[0]  # this folder
    main(int(sys.argv[1]))
    os._exit(0)  # without the destructors of OpenGL, which fail in some drivers
