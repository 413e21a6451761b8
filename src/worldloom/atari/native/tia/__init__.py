"""The TIA: registers, display events, collision registers, and on CUDA the queue of writes."""
