"""Steps with uniform random actions drawn on the device: one kernel for the actions and those of the step in one graph.

``RandomPlayer.run`` launches graphs of several steps, the engine's own launches, as a trainer does in a rollout.
``RandomPlayer.step_publicly`` takes the same steps through ``Simulation.step``. ``step_seconds`` times both.

There is no generator state: a draw is Philox of (seed, world, episode, step, position), like the random numbers of the
worlds. A masked choice is never drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

import worldloom as wl
from worldloom.core.base.shards import WARP_LOCK, run_all
from worldloom.core.kernels import random
from worldloom.core.measure.timing import NUM_ACTION_SETS, Run, median_rates
from worldloom.core.model.spaces import Discrete, MultiDiscrete
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.executor import Launchable
from worldloom.learn.agents.agent_group import MASKS

PARTS = 4
"""Choices that an action may have."""
STREAM = wp.constant(2047 << random.STREAM_SHIFT)
"""Where the numbers of the actions lie apart from those of the systems."""


@wp.func
def draw_quad(
    words: wp.vec4ui, quad: int, world: int, numbers: int, sizes: wp.vec4i, parts: int, into: wp.array(dtype=wp.int32)
):
    """Make four numbers of a world's actions of four random words."""
    for place in range(4):
        number = 4 * quad + place
        if number < numbers:
            size = wp.uint64(wp.uint32(sizes[number % parts]))
            into[world * numbers + number] = wp.int32((wp.uint64(words[place]) * size) >> wp.uint64(32))


@wp.kernel(enable_backward=False)
def draw_two(
    first_world: int,
    seed: wp.array(dtype=wp.uint32),
    episode: wp.array(dtype=wp.int32),
    step: wp.array(dtype=wp.int32),
    one: wp.array(dtype=wp.int32),
    one_numbers: int,
    one_sizes: wp.vec4i,
    one_parts: int,
    two: wp.array(dtype=wp.int32),
    two_numbers: int,
    two_sizes: wp.vec4i,
    two_parts: int,
):
    """The actions of two kinds, ``one_numbers`` and ``two_numbers`` per world, in one launch; one thread per four."""
    one_quads = (one_numbers + 3) // 4
    quads = one_quads + (two_numbers + 3) // 4
    world = first_world + wp.tid() // quads
    quad = wp.tid() % quads
    words = random.philox(
        wp.uint32(0),
        wp.uint32(STREAM + quad),
        wp.uint32(step[world]),
        wp.uint32(episode[world]),
        seed[world],
        wp.uint32(world),
    )
    if quad < one_quads:
        draw_quad(words, quad, world, one_numbers, one_sizes, one_parts, one)
    else:
        draw_quad(words, quad - one_quads, world, two_numbers, two_sizes, two_parts, two)


@wp.kernel(enable_backward=False)
def draw_allowed(
    first_world: int,
    first_agent: int,
    seed: wp.array(dtype=wp.uint32),
    episode: wp.array(dtype=wp.int32),
    step: wp.array(dtype=wp.int32),
    action: wp.array2d(dtype=wp.int32),
    mask: wp.array2d(dtype=Any),
    agents: int,
):
    """One thread per agent, whose action is one choice: each that ``mask`` allows is as likely as any other."""
    row = wp.tid()
    world = first_world + row // agents
    agent = row % agents
    place = world * agents + agent
    allowed = wp.int32(0)
    for choice in range(mask.shape[1]):
        if mask[place, choice] != mask.dtype(0):
            allowed += 1
    left = random.integer(seed[world], world, episode[world], step[world], STREAM + first_agent + agent, 0, 0, allowed)
    for choice in range(mask.shape[1]):
        if mask[place, choice] != mask.dtype(0):
            if left == 0:
                action[place, 0] = choice
            left -= 1


