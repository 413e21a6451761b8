"""A plugin: MuJoCo's warnings in tests are logged. By default it appends them to a file in the current folder."""

import importlib.abc
import importlib.util
import sys


class MujocoFinder(importlib.abc.MetaPathFinder):
    """Finds the package mujoco, whoever imports it, and takes its warnings once it is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "mujoco":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), take_messages(module))
        return spec


def take_messages(mujoco):
    from worldloom.robots.loading.messages import MESSAGES

    MESSAGES.install(mujoco)


if "mujoco" in sys.modules:
    take_messages(sys.modules["mujoco"])
else:
    sys.meta_path.insert(0, MujocoFinder())
