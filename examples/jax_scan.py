"""Worlds inside a compiled JAX program: a policy and a thousand worlds in one scan."""

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("this example needs JAX: pip install 'worldloom[jax]'")
    raise SystemExit from None

import worldloom as wl

env = wl.make("CartPole-v1", num_envs=1000, seed=0)
handle, recv, send, step = env.xla()


@jax.jit
def play(handle, weights):
    def act(carry, _):
        handle, observations = carry
        actions = (observations @ weights > 0.0).astype(jnp.int32)
        handle, (observations, _rewards, terminations, *_) = step(handle, actions)
        return (handle, observations), terminations

    handle, (observations, *_) = recv(handle)
    (handle, _), terminations = jax.lax.scan(act, (handle, observations), None, length=200)
    return handle, terminations.sum()


for name, weights in {"always left": [0.0, 0.0, 0.0, 0.0], "lean on the angle": [0.0, 0.0, 1.0, 1.0]}.items():
    handle, falls = play(handle, jnp.array(weights))
    print(f"{name}: {int(falls)} falls in 200 steps of 1000 worlds")
