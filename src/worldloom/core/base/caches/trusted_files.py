"""Who may write the files of a cache. Compiled code that another user may have written is never loaded."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from worldloom.core.base.paths import printable_path

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def untrusted_reason(path: Path) -> str | None:
    """Why another user than root may have written ``path``; None where nobody can have, or where nothing is there.

    The group may write where it is the private group of the file's owner, as with a umask of 002.
    """
    if not hasattr(os, "geteuid"):  # a platform without owners and modes
        return None
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    if state.st_uid not in (0, os.geteuid()):
        return f"{printable_path(path)} belongs to user {_user_name(state.st_uid)}, and not to you or root"
    mode = stat.S_IMODE(state.st_mode)
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private_group(state.st_gid, state.st_uid)):
        who = "all users" if mode & stat.S_IWOTH else f"group {_group_name(state.st_gid)}"
        return f"{printable_path(path)} has mode {mode:03o}, so that {who} may write there"
    return None


def untrusted_folder_reason(folder: Path) -> str | None:
    """As :func:`untrusted_reason` for a folder, which whoever may write its parent can replace by another one."""
    reason = untrusted_reason(folder)
    if reason is None:
        try:
            is_sticky = os.stat(folder.parent).st_mode & stat.S_ISVTX  # only owners rename what is in it
        except (OSError, ValueError):
            return None
        reason = None if is_sticky else untrusted_reason(folder.parent)
    return reason


def refuse_other_writers(path: Path) -> None:
    """Let only its owner write ``path``, whatever the umask. Raises OSError."""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & OTHERS_WRITE:
        os.chmod(path, mode & ~OTHERS_WRITE)


def make_folder(folder: Path) -> None:
    """Create a folder of a cache, and its parents, which only this user may write. Raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        refuse_other_writers(path)


def _is_private_group(group: int, user: int) -> bool:
    """Whether a group has the name of the user, and no other members, be it as their primary group."""
    import grp
    import pwd

    try:
        name, entry = pwd.getpwuid(user).pw_name, grp.getgrgid(group)
    except (KeyError, OSError):
        return False
    if entry.gr_name != name or not set(entry.gr_mem) <= {name}:
        return False
    return all(other.pw_uid == user for other in pwd.getpwall() if other.pw_gid == group)


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except (KeyError, OSError):
        return str(user)


def _group_name(group: int) -> str:
    import grp

    try:
        return grp.getgrgid(group).gr_name
    except (KeyError, OSError):
        return str(group)
