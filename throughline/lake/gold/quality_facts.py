"""The last results of quality tests in a lake, as facts for a check of policies."""

from collections.abc import Mapping

from shared.governance.checks.findings import QualityAssertion
from throughline.lake.silver.quality import last_tests
from throughline.lake.tables.lake import Lake


def quality_of_lake(lake: Lake) -> Mapping[str, tuple[QualityAssertion, ...]]:
    """The last result of each test, by the qualified name of its data set; empty where no event has had any."""
    results_by_dataset: dict[str, list[QualityAssertion]] = {}
    for row in last_tests(lake).orderBy("qualified_name", "column", "name").toLocalIterator():
        quality_assertion = QualityAssertion(
            name=row["name"], success=bool(row["success"]), column=row["column"], severity=row["severity"] or ""
        )
        results_by_dataset.setdefault(row["qualified_name"], []).append(quality_assertion)
    return {name: tuple(tests) for name, tests in results_by_dataset.items()}
