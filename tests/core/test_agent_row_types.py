"""Agent rows of every type of component, of two populations at once, and beside agents of a fixed number."""

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from thorough import only_thorough
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.schedule.schedule import plan
from worldloom.core.tools.compare import compare

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Hawk(wl.Entity):
    prey: wl.Ref("Mouse")
    dive: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    beat: wl.Action(wl.MultiDiscrete(3, 2))
    view: wl.Observation(20)
    hungry: wl.Observation(dtype=bool)
    reward: wl.Reward(wl.float64)
    turns: wl.Info(wl.vec2)


class Mouse(wl.Entity):
    size: float
    dig: wl.Action(wl.Box(-2.0, 2.0, (18,)))
    run: wl.Action(wl.Discrete(4))
    map: wl.Observation(2, 3, dtype=wl.uint8)
    hole: wl.Observation(wl.Discrete(5))
    frame: wl.Info(wl.mat22)
    reward: wl.Reward


class Farmer(wl.Entity):
    wait: wl.Action(wl.Discrete(2))
    count: wl.Observation(2)
    reward: wl.Reward


class Land(wl.World):
    born: int
    season: wl.Observation(2)


@wl.system
def begin(world: Land):
    for k in range(2):
        prey = world.spawn(Mouse, size=float(k))
        world.spawn(Hawk, prey=prey)


@wl.system
def dig(mouse: Mouse):
    mouse.size += mouse.dig[17] - mouse.dig[0]
    mouse.reward = mouse.dig[3] + float(mouse.run)
    for i in range(2):
        mouse.map[i, 2] = wl.uint8(mouse.run + i)
    mouse.hole = (mouse.run + 1) % 5
    if mouse.run == 3:
        mouse.despawn()


@wl.system
def hunt(hawk: Hawk, world: Land):
    hawk.reward = wl.float64(hawk.dive.x) * 2.0
    hawk.view[19] = hawk.dive.y
    hawk.view[0] = float(hawk.beat[0])
    hawk.hungry = hawk.beat[1] == 1
    hawk.turns += hawk.dive
    if hawk.prey.alive and hawk.beat[0] == 2:
        hawk.prey.get().despawn()
        hawk.reward += wl.float64(10.0)
    if not hawk.prey.alive and hawk.beat[1] == 1:
        hawk.despawn()


@wl.system
def breed(farmer: Farmer, world: Land):
    farmer.reward = float(farmer.wait)
    if farmer.wait == 0:
        prey = world.spawn(Mouse, size=world.random())
        world.spawn(Hawk, prey=prey)


@wl.system
def frame_mice(mouse: Mouse):
    mouse.frame[0, 1] = mouse.size


@wl.system
def tell(farmer: Farmer, world: Land):
    farmer.count = wl.vec2(float(world.count(Hawk)), float(world.count(Mouse)))


LAND = wl.Definition(
    "Land-test",
    Land,
    {Hawk: wl.UpTo(4, overflow="drop", agents=True), Farmer: 1, Mouse: wl.UpTo(5, overflow="reset", agents=True)},
    reset=(begin,),
    step=(dig, hunt, breed),
    observe=(frame_mice, tell),
    max_steps=25,
    cuda_float32=True,
)


def test_python_and_cpu_agree() -> None:
    assert compare(LAND, ("python", "cpu"), num_worlds=6, steps=80) is None


def test_free_rows_are_zero_and_others_those_of_their_entities() -> None:
    simulation = wl.Simulation(LAND, 8, "cpu", seed=0)
    generator, spaces = np.random.default_rng(0), LAND.actions()
    seen = 0
    for _ in range(40):
        simulation.step(
            {
                name: (
                    generator.uniform(-1, 1, column.shape).astype(np.float32)
                    if column.dtype == np.float32
                    else generator.integers(0, 2, column.shape, dtype=np.int32) * 2
                    if name == "Hawk.beat"
                    else generator.integers(0, field.space.n, column.shape, dtype=np.int32)
                )
                for name, (table, field) in spaces.items()
                for column in [simulation.tables[table][field.name]]
            }
        )
        for kind, names in ((Hawk, ("view", "hungry", "turns")), (Mouse, ("map", "hole", "frame"))):
            table = simulation[kind]
            active, counts = table.agent_rows.active.numpy(), table.counts.numpy()
            assert active.sum(1).tolist() == counts.tolist()
            for name in names:
                values, rows = table[name].numpy(), table.agent_rows[name].numpy()
                assert not rows[~active].any()
                own = table["wl_agent_row"].numpy()
                for world, count in enumerate(counts):
                    assert np.array_equal(rows[world, own[world, :count]], values[world, :count])
                    seen += int(rows.any())
    assert seen > 0


@only_thorough  # NVRTC; test_cuda_text.py compiles others
@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_the_text_for_cuda_compiles(tmp_path: Path) -> None:
    program = generate(plan(LAND.checked.for_cuda(), "same_step", True), fuse=True, cuda=True)
    kernels = program._build(f"text_{len(program.text)}", cuda=True)
    wp.compile_aot_module(next(iter(kernels.values())).module, arch=80, module_dir=tmp_path, use_ptx=True)
    assert list(tmp_path.glob("*.ptx"))
