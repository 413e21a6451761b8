"""External columns: the memory of a component may belong to other code, here a tensor that PyTorch writes."""

import torch

import worldloom as wl


class Kite(wl.Entity):
    wind: wl.Persistent(wl.vec2)  # written by the code below; kept across resets
    position: wl.vec2


class Sky(wl.World):
    dt: wl.Config = 0.1  # s


@wl.system
def fly(kite: Kite, world: Sky):
    kite.position += kite.wind * world.dt


wl.register("Sky-v0", world=Sky, entities={Kite: 2}, step=[fly])

weather = torch.zeros(8, 2, 2)  # (num_worlds, count, ...)
sim = wl.Simulation("Sky-v0", num_worlds=8, external={"Kite.wind": weather})

weather[:, 0] = torch.tensor([1.0, 0.0])
weather[:, 1] = torch.tensor([0.0, 2.0])
for _ in range(10):
    sim.step()

print("in place:", sim[Kite].wind.torch().data_ptr() == weather.data_ptr())
print("positions:", sim[Kite].position.numpy()[3].round(3).tolist())
