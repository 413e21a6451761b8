"""Errors, files, devices, threads and Warp's set-up. It knows no worlds and imports nothing of worldloom."""
