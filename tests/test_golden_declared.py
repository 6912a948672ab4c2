"""Declarations of real producers (tests, measures, tags, owners, descriptions), compared with the authors' truth."""

from pathlib import Path

import pytest

from tests.support.declared import KINDS, declared_of, declared_truth
from tests.support.golden import FOLDERS, _events

every_scenario = pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)


@every_scenario
def test_declarations_in_events_match_the_truth(folder: Path) -> None:
    assert declared_of(_events(folder)) == declared_truth(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_declaration_occurs_in_real_events(kind: str) -> None:
    assert [name for name, folder in FOLDERS.items() if declared_truth(folder)[kind]]


@pytest.mark.parametrize("producer", ["great_expectations", "dbt"])
def test_failed_and_passed_tests_of_real_producers_are_read(producer: str) -> None:
    results = {
        row[-1]
        for name, folder in FOLDERS.items()
        if name.startswith(producer)
        for row in declared_of(_events(folder))["tests"]
    }
    assert results == {False, True}
