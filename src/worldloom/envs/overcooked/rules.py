"""The rules of overcooked-ai: interactions, then movement, then cooking."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.overcooked.kinds import Kinds
from worldloom.envs.overcooked.recipes import MAX_INGREDIENTS
from worldloom.envs.overcooked.tables import COUNTER, DISH, EMPTY, FLOOR, NOT_COOKING, ONION, POT, SERVING, SOUP, Size

STAY, INTERACT = 4, 5
FOR_INGREDIENT, FOR_DISH, FOR_SOUP = range(3)
"""Indices of shaped rewards."""


@wl.function
def ingredients(recipe: int) -> int:
    """The number of ingredients of a recipe."""
    return (recipe >> 2) + (recipe & 3)


@wl.function
def cell_ahead(cell: int, facing: int, height: int) -> int:
    """The neighbour of a cell. Players stand on floor, which is never at the edge."""
    if facing < 2:
        return cell + 2 * facing - 1
    return cell + height * (5 - 2 * facing)


def rule_systems(kinds: Kinds, size: Size) -> list[System]:
    """The systems of a step, in order."""
    return [_interact_system(kinds, size), _move_system(kinds, size), _cook_system(kinds, size), _reward_system(kinds)]


def start_system(kinds: Kinds, size: Size, layouts: int) -> System:
    """Begins an episode: the layout's start state."""
    cells, pots = size.cells, size.pots

    @wl.system
    def begin(world: kinds.Kitchen):
        world.kitchen = world.layout_index if world.layout_index >= 0 else world.integer(layouts)
        world.clock = 0
        for player in world.all(kinds.Player):
            player.cell = world.start_cells[world.kitchen, player.id]
            player.facing = world.start_facing[world.kitchen, player.id]
            player.held = world.start_held[world.kitchen, player.id]
        for cell in range(cells):
            world.objects[cell] = world.start_objects[world.kitchen, cell]
        for pot in range(pots):
            world.soups[pot] = world.start_soups[world.kitchen, pot]
            world.ticks[pot] = world.start_ticks[world.kitchen, pot]

    return begin


def _interact_system(kinds: Kinds, size: Size) -> System:
    """Players interact with the cells that they face, in the order of their ids.

    A dish is useful if there are two players, no dish lies on a counter, and fewer dishes are in hands than pots were
    cooking, ready or partly full at the start of the step.
    """
    cells, height, pots, pair = size.cells, size.height, size.pots, size.players == 2

    @wl.system
    def interact(world: kinds.Kitchen):
        wanted = 0  # pots that will need a dish
        if pair:
            for pot in range(pots):
                if world.ticks[pot] >= 0 or 0 < ingredients(world.soups[pot]) < MAX_INGREDIENTS:
                    wanted += 1
        for player in world.all(kinds.Player):
            player.sparse = 0.0
            player.shaped = 0.0
            if player.act != INTERACT:
                continue
            cell = cell_ahead(player.cell, player.facing, height)
            terrain = int(world.terrain[world.kitchen, cell])
            held = int(player.held)
            if terrain == COUNTER:
                placed = int(world.objects[cell])
                if (held == EMPTY) != (placed == EMPTY):
                    world.objects[cell] = wl.uint8(held)
                    player.held = wl.uint8(placed)
            elif ONION <= terrain <= DISH and held == EMPTY:
                player.held = wl.uint8(terrain)
                if terrain == DISH and wanted > 0:
                    carried, lying = 0, 0
                    for other in world.all(kinds.Player):
                        if other.id != player.id and other.held == DISH:
                            carried += 1
                    for counter in range(cells):
                        if world.objects[counter] == DISH:
                            lying += 1
                    if carried < wanted and lying == 0:
                        player.shaped = world.shaped_rewards[world.kitchen, FOR_DISH]
            elif terrain == SERVING and held >= SOUP:
                player.sparse = world.delivery_rewards[world.kitchen, held - SOUP]
                player.held = wl.uint8(EMPTY)
            elif terrain >= POT:
                pot = terrain - POT
                recipe = int(world.soups[pot])
                tick = int(world.ticks[pot])
                if held == EMPTY:
                    if recipe > 0 and tick < 0 and not world.old_dynamics:
                        world.ticks[pot] = wl.int16(0)
                elif held < DISH:
                    if tick < 0 and ingredients(recipe) < MAX_INGREDIENTS:
                        world.soups[pot] = wl.uint8(recipe + (4 if held == ONION else 1))
                        player.held = wl.uint8(EMPTY)
                        player.shaped = world.shaped_rewards[world.kitchen, FOR_INGREDIENT]
                elif held == DISH and tick >= 0 and tick >= int(world.cook_times[world.kitchen, recipe]):
                    world.soups[pot] = wl.uint8(0)
                    world.ticks[pot] = wl.int16(NOT_COOKING)
                    player.held = wl.uint8(SOUP + recipe)
                    player.shaped = world.shaped_rewards[world.kitchen, FOR_SOUP]

    return interact


def _move_system(kinds: Kinds, size: Size) -> System:
    """Players turn and move; if two would meet in a cell or swap cells, all of them stay where they are."""
    height = size.height

    @wl.system
    def move(world: kinds.Kitchen):
        for player in world.all(kinds.Player):
            player.target = player.cell
            if player.act < STAY:
                player.facing = wl.uint8(player.act)
                ahead = cell_ahead(player.cell, player.act, height)
                if world.terrain[world.kitchen, ahead] == FLOOR:
                    player.target = wl.uint8(ahead)
        collision = False
        for player in world.all(kinds.Player):
            for other in world.all(kinds.Player):
                if other.id < player.id:
                    meet = player.target == other.target
                    swap = player.target == other.cell and player.cell == other.target
                    collision = collision or meet or swap
        if not collision:
            for player in world.all(kinds.Player):
                player.cell = player.target

    return move


def _cook_system(kinds: Kinds, size: Size) -> System:
    """Soups cook. With old dynamics full pots begin to."""
    pots = size.pots

    @wl.system
    def cook(world: kinds.Kitchen):
        world.clock = world.step + 1
        for pot in range(pots):
            recipe, tick = int(world.soups[pot]), int(world.ticks[pot])
            if world.old_dynamics and tick < 0 and ingredients(recipe) == MAX_INGREDIENTS:
                tick = 0
            if 0 <= tick < int(world.cook_times[world.kitchen, recipe]):
                tick += 1
            world.ticks[pot] = wl.int16(tick)

    return cook


def _reward_system(kinds: Kinds) -> System:
    """Every player is paid the deliveries of all, and its own shaped reward."""

    @wl.system
    def pay(world: kinds.Kitchen):
        weight = world.shaping
        if world.shaping_episodes > 0:
            weight *= max(0.0, 1.0 - float(world.episode) / float(world.shaping_episodes))
        earned = 0.0
        for player in world.all(kinds.Player):
            earned += player.sparse
        for player in world.all(kinds.Player):
            player.reward = earned + weight * player.shaped

    return pay
