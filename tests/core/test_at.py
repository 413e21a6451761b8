"""``world.at(Kind, id)``: entities by their id."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl


class Seat(wl.Entity):
    guest: int
    visits: int


class Guest(wl.Entity):
    seat: int
    neighbours: wl.Array(int, 3)


class Hall(wl.World):
    turn: wl.Config = 1


@wl.system
def name_guests(seat: Seat):
    seat.guest = 10 * seat.id


@wl.system
def sit(guest: Guest, world: Hall):
    world.at(Seat, (guest.id + world.turn) % world.count(Seat)).visits += guest.id + 1


@wl.system(threads=32)
def look(guest: Guest, world: Hall):
    for i in wl.share(3):
        seat = world.at(Seat, guest.seat + i)
        guest.neighbours[i] = seat.guest


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_entities_are_found_by_their_id_and_a_wrong_one_is_a_fault(device: str) -> None:
    hall = wl.register(
        "HallOfSeats-v0", world=Hall, entities={Seat: 5, Guest: 4}, reset=[name_guests], step=[sit], observe=[look]
    )
    sim = wl.Simulation(hall, 2, device, seed=0, autoreset="disabled", config={"turn": np.array([1, 3], np.int32)})
    sim[Guest].seat.numpy()[:] = [0, 1, 2, 2]
    sim.step()
    np.testing.assert_array_equal(
        sim[Guest].neighbours.numpy()[0], [[0, 10, 20], [10, 20, 30], [20, 30, 40], [20, 30, 40]]
    )
    np.testing.assert_array_equal(sim[Seat].visits.numpy(), [[0, 1, 2, 3, 4], [3, 4, 0, 1, 2]])
    assert sim.errors() == []
    sim[Guest].seat.numpy()[1, 2] = 3
    sim.step()
    (fault,) = sim.errors()
    assert fault.world == 1 and "there is no Seat 5" in str(fault)
    np.testing.assert_array_equal(sim[Guest].neighbours.numpy()[1, 2], [30, 40, 0])


def test_what_it_takes() -> None:
    with pytest.raises(wl.DefinitionError, match="takes a kind of entity and the entity's id"):

        @wl.system
        def lost(guest: Guest, world: Hall):
            guest.seat = world.at(Seat).guest

    with pytest.raises(wl.DefinitionError, match=r"race: it reads 'seat' of another Guest"):

        @wl.system
        def swap(guest: Guest, world: Hall):
            guest.seat = world.at(Guest, 0).seat
