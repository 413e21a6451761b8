"""A world in a file that writes a marker when it is executed."""

from worldloom.core.registry import registry, world_files

TEXT = """
from pathlib import Path
import worldloom as wl
from worldloom.core.registry.registry import definition

Path({ran!r}).touch()
made = definition("CartPole-v1")
phases = dict(reset=made.reset, step=made.step, observe=made.observe)
wl.register("Payload-v0", world=made.world, entities=made.entities, render=made.render, **phases)
"""


def write_payload(folder):
    """The file, and the marker that it writes."""
    file, ran = folder / "payload.py", folder / "ran"
    file.write_text(TEXT.format(ran=str(ran)))
    return file, ran


def forget(file, ran):
    """Simulate a new process: the file was not executed, and its world is not registered."""
    ran.unlink()
    world_files._LOADED.pop(file)
    registry._REGISTRY.pop("Payload-v0")
