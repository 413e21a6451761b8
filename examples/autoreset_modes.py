"""What follows the end of an episode: the three modes of autoreset, on a world that counts to three."""

import worldloom as wl


class Clock(wl.Entity):
    time: int
    face: wl.Observation(1, dtype=int)


class Tower(wl.World):
    pass


@wl.system
def tick(clock: Clock, world: Tower):
    clock.time += 1
    if clock.time == 3:
        world.terminate()


@wl.system
def show(clock: Clock):
    clock.face[0] = clock.time


wl.register("Clock-v0", world=Tower, entities={Clock: 1}, step=[tick], observe=[show])

for mode in ("same_step", "next_step", "disabled"):
    sim = wl.Simulation("Clock-v0", num_worlds=1, device="python", autoreset=mode)  # one world needs no compiler
    seen = []
    for _ in range(5):
        sim.step()
        face, over = int(sim[Clock].face.numpy()[0, 0, 0]), bool(sim.terminated.numpy()[0])
        last = f" (last {int(sim[Clock].final_face.numpy()[0, 0, 0])})" if over and mode == "same_step" else ""
        seen.append(f"{face}{' over' if over else ''}{last}")
    print(f"{mode}: {', '.join(seen)}")
