"""Exact mode: the CPU, the GPU and plain Python give the same bits, step after step."""

import numpy as np
import warp as wp

import worldloom as wl


def angles(device: str, exact: bool) -> np.ndarray:
    """The swing of four pendulums that are pushed to and fro, in radians."""
    sim = wl.Simulation("Pendulum-v1", num_worlds=4, device=device, seed=7, exact=exact)
    for step in range(100):
        sim.step(np.full((4, 1, 1), 2.0 if step % 20 < 10 else -2.0, np.float32))
    return sim["Rod"].angle.numpy().copy()


wp.init()
devices = ["python", "cpu", *(["cuda:0"] if wp.is_cuda_available() else [])]
found = [angles(device, exact=True) for device in devices]
same = all(one.tobytes() == found[0].tobytes() for one in found)
print(f"{' and '.join(devices[:2])}{''.join(f', {d}' for d in devices[2:])}: the same bits after 100 steps: {same}")

apart = np.abs(angles("cpu", exact=False) - found[0]) / np.spacing(np.abs(found[0]))
print(f"fast mode on the CPU: up to {apart.max():.0f} units of the last place away")
