"""What compilations leave on disk: kernels with checksums, and the precompiled headers of CPU kernels.

It imports errors, files, paths and Warp's private names of the base. The set-up of Warp installs it.
"""
