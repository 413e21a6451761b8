"""Output and flag types of commands: standard output and error, JSON, a progress bar.

Imports core.base, rich and tyro only, and no worlds, so that the commands of a single world can live with that world.
"""
