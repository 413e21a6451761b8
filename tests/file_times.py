"""A pytest plugin: CPU time per test file, ``pytest --slowest-files 40``; works with several processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

_PROPERTY = "cpu_seconds"
_last = sum(os.times()[:4])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest-files", type=int, default=0, metavar="N", help="show the CPU time of N files")


def pytest_collection_finish() -> None:
    """Count imports and collection to no file."""
    global _last
    _last = sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the CPU time since the last report, of this process and of finished children, to the report of a phase."""
    global _last
    report = yield
    now = sum(os.times()[:4])
    report.user_properties = [*report.user_properties, (_PROPERTY, now - _last)]
    _last = now
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not (count := config.getoption("--slowest-files")):
        return
    times: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                times[report.nodeid.partition("::")[0]] += sum(v for k, v in report.user_properties if k == _PROPERTY)
    terminalreporter.section(f"CPU time of the slowest {count} files; all files {sum(times.values()):.0f} s")
    for file, seconds in times.most_common(count):
        terminalreporter.line(f"{seconds:8.1f} s  {file}")
