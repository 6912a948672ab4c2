"""Select data sets and columns by patterns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.lineage.document import Dataset, LineageDocument
from shared.rules_file.patterns import matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Selects columns by patterns of their data set, name and type. An empty selector selects all."""

    datasets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def dataset_matcher(patterns: Iterable[str]) -> Callable[[Dataset], bool]:
    """A function that tells whether a data set's name, qualified name, or end of a qualified name after a slash
    matches; or its spelling in events, so that a renamed data set keeps its rules.
    """
    given = tuple(patterns)
    if not given:
        return lambda _: True
    by_name = matcher(given)
    by_path = matcher([each for pattern in given for each in (pattern, f"*/{pattern.lstrip('/')}")])
    return lambda each: (
        by_name(each.name)
        or by_path(each.qualified_name.rstrip("/"))
        or (bool(each.spelling) and by_path(each.spelling))
    )


def matching_datasets(document: LineageDocument, patterns: Iterable[str]) -> frozenset[int]:
    """The numbers of the data sets that match one of the patterns."""
    matches = dataset_matcher(patterns)
    return frozenset(number for number, each in enumerate(document.datasets) if matches(each))


def matching_names(names: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """The qualified names of data sets that match one of the patterns."""
    matches = dataset_matcher(patterns)
    return tuple(name for name in names if matches(Dataset(qualified_name=name, type="", name=name.rpartition("/")[2])))


def matching_columns(document: LineageDocument, selector: Selector) -> frozenset[int]:
    """The numbers of the columns that a selector selects. All rows of a data set are no column."""
    datasets = matching_datasets(document, selector.datasets)
    named, typed = matcher(selector.columns), matcher(selector.types)
    return frozenset(
        number
        for number, each in enumerate(document.columns)
        if each.name and each.dataset in datasets and named(each.name) and typed(each.type)
    )
