"""Settings to search: ranges and choices as text, applied to the request of a training. Imports ``runs``."""
