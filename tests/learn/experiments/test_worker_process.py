"""Worker processes: messages, logs, and their end."""

import os
import queue
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from worldloom.learn.experiments.worker_process import WorkerProcess


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    workers = []

    def start_worker(cores=(), **request):
        workers.append(WorkerProcess("echo_worker", {"say": "hello", **request}, tmp_path / "log", cores))
        return workers[-1]

    yield start_worker
    for worker in workers:
        worker.close()


def test_messages_arrive_in_order_and_prints_go_to_the_log(start, tmp_path):
    worker = start(answers=3, cores=sorted(os.sched_getaffinity(0))[:1])
    messages = [worker.receive(60) for _ in range(3)]
    assert [message["number"] for message in messages] == [0, 1, 2]
    assert messages[0]["said"] == "hello" and messages[0]["cores"] == 1
    assert worker.receive(60) is None and worker.receive(60) is None
    assert (tmp_path / "log").read_text() == "for people\n"


@pytest.mark.parametrize(
    ("how", "words"),
    [("die", "was killed by SIGKILL"), ("fail", "exited with code 3: out of luck")],
)
def test_an_exit_is_described(start, how, words):
    worker = start(**{how: True})
    worker.receive(60)
    assert worker.receive(60) is None and words in worker.describe_exit()


def test_a_worker_without_news_is_not_waited_for(start):
    worker = start(wait=True)
    worker.receive(60)
    with pytest.raises(queue.Empty):
        worker.receive(0.01)
    worker.send_signal(signal.SIGTERM)
    assert worker.receive(60) is None and worker.process.wait() == -signal.SIGTERM
    worker.send_signal(signal.SIGTERM)  # it has exited: nothing happens


def test_a_worker_gets_one_signal_only(start):
    """The second one would make a training exit at once, without a checkpoint."""
    worker = start(handle=True, answers=0)
    assert worker.receive(60) == {"ready": True}
    for _ in range(2):
        worker.send_signal(signal.SIGINT)
    worker.process.stdin.close()
    assert worker.receive(60) == {"received": [signal.SIGINT]} and worker.receive(60) is None


def test_workers_end_with_their_parent(tmp_path):
    parent = (
        "import sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from worldloom.learn.experiments.worker_process import WorkerProcess\n"
        f"worker = WorkerProcess('echo_worker', {{'say': '', 'wait': True}}, Path({str(tmp_path / 'log')!r}))\n"
        "worker.receive(60)\n"
        "print(worker.process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30.0
    while Path(f"/proc/{worker}").exists() and _state(worker) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{worker}").exists() or _state(worker) == "Z"


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
