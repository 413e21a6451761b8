"""Entities of a kitchen: the players and the world."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import worldloom as wl
from worldloom.envs.overcooked.tables import SOUP, Size


class Kinds(NamedTuple):
    """The classes of one kitchen."""

    Player: Any
    Kitchen: Any


def make_kinds(
    size: Size, automatic: bool, tables: Mapping[str, np.ndarray], observation: Any, description: int
) -> Kinds:
    """The classes of a kitchen.

    Args:
        size: The size of the world.
        automatic: The default of ``old_dynamics``.
        tables: The arrays of configuration of the layouts.
        observation: The declaration of a player's observation.
        description: The numbers that describe one player, where observations are features, else 0.
    """
    last_cell, last_object = size.cells - 1, 2 * SOUP - 1
    last_layout = len(tables["terrain"]) - 1

    class Person(wl.Components):
        cell: wl.Between(wl.uint8, 0, last_cell)  # x * height + y
        facing: wl.Between(wl.uint8, 0, 3)  # 0 north, 1 south, 2 east, 3 west
        held: wl.Between(wl.uint8, 0, last_object)  # code of the object in the hands
        target: wl.Between(wl.uint8, 0, last_cell)  # the cell after this step if players do not collide
        act: wl.Action(wl.Discrete(6))  # 0 north, 1 south, 2 east, 3 west, 4 stay, 5 interact
        sight: observation
        reward: wl.Reward  # sparse rewards of all players, and the own shaped reward times the shaping weight
        sparse: wl.Info(float)  # reward for own deliveries
        shaped: wl.Info(float)  # own shaped reward

    class Room(wl.World):
        terrain: wl.Config = tables["terrain"]  # code of each cell
        delivery_rewards: wl.Config = tables["delivery_rewards"]  # by the number of the recipe
        cook_times: wl.Config = tables["cook_times"]  # steps, by the number of the recipe
        shaped_rewards: wl.Config = tables["shaped_rewards"]  # ingredient in a pot, useful dish, soup from a pot
        start_cells: wl.Config = tables["start_cells"]
        start_facing: wl.Config = tables["start_facing"]
        start_held: wl.Config = tables["start_held"]
        start_objects: wl.Config = tables["start_objects"]
        start_soups: wl.Config = tables["start_soups"]
        start_ticks: wl.Config = tables["start_ticks"]
        layout_index: wl.Config = 0 if last_layout == 0 else -1  # -1 draws a layout for every episode
        old_dynamics: wl.Config = automatic  # full pots cook by themselves, others never
        shaping: wl.Config = 1.0  # weight of shaped rewards in the first episode of a world
        shaping_episodes: wl.Config = 0  # episodes in which this weight decreases linearly to 0; 0: it is constant
        kitchen: wl.Between(int, 0, last_layout)  # index of this episode's layout
        clock: int  # steps of the episode, including this one
        objects: wl.Between(wl.Array(wl.uint8, size.cells), 0, last_object)  # codes of objects on counters
        soups: wl.Between(wl.Array(wl.uint8, size.pots), 0, SOUP - 1)  # recipe of each pot; 0 is empty
        ticks: wl.Array(wl.int16, size.pots)  # steps of cooking of each pot; -1 before it begins

    Room.size = size
    if not description:

        class Player(Person, wl.Entity):
            pass

        return Kinds(Player, Room)

    class Player(Person, wl.Entity):
        features: wl.Array(float, description)  # what all players observe of this one

    class Kitchen(Room):
        nearest_cells: wl.Config = tables["nearest_cells"]  # nearest cells by 4 * cell + facing

    return Kinds(Player, Kitchen)
