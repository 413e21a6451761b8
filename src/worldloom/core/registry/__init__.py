"""Definitions of worlds: their validation, ids, fingerprints and files. It imports frontend and what is below."""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__,
        "worldloom.core.registry.registry",
        "Definition",
        "Renderer",
        "on_register",
        "register",
        "registered",
        "unavailable",
        Step="PhaseEntry",
        announce="register_lazily",
    )
