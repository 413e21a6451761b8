"""Lazy infos are dicts: every use of one finds its entries, which are made once."""

import copy
import pickle
import threading

import pytest
from torch.utils._pytree import tree_map

import worldloom as wl
from worldloom.vector.transfer.lazy_infos import LazyInfos, lazy_infos

ENTRIES = {"lives": 3, "_lives": True}


USES = {
    "getitem": lambda infos: infos["lives"] == 3,
    "get": lambda infos: infos.get("lives") == 3 and infos.get("none", 5) == 5,
    "in": lambda infos: "lives" in infos and "none" not in infos,
    "len": lambda infos: len(infos) == 2,
    "bool": bool,
    "iteration": lambda infos: list(infos) == ["lives", "_lives"],
    "reversed": lambda infos: list(reversed(infos)) == ["_lives", "lives"],
    "keys": lambda infos: infos.keys() == ENTRIES.keys(),
    "values": lambda infos: list(infos.values()) == [3, True],
    "items": lambda infos: list(infos.items()) == list(ENTRIES.items()),
    "equality": lambda infos: infos == ENTRIES,
    "equality of another": lambda infos: [infos] == [ENTRIES],
    "inequality": lambda infos: infos != {},
    "repr": lambda infos: repr(infos) == repr(ENTRIES),
    "dict": lambda infos: dict(infos) == ENTRIES,
    "unpacking": lambda infos: {**infos} == ENTRIES and (lambda **entries: entries)(**infos) == ENTRIES,
    "update of another": lambda infos: _updated({}, infos) == ENTRIES,
    "update": lambda infos: _updated(infos, {"more": 1}) == {**ENTRIES, "more": 1},
    "or": lambda infos: (infos | {"more": 1}) == {**ENTRIES, "more": 1} == ({"more": 1} | infos),
    "setitem": lambda infos: _assigned(infos, "more", 1) == {**ENTRIES, "more": 1},
    "delitem": lambda infos: _deleted(infos, "lives") == {"_lives": True},
    "pop": lambda infos: infos.pop("lives") == 3 and infos == {"_lives": True},
    "popitem": lambda infos: infos.popitem() == ("_lives", True),
    "setdefault": lambda infos: infos.setdefault("lives", 9) == 3,
    "clear": lambda infos: infos.clear() is None and infos == {},
    "copy": lambda infos: infos.copy() == copy.copy(infos) == copy.deepcopy(infos) == ENTRIES,
    "pickle": lambda infos: _is_plain(pickle.loads(pickle.dumps(infos))),
    "another of its type": lambda infos: type(infos)(infos) == ENTRIES,
    "match": lambda infos: _matched(infos) == 3,
}


def _updated(target, source):
    target.update(source)
    return target


def _assigned(infos, key, value):
    infos[key] = value
    return infos


def _deleted(infos, key):
    del infos[key]
    return infos


def _is_plain(infos):
    return type(infos) is dict and infos == ENTRIES


def _matched(infos):
    match infos:
        case {"lives": lives}:
            return lives
    return None


@pytest.mark.parametrize("use", USES)
def test_a_first_use_makes_the_entries(use):
    calls = []

    def build(values):
        calls.append(values)
        return dict(values)

    infos = lazy_infos(build, ENTRIES)
    assert isinstance(infos, dict) and calls == []
    assert USES[use](infos)
    assert calls == [ENTRIES]


def test_every_method_of_dict_is_covered():
    covered = {name for name in vars(LazyInfos) if name in vars(dict)}
    inherited = set(vars(dict)) - covered
    harmless = {"__new__", "__init__", "__getattribute__", "__hash__", "__sizeof__", "__class_getitem__", "fromkeys"}
    comparisons = {"__lt__", "__le__", "__gt__", "__ge__"}  # not supported by dicts
    assert inherited <= harmless | comparisons


def test_two_threads_find_the_entries():
    building, proceed = threading.Event(), threading.Event()

    def build(values):
        building.set()
        proceed.wait(10)
        return dict(values)

    infos = lazy_infos(build, ENTRIES)
    lengths = []
    threads = [threading.Thread(target=lambda: lengths.append(len(infos))) for _ in range(2)]
    threads[0].start()
    building.wait(10)
    threads[1].start()  # while the first one makes the entries
    threads[1].join(0.05)
    proceed.set()
    for thread in threads:
        thread.join()
    assert lengths == [2, 2]


def test_trees_of_pytorch_hold_the_entries():
    env = wl.make("CartPole-v1", num_envs=2, env_type="torch", seed=0)
    infos = env.step(env.action_space.sample())[4]
    assert type(infos) is LazyInfos
    doubled = tree_map(lambda tensor: tensor * 2, infos)
    assert type(doubled) is dict and doubled["final_obs"].equal(2 * infos["final_obs"])
