"""The engine: worlds written as systems over entities, run in batches on the CPU and on CUDA."""
