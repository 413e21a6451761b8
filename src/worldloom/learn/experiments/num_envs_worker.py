"""The process that measures numbers of worlds: ``python -m worldloom.learn.experiments.num_envs_worker``."""

from __future__ import annotations

from worldloom.learn.experiments.worker_process import Message, Send, serve


def measure(message: Message, send: Send) -> None:
    """Measure the training of a message with ascending numbers of worlds."""
    import torch
    import warp as wp

    from worldloom.core.base.device import resolve
    from worldloom.learn.experiments.batch_rate import measure_rate, peak_memory
    from worldloom.learn.experiments.num_envs_search import climb
    from worldloom.learn.networks.memory_check import available_memory
    from worldloom.learn.runs.training_request import request_from_dict

    request = request_from_dict(message["request"])
    device = torch.device(wp.device_to_torch(resolve(request.config.device)[0]))
    base_memory = peak_memory()
    climb(
        lambda number: measure_rate(request, number, base_memory),
        lambda: available_memory(device),
        request.config.total_steps,
        send,
        message["smallest"],
    )


if __name__ == "__main__":
    serve(measure)
