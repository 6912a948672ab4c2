"""The search: a table of cases that the page is held to as well (tests/viewer/test_search.py), and its time."""

import json
from pathlib import Path

import pytest

from shared.lineage.search_index import SearchIndex
from tests.support.lineage import ROOT, search_document

CASES = json.loads(Path(__file__).with_name("search_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"] or "nothing asked")
def test_search_results_are_in_the_expected_order(case: dict[str, object]) -> None:
    document = search_document()
    names = [dataset.qualified_name.removeprefix(ROOT) for dataset in document.datasets]
    matches = SearchIndex(document).find(str(case["text"]))
    shown_names = [
        names[match.dataset]
        if match.column is None
        else f"{names[match.dataset]}.{document.columns[match.column].name}"
        for match in matches
    ]
    assert shown_names == case["found"]
