"""What is to be attached and taken away, of what the rules want and what the catalog has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import AssetKey, Classifications, Classified
from shared.classifying.attached import Mark
from shared.governance.patterns import matching_columns, matching_datasets
from shared.governance.propagation import CatalogTags, Propagation, propagate
from shared.governance.rules import Rules
from shared.lineage.document import LineageDocument

CERTIFIED = "Certified"
"""The classification of data sets that somebody vouches for (`certified` in the rules file)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an apply does, each sorted. `attach` and `detach`: with the guids of the entities, none for what is gone.
    `scanned`: left alone, since scans found the data set; `absent`: the catalog does not have the column; `others`:
    others attached it; `kept`: ours stays, since it is not known whether the value still arrives.
    """

    propagations: Mapping[str, Propagation]
    attach: Mapping[Mark, str] = field(default_factory=dict)
    detach: Mapping[Mark, str] = field(default_factory=dict)
    scanned: tuple[Mark, ...] = ()
    absent: tuple[Mark, ...] = ()
    others: tuple[Mark, ...] = ()
    kept: tuple[Mark, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether an apply would change something."""
        return bool(self.attach or self.detach)


def column_key(document: LineageDocument, column: int) -> AssetKey:
    """What identifies a column in the catalog."""
    here = document.columns[column]
    dataset = document.datasets[here.dataset]
    return column_rule(dataset.type).type, column_name(dataset.type, dataset.qualified_name, here.name)


def dataset_key(document: LineageDocument, dataset: int) -> AssetKey:
    """What identifies a data set in the catalog."""
    here = document.datasets[dataset]
    return here.type, here.qualified_name


def catalog_tags(
    document: LineageDocument, rules: Rules, catalog: Classifications, ours: frozenset[Mark]
) -> CatalogTags:
    """Classifications that others attached to columns that the rules ask about (`classified_as`)."""
    asked = {number for rule in rules.tags if rule.classified_as for number in matching_columns(document, rule.where)}
    keys = {number: column_key(document, number) for number in sorted(asked)}
    held = catalog.classified(dict.fromkeys(keys.values())) if keys else {}
    return {
        number: held[key].names - {mark.name for mark in ours if mark.key == key}
        for number, key in keys.items()
        if key in held
    }


def plan(
    document: LineageDocument,
    rules: Rules,
    catalog: Classifications,
    ours: frozenset[Mark],
    *,
    today: date,
    onto_scanned: bool,
) -> Plan:
    """Compare what the rules want with what the catalog has; `ours` are rows of earlier applies. Reads the catalog in
    bulk, and writes nothing. Raises as the port does.
    """
    propagations = propagate(document, rules, today=today, catalog=catalog_tags(document, rules, catalog, ours))
    wanted = _wanted(document, rules, propagations)
    unknown = {
        _mark(name, column_key(document, number)) for name, each in propagations.items() for number in each.unknown
    }
    keys = {each.key for each in (*wanted, *ours)} | set(wanted.values())
    held = catalog.classified(sorted(keys)) if keys else {}
    attach: dict[Mark, str] = {}
    left: dict[str, list[Mark]] = {"scanned": [], "absent": [], "others": []}
    for mark, dataset in sorted(wanted.items()):
        found = held.get(mark.key)
        if found is None:
            left["absent"].append(mark)
        elif mark.name in found.names:
            if mark not in ours:
                left["others"].append(mark)
        elif onto_scanned or _is_placed(held, dataset):
            attach[mark] = found.guid
        else:
            left["scanned"].append(mark)
    kept = sorted(mark for mark in ours if mark in unknown and mark not in wanted)
    gone = sorted(mark for mark in ours if mark not in wanted and mark not in unknown)
    return Plan(
        propagations=propagations,
        attach=attach,
        detach={mark: _attached_to(held.get(mark.key), mark.name) for mark in gone},
        kept=tuple(kept),
        **{name: tuple(marks) for name, marks in left.items()},
    )


def _mark(name: str, key: AssetKey) -> Mark:
    return Mark(name=name, type=key[0], qualified_name=key[1])


def _wanted(document: LineageDocument, rules: Rules, propagations: Mapping[str, Propagation]) -> dict[Mark, AssetKey]:
    """Each with the data set that it belongs to."""
    found = {
        _mark(name, column_key(document, number)): dataset_key(document, document.columns[number].dataset)
        for name, each in propagations.items()
        for number in each.tagged
    }
    for each in rules.certified:
        for number in matching_datasets(document, each.datasets):
            key = dataset_key(document, number)
            found[_mark(CERTIFIED, key)] = key
    return found


def _is_placed(held: Mapping[AssetKey, Classified], dataset: AssetKey) -> bool:
    found = held.get(dataset)
    return found is not None and found.placed


def _attached_to(found: Classified | None, name: str) -> str:
    """The guid of an entity that has the classification; empty where it is gone already."""
    return found.guid if found is not None and name in found.names else ""


def definitions(rules: Rules) -> Iterable[tuple[str, str]]:
    """The classifications that the catalog needs, each with its description."""
    described = {each.name: each.description for each in rules.classifications}
    for name in rules.names:
        yield name, described.get(name, "")
    if rules.certified:
        yield CERTIFIED, "Somebody vouches for this data set"
