"""Every file of wrong_worlds is refused at the very line that its comment marks, in the user's own words."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

FOLDER = Path(__file__).parent / "wrong_worlds"
FILES = sorted(FOLDER.glob("*.py"))
MARK = re.compile(r"# WRONG: (.*)$")
GENERATED = re.compile(r"\bv_|\bwl_|__col\b|\bhelper_|\bp_|worldloom_cpu|step_\d")


def expectation(file: Path) -> tuple[int, str]:
    """The line that the error must name, and the pattern that its problem must match."""
    marked = [
        (number, found[1])
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (found := MARK.search(line))
    ]
    assert len(marked) == 1, f"{file.name} marks {len(marked)} lines"
    return marked[0]


def load(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"wrong_world_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_there_are_at_least_twenty_five() -> None:
    assert len(FILES) >= 25


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_wrong_world_is_refused(file: Path) -> None:
    line, pattern = expectation(file)
    with pytest.raises(wl.DefinitionError) as caught:
        load(file)
    error = caught.value
    assert Path(error.file) == file
    assert error.line == line, str(error)
    assert re.search(pattern, error.problem), str(error)
    assert error.fix and f"Fix: {error.fix}" in str(error)
    assert f"{file}:{line}: " in str(error)
    assert not GENERATED.search(f"{error.problem} {error.fix}"), str(error)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("spawn_misspelt", "did you mean world.spawn?"),
        ("entity_called", "write world.spawn(Hit, component=value)"),
        ("entity_called_by_place", "write world.spawn(Hit, component=value)"),
        ("despawn_reference", "follow it first: .get().despawn()"),
        ("keyword_of_method", "give the arguments by position"),
    ],
)
def test_the_mend_is_the_one_that_helps(name: str, fix: str) -> None:
    with pytest.raises(wl.DefinitionError) as caught:
        load(FOLDER / f"{name}.py")
    assert caught.value.fix.startswith(fix)


# -- worlds that go wrong while they run -----------------------------------------------------------------------------


class Walker(wl.Entity):
    task: wl.Action(
        wl.Discrete(5)
    )  # 0 nothing, 1 bad index, 2 bad reference, 3 not a number, 4 said by the world itself
    cards: wl.Array(int, 4)
    friend: wl.Ref("Walker")
    heat: wl.Finite(float)
    age: int
    steps: int


class Trail(wl.World):
    pass


@wl.system
def stumble(walker: Walker, world: Trail):
    walker.age += 1
    if walker.task == 1:
        walker.cards[walker.age + 10] = 7
    elif walker.task == 2:
        walker.steps = walker.friend.get().id
    elif walker.task == 3:
        walker.heat = wl.sqrt(-1.0 - float(walker.age))
    elif walker.task == 4:
        world.fail("walker is lost after {value} steps", walker.age)


FAULTY = wl.Definition("Faulty-test", Trail, {Walker: 2}, step=(stumble,))
NOTHING, INDEX, REFERENCE, NAN, SAID = range(5)
MESSAGES = {
    INDEX: r"^index of walker.cards \(size 4\) 13 is out of range \(system 'stumble', test_wrong_worlds.py:\d+\)$",
    REFERENCE: r"^an empty or stale reference to Walker was followed \(system 'stumble', test_wrong_worlds.py:\d+\)$",
    NAN: r"^heat of Walker \d+ is not a finite number \(written by system 'stumble', test_wrong_worlds.py:\d+\)$",
    SAID: r"^walker is lost after 3 steps",
    7: r"^action Walker.task is 7, which is not in 0 to 4$",
    -1: r"^action Walker.task is -1, which is not in 0 to 4$",
}


@pytest.fixture(scope="module", params=["python", "cpu"])
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("task", MESSAGES)
def test_fault_stays_in_its_world(device: str, task: int) -> None:
    """World 1 goes wrong in its third step; it alone is reset, and the fault says where and when."""
    sim = wl.Simulation(FAULTY, 3, device, seed=0)
    quiet = np.zeros((3, 2), np.int32)
    loud = quiet.copy()
    loud[1, 0] = task
    sim.step(quiet)
    sim.step(quiet)
    assert sim.errors() == []
    sim.step(loud)
    faults = sim.errors()
    assert [(f.world, f.episode, f.step) for f in faults] == [(1, 0, 2)]
    assert re.search(MESSAGES[task], faults[0].message), faults[0].message
    assert str(faults[0]).startswith("world 1, episode 0, step 2: ")
    assert sim.truncated.numpy().tolist() == [False, True, False]
    assert sim[Walker].age.numpy().tolist() == [[3, 3], [0, 0], [3, 3]]
    assert np.isfinite(sim[Walker].heat.numpy()).all()
    assert not sim[Walker].cards.numpy()[[0, 2]].any()
    sim.step(quiet)
    assert sim.errors() == []
    assert sim[Walker].age.numpy().tolist() == [[4, 4], [1, 1], [4, 4]]
    assert sim.world.episode.numpy().tolist() == [0, 1, 0]


def test_world_ids_in_faults_count_from_the_offset(device: str) -> None:
    sim = wl.Simulation(FAULTY, 2, device, seed=0, world_offset=100)
    sim.step(np.array([[0, 0], [0, INDEX]], np.int32))
    assert [(f.world, f.step) for f in sim.errors()] == [(101, 0)]


class Reader(wl.Entity):
    cards: wl.Array(int, 2)
    friend: wl.Ref("Reader")
    place: int
    found: int


@wl.system
def read_on(reader: Reader, world: Trail):
    if reader.place < 2 and reader.cards[reader.place] == 0:
        reader.found += 1
    if reader.place >= 2 or reader.cards[reader.place] == 1:
        reader.found += 0
    reader.found += reader.cards[reader.place] if reader.place < 2 else 0
    if reader.friend.alive and reader.friend.get().place > 0:
        reader.found += 100
    while reader.place < 2 and reader.cards[reader.place] > 0:
        reader.found += 100


@wl.system
def turn_page(reader: Reader, world: Trail):
    reader.place += 1


CAREFUL = wl.Definition("Careful-test", Trail, {Reader: 2}, step=(read_on, turn_page))


def test_branches_not_taken_have_no_faults(device: str) -> None:
    """``and``, ``or`` and ternaries look at their second half only where they must."""
    sim = wl.Simulation(CAREFUL, 1, device, seed=0)
    for _ in range(6):
        sim.step()
    assert sim.errors() == []
    assert sim[Reader].found.numpy().tolist() == [[2, 2]]
