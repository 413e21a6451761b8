"""``python -m worldloom``: the same as ``worldloom``, which lets launchers such as ``torchrun`` start it."""

from worldloom.cli.main import main

raise SystemExit(main())