class RandomPlayer:
    """Steps a simulation with random actions, ``steps`` steps per recorded graph; on the CPU one graph per shard.

    Args:
        simulation: Compiled, with one or two kinds of agents whose actions are choices, and without callables.
        steps: Steps that a launch of the graph takes.
    """

    def __init__(self, simulation: wl.Simulation, steps: int = 10) -> None:
        assert not simulation.has_host_calls, "a graph cannot repeat callables"
        self.simulation, self.steps = simulation, steps
        self._draws = self._plan()
        for draw in self._draws:
            draw(*simulation.slices[0])  # loads the kernel, which a recording cannot
        wp.synchronize_device(simulation.device)  # graphs and public steps run on different streams
        with WARP_LOCK:
            shards = range(len(simulation.slices))
            self._graphs = [self._record(shard) for shard in shards]
            self._draw_graphs = [self._record_draws(shard, 1) for shard in shards]
            self._many_draws = [self._record_draws(shard, steps) for shard in shards]

    def _plan(self) -> list[Callable[[int, int], None]]:
        """Launches that draw the actions of the worlds from ``first`` to ``end``."""
        simulation = self.simulation
        columns = [simulation.tables[table][field.name] for table, field in simulation.definition.actions().values()]
        masks = [_mask(simulation, column) for column in columns]
        if any(mask is not None for mask in masks):
            starts = np.cumsum([0, *(column.count for column in columns)])
            return [
                functools.partial(self._draw_allowed, c, m, int(s))
                for c, m, s in zip(columns, masks, starts, strict=False)
            ]
        assert len(columns) <= 2, "two kinds of agents at most"
        return [functools.partial(self._draw_two, columns)]

    @property
    def _key(self) -> list[Any]:
        return [self.simulation.world[name].array for name in ("seed", "episode", "step")]

    def _draw_two(self, columns: list[Column], first: int, end: int) -> None:
        inputs: list[Any] = [first, *self._key]
        quads = 0
        for column in columns:
            sizes = _sizes(column)
            numbers = column.count * len(sizes)
            quads += -(-numbers // 4)
            inputs += [_numbers(column).flatten(), numbers, wp.vec4i(*sizes, *(1,) * (PARTS - len(sizes))), len(sizes)]
        if len(columns) == 1:
            inputs += [inputs[4], 0, wp.vec4i(1), 1]
        wp.launch(draw_two, (end - first) * quads, inputs=inputs, device=self.simulation.device, record_tape=False)

    def _draw_allowed(self, column: Column, mask: Column, first_agent: int, first: int, end: int) -> None:
        inputs = [first, first_agent, *self._key, _numbers(column), _numbers(mask), column.count]
        wp.launch(
            draw_allowed, (end - first) * column.count, inputs=inputs, device=self.simulation.device, record_tape=False
        )

    def _record(self, shard: int) -> wp.Graph:
        executor = self.simulation.executor
        with wp.ScopedCapture(device=self.simulation.device, force_module_load=False) as capture:
            for _ in range(self.steps):
                for draw in self._draws:
                    draw(*self.simulation.slices[shard])
                for kernel in executor.program.step:
                    assert isinstance(kernel, Launchable)
                    executor.launch(kernel, shard)
        return capture.graph

    def _record_draws(self, shard: int, times: int) -> wp.Graph:
        with wp.ScopedCapture(device=self.simulation.device, force_module_load=False) as capture:
            for draw in self._draws * times:
                draw(*self.simulation.slices[shard])
        return capture.graph

    def launch(self) -> None:
        """Take ``steps`` steps, without waiting for a GPU."""
        _launch_all(self._graphs)

    def run(self, launches: int) -> None:
        """Launch so often, and wait for the end."""
        for _ in range(launches):
            self.launch()
        wp.synchronize_device(self.simulation.device)

    def run_draws(self, launches: int) -> None:
        """Draw the actions as :meth:`run` does, without the steps; wait for the end."""
        for _ in range(launches):
            _launch_all(self._many_draws)
        wp.synchronize_device(self.simulation.device)

    def step_publicly(self, steps: int) -> None:
        """Take steps through ``Simulation.step``, each after one launch that draws its actions; wait for the end."""
        step, stream = self.simulation.step, _user_stream(self.simulation.device)
        for _ in range(steps):
            _launch_all(self._draw_graphs, stream)
            step()
        wp.synchronize_device(self.simulation.device)

    def seconds_per_step(self, seconds: float) -> float:
        """Median time of one step of the batch over seven rounds, which together take about ``seconds``."""
        return 1.0 / (median_rates({"": self.run}, seconds)[""] * self.steps)

    def seconds_per_public_step(self, seconds: float) -> float:
        """The same as :meth:`seconds_per_step` with ``Simulation.step``."""
        return 1.0 / median_rates({"": self.step_publicly}, seconds)[""]


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of one step of the batch, by who calls it.

    Attributes:
        graph: In a recorded graph of ``RandomPlayer.steps`` steps: the engine's own launches.
        draws: The part of ``graph`` that draws the actions, in a graph of its own.
        public: Through ``Simulation.step``, one call per step, after one launch that draws the actions.
        env: Through ``step`` of an environment of ``wl.make`` with a new array of actions; None where not measured.
    """

    graph: float
    draws: float
    public: float
    env: float | None = None


def step_seconds(player: RandomPlayer, seconds: float, env: Any = None) -> StepSeconds:
    """Time the graph, its draws, ``Simulation.step`` and ``env.step`` on the same worlds, in alternating rounds.

    Args:
        player: Steps the worlds.
        seconds: Approximate time for each of them.
        env: The environment of ``player.simulation``, reset; None to leave it out.
    """
    runs: dict[str, Run] = {"graph": player.run, "draws": player.run_draws, "public": player.step_publicly}
    if env is not None:
        runs["env"] = env_runner(env)
    rates = median_rates(runs, seconds * len(runs))
    seconds_of_env = 1.0 / rates["env"] if env is not None else None
    graph, draws = (1.0 / (rates[name] * player.steps) for name in ("graph", "draws"))
    return StepSeconds(graph, draws, 1.0 / rates["public"], seconds_of_env)


def env_runner(env: Any) -> Run:
    """A function that steps a ``wl.make(..., env_type="torch")`` with tensors of random actions in rotation."""
    import torch

    device = env.simulation.device
    env.action_space.seed(0)
    sets = [torch.from_numpy(env.action_space.sample()).to(str(device.alias)) for _ in range(NUM_ACTION_SETS)]

    def run(steps: int) -> None:
        for number in range(steps):
            env.step(sets[number % NUM_ACTION_SETS])
        wp.synchronize_device(device)

    return run


def _launch_all(graphs: list[wp.Graph], stream: wp.Stream | None = None) -> None:
    """Launch one graph per shard; ``stream`` is a GPU's, None for Warp's own."""
    if len(graphs) == 1:
        wp.capture_launch(graphs[0], stream)
    else:
        run_all([functools.partial(wp.capture_launch, graph) for graph in graphs])


def _user_stream(device: wp.Device) -> wp.Stream | None:
    """The stream on which ``Simulation.step`` launches: PyTorch's current one on a GPU."""
    if not device.is_cuda:
        return None
    import torch

    return wp.stream_from_torch(torch.cuda.current_stream(device.ordinal))


def _numbers(column: Column) -> wp.array:
    """A column as numbers of one row per agent, shape (rows, numbers)."""
    rows = column.num_worlds * column.count
    kind = {"bool": wp.bool, "int8": wp.int8, "int32": wp.int32, "float32": wp.float32}[column.dtype.name]
    return wp.array(
        ptr=column.array.ptr, dtype=kind, shape=(rows, int(np.prod(column.field.value_shape))), device=column.device
    )


def _sizes(column: Column) -> tuple[int, ...]:
    """How many choices each part of an action has."""
    space = column.field.space
    sizes = space.choices if isinstance(space, MultiDiscrete) else (space.n,) if isinstance(space, Discrete) else ()
    assert 0 < len(sizes) <= PARTS, f"{column.name} is an action of up to {PARTS} choices"
    return sizes


def _mask(simulation: wl.Simulation, column: Column) -> Column | None:
    """The column that says which choices of an action are allowed, by the names that a trainer knows it by."""
    found = simulation.tables[column.table].columns
    return next((found[name] for name in (mask.format(column.field.name) for mask in MASKS) if name in found), None)
