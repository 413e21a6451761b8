"""Facts about the games as text, for people and for ``games`` and ``rules`` to read."""
