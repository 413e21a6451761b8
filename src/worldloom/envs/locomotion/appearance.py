"""The images of the tasks: colours, a chequered ground and targets, which the models of physics do without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldloom.core.simulation import Simulation
from worldloom.envs.locomotion.team import team_spec
from worldloom.robots import Model, Physics, Renderer

if TYPE_CHECKING:
    from worldloom.envs.locomotion.task import Task

ROBOTS = ((0.85, 0.55, 0.35, 1.0), (0.35, 0.6, 0.85, 1.0), (0.5, 0.75, 0.4, 1.0), (0.8, 0.7, 0.3, 1.0))
"""Colours of the robots of a world, in turn."""
TARGET_RADIUS, TARGET_HEIGHT = 0.12, 2.0
"""Size of the column at a target, in metres. It has the colour of its robot."""

AZIMUTH, ELEVATION = 120.0, -20.0
"""Direction of the camera, in degrees."""


def make_renderer(physics: Physics, task: Task, table: str) -> Renderer:
    """The renderer of a task, whose robots are the entities of ``table``."""

    def places(simulation: Simulation, world: int) -> dict[tuple[str, str], Any]:
        targets = simulation.tables[table]["target"].numpy()[world]
        return {("geom", f"target{k}"): (x, y, TARGET_HEIGHT / 2) for k, (x, y) in enumerate(targets.tolist())}

    return Renderer(physics, model=lambda: drawn_team(task), places=places if task.target_frames else None)


def drawn_team(task: Task) -> Model:
    """The model of a task with colours and targets."""
    import mujoco

    spec = team_spec(task.model, task.agents, task.spacing, task.terrain)
    spec.visual.global_.azimuth, spec.visual.global_.elevation = AZIMUTH, ELEVATION
    for light in spec.worldbody.lights:  # the same light everywhere, as robots run far
        light.type, light.dir = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, [-0.3, 0.3, -1.0]
    _color_ground(mujoco, spec, task)
    roots = [body for body in spec.worldbody.bodies if body.joints]
    for k, root in enumerate(roots):
        color = ROBOTS[k % len(ROBOTS)]
        for geom in root.find_all("geom"):
            geom.rgba = color
        if task.target_frames:
            spec.worldbody.add_geom(
                name=f"target{k}",
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[TARGET_RADIUS, TARGET_HEIGHT / 2, 0.0],
                rgba=(*color[:3], 0.6),
                contype=0,
                conaffinity=0,
            )
    return Model(spec)


def _color_ground(mujoco: Any, spec: Any, task: Task) -> None:
    """A sky, and squares of 1 m; a height field has no squares, as a texture would span all of it."""
    texture, builtin = mujoco.mjtTexture, mujoco.mjtBuiltin
    spec.add_texture(
        name="sky", type=texture.mjTEXTURE_SKYBOX, builtin=builtin.mjBUILTIN_GRADIENT, width=64, height=384,
        rgb1=[0.65, 0.78, 0.9], rgb2=[0.95, 0.97, 1.0],
    )  # fmt: skip
    ground = spec.geom("ground")
    if task.terrain is not None:
        ground.rgba = (0.45, 0.5, 0.4, 1.0)
        return
    spec.add_texture(
        name="squares", type=texture.mjTEXTURE_2D, builtin=builtin.mjBUILTIN_CHECKER, width=256, height=256,
        rgb1=[0.55, 0.6, 0.62], rgb2=[0.65, 0.7, 0.72],
    )  # fmt: skip
    material = spec.add_material(name="squares", texrepeat=[0.5, 0.5], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "squares"
    ground.material = "squares"
