"""The process that ``worldloom bench start`` times: it creates a world and takes the first step."""

from __future__ import annotations

import sys

NUM_WORLDS = 256
DONE = "worldloom: first step done"


def main(env: str, device: str) -> None:
    """Create the world ``env`` on ``device``, step it once with random actions, and print DONE."""
    import numpy as np
    import warp as wp

    from worldloom.core.measure.random_actions import random_actions
    from worldloom.core.registry.world_files import find
    from worldloom.core.simulation import Simulation

    with Simulation(find(env), NUM_WORLDS, device, seed=0) as simulation:
        simulation.step(random_actions(simulation, np.random.default_rng(0)) or None)
        wp.synchronize_device(simulation.device)
        print(DONE, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
