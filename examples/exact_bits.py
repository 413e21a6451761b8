"""Exact mode: the CPU, the GPU and plain Python give the same bits, step after step."""

import numpy as np
import warp as wp

import worldloom as wl


def angles(device: str, exact: bool) -> np.ndarray:
    """The angles of four pendulums with alternating torques, in radians."""
    sim = wl.Simulation("Pendulum-v1", num_worlds=4, device=device, seed=7, exact=exact)
    for step in range(100):
        sim.step(np.full((4, 1, 1), 2.0 if step % 20 < 10 else -2.0, np.float32))
    return sim["Rod"].angle.numpy().copy()


wp.init()
devices = ["python", "cpu", *(["cuda:0"] if wp.is_cuda_available() else [])]
results = [angles(device, exact=True) for device in devices]
same = all(one.tobytes() == results[0].tobytes() for one in results)
print(f"{' and '.join(devices[:2])}{''.join(f', {d}' for d in devices[2:])}: the same bits after 100 steps: {same}")

errors = np.abs(angles("cpu", exact=False) - results[0]) / np.spacing(np.abs(results[0]))
print(f"fast mode on the CPU: up to {errors.max():.0f} units of the last place away")
