"""Quality tests that fail now and did not fail before."""

from collections.abc import Iterator

from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.view import View


def quality_changes(was: View, now: View) -> Iterator[Change]:
    """A change for each test that fails newly, also for a test that is new or whose data set is new."""
    known = was.failed_tests
    for dataset, column, name in sorted(now.failed_tests - known):
        starts = (each for each in now.columns if each[:2] == dataset and (not column or each[2] == column))
        yield Change(
            topic=Topic.QUALITY,
            severity=Severity.RISKY,
            kind=ChangeKind.TEST_FAILED,
            dataset=dataset,
            column=column,
            after=name,
            starts=tuple(sorted(starts)),
        )
