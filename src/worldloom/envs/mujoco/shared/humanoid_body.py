# Annotations are evaluated: systems refer to classes that are local to a function.
"""What the robots of Humanoid and HumanoidStandup share: their components, the tendons as infos, and contact forces."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.envs.mujoco.shared.humanoid_observations import Layout
from worldloom.envs.mujoco.task import robot_of
from worldloom.robots import Model


def humanoid_of(model: Model, layout: Layout) -> type[Components]:
    """The components of a humanoid: those of every robot, the arrays that it observes, and contact forces."""
    observed = [name for name in ("cinert", "cvel", "qfrc_actuator") if getattr(layout, name) >= 0]
    annotations = {name: model.component(name) for name in (*observed, "cfrc_ext")}
    return type(
        "HumanoidBody", (robot_of(model, layout.size),), {"__annotations__": annotations, "__module__": __name__}
    )


def tendons_of(model: Model) -> type[Components]:
    """The lengths and velocities of the tendons, as arrays of physics and as infos."""

    class Tendons(Components):
        ten_length: model.ten_length
        ten_velocity: model.ten_velocity
        tendon_length: wl.Info(wl.float64, model.ntendon)
        tendon_velocity: wl.Info(wl.float64, model.ntendon)

    return Tendons


def impact_system(kind: type[wl.Entity], model: Model) -> System:
    """Computes ``impact``, the sum of the squared contact forces on all bodies."""
    num_bodies = model.nbody

    @wl.system
    def measure_impact(humanoid: kind):
        humanoid.impact = 0.0
        for b in range(num_bodies):
            for k in range(6):
                humanoid.impact += humanoid.cfrc_ext[b, k] * humanoid.cfrc_ext[b, k]

    return measure_impact


def report_tendons_system(kind: type[wl.Entity], model: Model) -> System:
    """Writes the infos ``tendon_length`` and ``tendon_velocity``."""
    num_tendons = model.ntendon

    @wl.system
    def report_tendons(humanoid: kind):
        for i in range(num_tendons):
            humanoid.tendon_length[i] = humanoid.ten_length[i]
            humanoid.tendon_velocity[i] = humanoid.ten_velocity[i]

    return report_tendons
