"""A worker process of the tests: answers with its request, prints, waits, or fails."""

import os
import signal
import sys
import time

from worldloom.learn.experiments.worker_process import serve


def work(request, send):
    print("for people")
    for number in range(request.get("answers", 1)):
        send({"number": number, "cores": len(os.sched_getaffinity(0)), "said": request["say"]})
    if request.get("wait"):
        time.sleep(60)
    if request.get("handle"):
        received = []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: received.append(number))
        send({"ready": True})
        while not received:
            time.sleep(0.01)
        time.sleep(0.5)
        send({"received": received})
    if request.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if request.get("fail"):
        print("out of luck", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    serve(work)
