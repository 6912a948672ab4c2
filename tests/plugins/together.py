"""Which test files share a worker: each file runs on one, and the files of a group on the same one."""

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]  # ships no types
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]  # ships no types

_GROUPS = (
    (
        "tests/lake/engine/test_sail",
        "tests/cli/doctor/test_trial_run",
        "tests/cli/test_excluded_lake",
        "tests/cli/test_govern_lake",
        "tests/cli/test_hostile_lake",
        "tests/cli/test_lake_",
        "tests/cli/test_watch_lake",
    ),  # one process with Sail
    ("tests/lake/",),  # one warm Spark session
    ("tests/viewer/",),  # one browser
    (
        "tests/throughline/test_package",
        "tests/e2e/test_package",
        "tests/infra/test_deploy_packaging",
    ),  # one built package
)
"""How the paths of a group's files begin; a file belongs to the first that has it."""


class GroupScheduling(LoadFileScheduling):  # type: ignore[misc]  # untyped, as above
    """Gives the files of a group to the same worker: they share what takes long to make."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = next((group[0] for group in _GROUPS if nodeid.startswith(group)), super()._split_scope(nodeid))
        return scope


@pytest.hookimpl(optionalhook=True)  # some tests run without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Replace xdist's own scheduler for `--dist loadfile`."""
    return GroupScheduling(config, log) if config.getoption("dist") == "loadfile" else None
