# mypy: ignore-errors
"""The kernel of the TD loss of Q networks and its gradients; one thread per sample."""

from __future__ import annotations

import warp as wp


@wp.kernel(enable_backward=False)
def td_loss(
    values: wp.array2d(dtype=wp.float32), advantages: wp.array2d(dtype=wp.float32), places: wp.array(dtype=wp.int64),
    actions: wp.array2d(dtype=wp.int32), targets: wp.array(dtype=wp.float32), weights: wp.array(dtype=wp.float32),
    count: wp.array(dtype=wp.float32), delta: wp.float32,
    # outputs
    value_gradients: wp.array2d(dtype=wp.float32), advantage_gradients: wp.array2d(dtype=wp.float32),
    errors: wp.array(dtype=wp.float32), statistics: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Huber loss of the TD error with threshold ``delta``, 0 for half the squared error, weighted by ``weights``.

    ``values`` are Q values [B, choices]. In a dueling network they are state values [B, 1], and
    Q = V + A - mean A with ``advantages`` A [B, choices]; empty otherwise.
    """
    sample = wp.tid()
    place = places[sample]
    action = actions[place, 0]
    choices = advantages.shape[1]
    predicted = float(0.0)
    if advantages.shape[0] > 0:
        mean = float(0.0)
        for k in range(choices):
            mean += advantages[sample, k]
        predicted = values[sample, 0] + advantages[sample, action] - mean / wp.float32(choices)
    else:
        predicted = values[sample, action]
    error = targets[place] - predicted
    errors[place] = error
    weight = wp.max(weights[place], 0.0)
    size = wp.abs(error)
    loss = 0.5 * error * error
    by_error = error
    if delta > 0.0 and size > delta:
        loss = delta * (size - 0.5 * delta)
        by_error = wp.where(error > 0.0, delta, -delta)
    gradient = -by_error * weight / count[0]
    statistics[0, sample] = loss * weight / count[0]
    statistics[1, sample] = wp.where(weight > 0.0, predicted / count[0], 0.0)
    if advantages.shape[0] > 0:
        value_gradients[sample, 0] = gradient
        for k in range(choices):
            taken = wp.where(k == action, 1.0, 0.0)
            advantage_gradients[sample, k] = gradient * (taken - 1.0 / wp.float32(choices))
    else:
        for k in range(values.shape[1]):
            value_gradients[sample, k] = wp.where(k == action, gradient, 0.0)
