"""overcooked-ai 1.1.0 as the reference: its states as plain numbers, its encodings, and players that cook.

The package needs the module ``gym``, of which it uses nothing here, and ``np.Inf``. Its recipes are configured per
process, so only the grid world that was created last may be stepped.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections import deque
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

OWN_EVENTS = ("cooking_start", "counter_pickup")
"""Events that the package does not count."""


@functools.cache
def package() -> SimpleNamespace:
    """The classes of the package; the test is skipped where it is not installed."""
    pytest.importorskip("scipy")
    if importlib.util.find_spec("overcooked_ai_py") is None:
        pytest.skip("overcooked-ai is not here: pip install --no-deps overcooked-ai==1.1.0")
    stand_ins = {name: ModuleType(name) for name in ("gym", "gym.envs", "gym.envs.registration")}
    stand_ins["gym"].Env = object
    stand_ins["gym.envs.registration"].register = lambda **arguments: None
    with pytest.MonkeyPatch.context() as patch:
        for name, module in stand_ins.items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(np, "Inf", np.inf, raising=False)
        from overcooked_ai_py.mdp import actions, overcooked_mdp
        from overcooked_ai_py.planning import planners
    planners.np = SimpleNamespace(**vars(np), Inf=np.inf)

    class OldDynamics(overcooked_mdp.OvercookedGridworld):
        """The rule that later versions of the package call ``old_dynamics``."""

        def soup_to_be_cooked_at_location(self, state: Any, pos: Any) -> bool:
            return False

        def step_environment_effects(self, state: Any) -> None:
            for thing in state.objects.values():
                if thing.name == "soup" and thing.is_idle and len(thing.ingredients) == 3:
                    thing.begin_cooking()
            super().step_environment_effects(state)

    return SimpleNamespace(
        actions=actions.Action.INDEX_TO_ACTION,
        directions=actions.Direction.ALL_DIRECTIONS,
        new=overcooked_mdp.OvercookedGridworld,
        old=OldDynamics,
        events=overcooked_mdp.EVENT_TYPES,
        motion_planner=planners.MotionPlanner,
    )


class Original:
    """One game of overcooked-ai.

    Args:
        name: A layout of the package, or rows of cells separated by ``|``.
        old_dynamics: Whether full pots cook by themselves.
    """

    def __init__(self, name: str, old_dynamics: bool = False) -> None:
        grid_world = package().new
        made = grid_world.from_grid(name.split("|")) if "|" in name else grid_world.from_layout_name(name)
        if old_dynamics:
            made.__class__ = package().old
        self.mdp = made
        self.planner: Any = None
        self.counts = dict.fromkeys([*package().events, *OWN_EVENTS], 0)
        self.reset()

    def reset(self) -> None:
        self.state = self.mdp.get_standard_start_state()

    def step(self, acts: Any) -> tuple[list[float], list[float]]:
        """Sparse and shaped rewards by player."""
        joint, before = [package().actions[act] for act in acts], self._occupied()
        self.state, infos = self.mdp.get_state_transition(self.state, joint)
        for event, happened in infos["event_infos"].items():
            self.counts[event] += sum(happened)
        after = self._occupied()
        self.counts["cooking_start"] += len(after[0] - before[0])
        self.counts["counter_pickup"] += len(before[1] - after[1])
        return infos["sparse_reward_by_agent"], infos["shaped_reward_by_agent"]

    def _occupied(self) -> tuple[set[Any], set[Any]]:
        """Cells of pots that cook or are ready, and of counters with an object."""
        pots, objects = self.mdp.get_pot_locations(), self.state.objects
        cooking = {pot for pot in pots if pot in objects and not objects[pot].is_idle}
        return cooking, objects.keys() - set(pots)

    def players(self) -> list[tuple[int, int, int, str]]:
        """x, y, the orientation and the held object of each player."""
        return [
            (*player.position, package().directions.index(player.orientation), spell(player.held_object))
            for player in self.state.players
        ]

    def objects(self) -> dict[tuple[int, int], tuple[str, int]]:
        """Objects on counters and in pots by cell, with the steps of cooking of those in pots."""
        pots = self.mdp.get_pot_locations()
        return {
            cell: (spell(thing), thing._cooking_tick if cell in pots else -1)
            for cell, thing in self.state.objects.items()
        }

    def planes(self, horizon: int) -> np.ndarray:
        """The lossless encoding of all players, shape (players, width, height, 26)."""
        return np.stack(self.mdp.lossless_state_encoding(self.state, horizon))

    def general_planes(self, horizon: int) -> np.ndarray:
        """The same for any number of players, shape (players, width, height, 5 * players + 16).

        The package refuses other numbers than two; this is its encoding with the planes of more others.
        """
        players, (width, height) = self.players(), self.mdp.shape
        count, first = len(players), 5 * len(players)
        planes = np.zeros((count, width, height, first + 16), int)
        for offset, letter in enumerate("PXOTDS"):
            for x, y in self.mdp.terrain_pos_dict[letter]:
                planes[:, x, y, first + offset] = 1
        for viewer in range(count):
            order = [viewer, *(other for other in range(count) if other != viewer)]
            for place, other in enumerate(order):
                x, y, facing, _ = players[other]
                planes[viewer, x, y, place] = 1
                planes[viewer, x, y, count + 4 * place + facing] = 1
        things = [*((p[0], p[1], p[3]) for p in players if p[3]), *((*c, t) for c, (t, _) in self.objects().items())]
        for x, y, thing in things:
            if thing[0] != "s":
                planes[:, x, y, first + 12 + "dot".index(thing)] = 1
                continue
            in_pot = (x, y) in self.mdp.get_pot_locations()
            soup = self.state.objects.get((x, y))
            idle = in_pot and soup.is_idle
            planes[:, x, y, first + (6 if idle else 8)] = thing.count("o")
            planes[:, x, y, first + (7 if idle else 9)] = thing.count("t")
            if in_pot and not idle:
                planes[:, x, y, first + 10] = soup.cook_time_remaining
            planes[:, x, y, first + 11] = 0 if in_pot and not soup.is_ready else 1
        planes[..., first + 15] = horizon - self.state.timestep < 40
        return planes

    def features(self) -> np.ndarray:
        """The features of all players, shape (players, 48 * players)."""
        return np.stack(self.mdp.featurize_state(self.state, self.motion_planner()))

    def motion_planner(self) -> Any:
        """The planner of the features, which games of one layout may share."""
        if self.planner is None:
            self.planner = SimpleNamespace(motion_planner=package().motion_planner(self.mdp, counter_goals=[]))
        return self.planner


def spell(thing: Any) -> str:
    """An object as ``o``, ``t``, ``d``, or ``s`` and its ingredients; nothing as an empty string."""
    if thing is None:
        return ""
    return "s" + "".join(sorted(name[0] for name in thing.ingredients)) if thing.name == "soup" else thing.name[0]


class Cook:
    """A player that walks to cells where something can be done, and does it; sometimes it acts at random."""

    def __init__(self, id: int, rng: np.random.Generator, chance: float = 0.1) -> None:
        self.id, self.rng, self.chance = id, rng, chance
        self.goal: tuple[int, int] | None = None

    def act(self, game: Original) -> int:
        x, y, facing, held = game.players()[self.id]
        if self.rng.random() < self.chance:
            return int(self.rng.integers(6))
        if self.goal is None or self.rng.random() < 0.03:
            self.goal = self._choose(game, held)
        step = self._step_towards(game, (x, y), facing)
        if step == 5 or step is None:
            self.goal = None
        return 4 if step is None else step

    def _choose(self, game: Original, held: str) -> tuple[int, int] | None:
        """A cell of a kind that is useful with this object."""
        objects, cells = game.objects(), game.mdp.terrain_pos_dict
        empty = [cell for cell in cells["X"] if cell not in objects]
        filled = [cell for cell in cells["X"] if cell in objects]
        cooking = [pot for pot in cells["P"] if pot in objects and objects[pot][1] >= 0]
        idle = [pot for pot in cells["P"] if pot not in cooking]
        options: list[tuple[list[tuple[int, int]], float]]
        if held == "":
            begun = [pot for pot in idle if pot in objects]
            options = [(cells["O"], 3), (cells["T"], 2), (filled, 1), (begun, 1), (cells["S"], 0.1)]
            options += [(cells["D"], 5 if cooking else 0.3)]
        elif held == "d":
            options = [(cooking, 8), (empty, 1), (idle, 0.2)]
        elif held[0] == "s":
            options = [(cells["S"], 8), (empty, 1), (idle, 0.2)]
        else:
            options = [(idle, 8), (empty, 1.5), (cooking, 0.2), (cells["S"], 0.1), (filled, 0.1)]
        options = [(some, weight) for some, weight in options if some]
        weights = np.array([weight for _, weight in options])
        some = options[self.rng.choice(len(options), p=weights / weights.sum())][0]
        return some[self.rng.integers(len(some))]

    def _step_towards(self, game: Original, place: tuple[int, int], facing: int) -> int | None:
        """The first action of a shortest way to the goal; None where there is no way."""
        directions = package().directions
        floor, others = set(game.mdp.terrain_pos_dict[" "]), {p[:2] for p in game.players()} - {place}
        queue, first = deque([place]), {place: -1}
        while queue:
            x, y = queue.popleft()
            for act, (dx, dy) in enumerate(directions):
                ahead = (x + dx, y + dy)
                if ahead == self.goal:
                    if (x, y) != place:
                        return first[x, y]
                    return 5 if facing == act else act
                if ahead in floor and ahead not in first and ahead not in others:
                    first[ahead] = act if (x, y) == place else first[x, y]
                    queue.append(ahead)
        return None
