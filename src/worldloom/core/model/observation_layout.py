"""What an observation's axes mean, and which part of a policy reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worldloom.core.base.errors import misuse

ChannelOrder = Literal["first", "last"]


@dataclass(frozen=True)
class ObservationLayout:
    """Declarations for the networks that read an observation. They change neither its values nor its storage.

    Attributes:
        channels: Channel axis of an image: (height, width, channels) for ``last``, (channels, height, width) for
            ``first``.
        entities: Whether it is a set of entities, one per row.
        mask: Name of the observation that is not 0 for the entities present; empty where all always are.
        critic: Whether only the critic reads it.
    """

    channels: ChannelOrder = "last"
    entities: bool = False
    mask: str = ""
    critic: bool = False

    def check(self, shape: tuple[int, ...]) -> None:
        """DefinitionError where the layout does not fit an observation of ``shape``."""
        if self.channels not in ("first", "last"):
            raise misuse(
                f"channels is 'first' or 'last', not {self.channels!r}",
                "write for example wl.Observation(3, 84, 84, channels='first')",
            )
        if self.channels == "first" and len(shape) != 3:
            raise misuse(
                f"channels applies to images of three dimensions, not to the shape {shape!r}", "leave channels out"
            )
        if self.entities and len(shape) > 2:
            raise misuse(
                f"a set of entities has the shape (entities, numbers), not {shape!r}",
                "write for example wl.Observation(16, 5, entities=True)",
            )
        if not isinstance(self.mask, str) or (self.mask and not self.entities):
            raise misuse(
                f"mask names the component that says which entities of a set are present, and is {self.mask!r}",
                "write for example wl.Observation(16, 5, entities=True, mask='present')",
            )


DEFAULT_LAYOUT = ObservationLayout()
