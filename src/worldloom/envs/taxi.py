"""Taxi: pick up a passenger in a small town and drop them off at their destination."""

import functools

import worldloom as wl
from worldloom.core.model.canvas import Canvas, Image

TOWN = (
    "|R: | : :G|",
    "| : | : : |",
    "| : : : : |",
    "| | : | : |",
    "|Y| : |B: |",
)
"""Five rows of five cells; a bar between two cells is a wall."""
SIZE = 5
EAST_WALLS = sum(
    1 << (row * SIZE + column) for row in range(SIZE) for column in range(SIZE) if TOWN[row][2 * column + 2] == "|"
)
"""One bit per cell: whether there is a wall east of it."""
PADS = wl.vec4i(
    *(
        next(row * SIZE + line.index(letter) // 2 for row, line in enumerate(TOWN) if letter in line)
        for letter in "RGYB"
    )
)
"""The cells of the pads: red, green, yellow, blue."""
COLORS = ((230, 70, 70), (80, 180, 90), (240, 200, 60), (80, 110, 220))
ABOARD = 4
SOUTH, NORTH, EAST, WEST, PICK_UP, DROP_OFF = range(6)


class Cab(wl.Entity):
    cell: wl.Between(int, 0, 24)  # row * 5 + column
    passenger: wl.Between(int, 0, 4)  # the pad of the passenger, or ABOARD
    destination: wl.Between(int, 0, 3)  # the pad of the destination
    fickle: bool  # whether the passenger will change the destination once
    act: wl.Action(wl.Discrete(6))  # 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off
    sight: wl.Observation(wl.Discrete(500))
    reward: wl.Reward
    prob: wl.Info(float)  # probability of the last transition
    action_mask: wl.Info(wl.int8, 6)  # 1 for actions that change the state


class Town(wl.World):
    is_rainy: wl.Config = False  # whether moves are stochastic
    rainy_probability: wl.Config = 0.8  # probability of the chosen direction in the rain
    fickle_passenger: wl.Config = False  # whether passengers may change their destination
    fickle_probability: wl.Config = 0.3  # probability of that


@wl.function
def moved(cell: int, heading: int) -> int:
    """The next cell in a direction, or the same cell at a wall."""
    if heading == SOUTH and cell < SIZE * (SIZE - 1):
        return cell + SIZE
    if heading == NORTH and cell >= SIZE:
        return cell - SIZE
    if heading == EAST and EAST_WALLS >> cell & 1 == 0:
        return cell + 1
    if heading == WEST and cell % SIZE > 0 and EAST_WALLS >> (cell - 1) & 1 == 0:
        return cell - 1
    return cell


@wl.function
def pad_at(cell: int) -> int:
    """The pad in a cell, or -1."""
    for pad in range(4):
        if PADS[pad] == cell:
            return pad
    return -1


@wl.system
def drive(cab: Cab, world: Town):
    cab.prob = 1.0
    if cab.act > WEST:
        return
    cab.reward = -1.0
    ahead = moved(cab.cell, cab.act)
    if world.is_rainy:
        aside = (1.0 - world.rainy_probability) / 2.0
        drift = world.weighted(wl.vec3(world.rainy_probability, aside, aside))
        cab.prob = world.rainy_probability if drift == 0 else aside
        if drift > 0 and ahead != cab.cell:
            ahead = moved(cab.cell, (EAST if cab.act <= NORTH else SOUTH) + drift - 1)
    if cab.fickle and cab.passenger == ABOARD and ahead != cab.cell:
        cab.fickle = False
        cab.destination = (cab.destination + world.integer(1, 4)) % 4
    cab.cell = ahead


@wl.system
def serve(cab: Cab, world: Town):
    pad = pad_at(cab.cell)
    if cab.act == PICK_UP:
        cab.reward = -10.0
        if cab.passenger == pad:
            cab.passenger = ABOARD
            cab.reward = -1.0
    elif cab.act == DROP_OFF:
        cab.reward = -10.0
        if cab.passenger == ABOARD and pad >= 0:
            cab.passenger = pad
            cab.reward = -1.0
            if pad == cab.destination:
                cab.reward = 20.0
                world.terminate()


@wl.system
def place(cab: Cab, world: Town):
    cab.cell = world.integer(SIZE * SIZE)
    cab.passenger = world.integer(4)
    cab.destination = (cab.passenger + world.integer(1, 4)) % 4
    cab.fickle = world.fickle_passenger and world.random() < world.fickle_probability
    cab.prob = 1.0


@wl.system
def look(cab: Cab):
    cab.sight = (cab.cell * 5 + cab.passenger) * 4 + cab.destination
    for heading in range(4):
        cab.action_mask[heading] = wl.int8(moved(cab.cell, heading) != cab.cell)
    pad = pad_at(cab.cell)
    cab.action_mask[PICK_UP] = wl.int8(cab.passenger == pad)
    cab.action_mask[DROP_OFF] = wl.int8(cab.passenger == ABOARD and pad >= 0)


def draw(sim: wl.Simulation, world: int) -> Image:
    cab = sim["Cab"]
    cell, passenger, destination = (
        int(column.numpy()[world, 0]) for column in (cab.cell, cab.passenger, cab.destination)
    )
    size = 80.0
    canvas = Canvas(440, 440, (96, 96, 104))
    canvas.rectangle(20.0, 20.0, 400.0, 400.0, (196, 196, 200))

    def corner(place: int) -> tuple[float, float]:
        return 20.0 + place % SIZE * size, 20.0 + place // SIZE * size

    for pad, color in enumerate(COLORS):
        left, top = corner(int(PADS[pad]))
        canvas.rectangle(left + 6.0, top + 6.0, size - 12.0, size - 12.0, color)
        canvas.text(left + 10.0, top + 10.0, "RGYB"[pad], (255, 255, 255), 2.0)
        if pad == destination:
            canvas.rectangle(left + 16.0, top + 26.0, size - 32.0, size - 42.0, (120, 70, 50))
            canvas.polygon(
                [(left + 10.0, top + 28.0), (left + size / 2, top + 8.0), (left + size - 10.0, top + 28.0)],
                (150, 40, 40),
            )
    for place in range(SIZE * SIZE):
        left, top = corner(place)
        if EAST_WALLS >> place & 1 and place % SIZE < SIZE - 1:
            canvas.rectangle(left + size - 3.0, top, 6.0, size, (96, 96, 104))
    if passenger < ABOARD:
        left, top = corner(int(PADS[passenger]))
        _draw_passenger(canvas, left + size / 2.0, top + size / 2.0)
    left, top = corner(cell)
    canvas.rectangle(left + 12.0, top + 26.0, size - 24.0, 28.0, (250, 190, 30))
    canvas.rectangle(left + 24.0, top + 14.0, size - 48.0, 14.0, (250, 190, 30))
    canvas.rectangle(left + 28.0, top + 17.0, size - 56.0, 9.0, (190, 225, 245))
    for wheel in (24.0, size - 24.0):
        canvas.circle(left + wheel, top + 55.0, 8.0, (40, 40, 40))
    if passenger == ABOARD:
        canvas.circle(left + size / 2.0, top + 21.0, 6.0, (90, 60, 140))
    return canvas.image()


def _draw_passenger(canvas: Canvas, x: float, y: float) -> None:
    canvas.polygon([(x - 10.0, y + 24.0), (x, y - 8.0), (x + 10.0, y + 24.0)], (90, 60, 140))
    canvas.circle(x, y - 10.0, 8.0, (244, 204, 166))


register_version = functools.partial(
    wl.register, world=Town, entities={Cab: 1}, reset=[place], step=[drive, serve], observe=[look], render=draw
)
TAXI_V3 = register_version("Taxi-v3", max_steps=200)
TAXI_V4 = register_version("Taxi-v4", max_steps=200)
