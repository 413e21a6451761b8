"""From network outputs to actions: distributions, the sampler and its kernels, epsilon-greedy. Imports device and agents."""
