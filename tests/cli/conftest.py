"""What the tests of the command line share."""

from pathlib import Path

import pytest

from worldloom.cli.main import main


@pytest.fixture
def worldloom(capsys):
    """Run the command line in this process; gives the exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def planted():
    """A file with an honest world and a spoilt one."""
    return Path(__file__).parent / "planted.py"
