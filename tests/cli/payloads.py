"""A world in a file that leaves a mark when it is run, to see whether it was."""

from worldloom.core.registry import registry, world_files

TEXT = """
from pathlib import Path
import worldloom as wl
from worldloom.core.registry.registry import definition

Path({ran!r}).touch()
made = definition("CartPole-v1")
wl.register("Payload-v0", world=made.world, entities=made.entities, reset=made.reset, step=made.step, observe=made.observe, render=made.render)
"""


def write_payload(folder):
    """The file, and the mark that it leaves."""
    file, ran = folder / "payload.py", folder / "ran"
    file.write_text(TEXT.format(ran=str(ran)))
    return file, ran


def forget(file, ran):
    """As if another process went on: the file has not been run, and its world is unknown."""
    ran.unlink()
    world_files._LOADED.pop(file)
    registry._REGISTRY.pop("Payload-v0")
