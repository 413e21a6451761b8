"""Columns are tensors: PyTorch, NumPy and DLPack see the same memory as the worlds, without a copy."""

import torch

import worldloom as wl
from worldloom.envs.cartpole import Cart

sim = wl.Simulation("CartPole-v1", num_worlds=256, seed=0)
cart = sim[Cart]

sight = cart.sight.torch()  # (256, 1, 4), float32
push = cart.push.torch()  # (256, 1), int32
same = torch.from_dlpack(cart.sight)
print(
    "shapes:",
    tuple(sight.shape),
    tuple(push.shape),
    "shared:",
    sight.data_ptr() == same.data_ptr() == cart.sight.numpy().ctypes.data,
)

policy = torch.nn.Linear(4, 2)
with torch.no_grad():
    for _ in range(50):
        push.copy_(policy(sight).argmax(dim=-1))  # written straight into the action column
        sim.step()
print("steps per world:", int(sim.world.step.numpy().max()), "finite:", bool(torch.isfinite(sight).all()))

cart.x.torch().zero_()  # state can be set from outside in the same way
print("carts in the middle:", int((cart.x.numpy() == 0).sum()))
