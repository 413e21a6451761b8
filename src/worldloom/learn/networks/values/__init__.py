"""Networks of action values: ensembles of critics, noisy layers and distributions of returns."""
