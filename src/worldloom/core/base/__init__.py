"""Errors, files, devices, threads and the set-up of Warp, independent of worlds. Imports nothing of worldloom."""
