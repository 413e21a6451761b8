"""The parts of an observation of Escape Room."""

from __future__ import annotations

from typing import Any

from worldloom.envs.escape_room.entities import (
    AGENT_ID,
    LIDAR_DEPTH,
    LIDAR_RAYS,
    MAX_ROOM_ENTITIES,
    NUM_OBSERVED,
    PARTNER,
    ROOM_DOOR,
    ROOM_ENTITIES,
    SELF,
    STEPS_LEFT,
)


def split_sight(sight: Any) -> dict[str, Any]:
    """The parts of observations as views.

    Args:
        sight: A NumPy array or PyTorch tensor of shape (..., 94).

    Returns:
        ``self`` (..., 8), ``partner`` (..., 3), ``room_entities`` (..., 6, 3), ``door`` (..., 3), ``lidar``
        (..., 30, 2) with depth and type, ``steps_left`` (..., 1) and ``id`` (..., 1).
    """
    front = tuple(sight.shape[:-1])
    return {
        "self": sight[..., SELF:PARTNER],
        "partner": sight[..., PARTNER:ROOM_ENTITIES],
        "room_entities": sight[..., ROOM_ENTITIES:ROOM_DOOR].reshape(*front, MAX_ROOM_ENTITIES, 3),
        "door": sight[..., ROOM_DOOR:LIDAR_DEPTH],
        "lidar": sight[..., LIDAR_DEPTH:STEPS_LEFT].reshape(*front, 2, LIDAR_RAYS).swapaxes(-1, -2),
        "steps_left": sight[..., STEPS_LEFT:AGENT_ID],
        "id": sight[..., AGENT_ID:NUM_OBSERVED],
    }
