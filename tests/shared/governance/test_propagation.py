"""Propagation of tags: cases by hand, and random documents against a naive traversal."""

from collections.abc import Callable, Iterable
from datetime import date

import pytest

from shared.governance.propagation import TagState, propagate, remarks
from shared.governance.rules import Rules, hides
from shared.governance.rules_file import parse_rules
from shared.lineage.document import LineageDocument
from tests.support.lineage_documents import Job, column_number, lineage, random_lineage

TODAY = date(2026, 11, 23)
PII = '[[tag]]\nclassification = "PII"\ndatasets = "crm"\ncolumns = "email"\n'
APPROVED = 'author = "ann"\nreason = "reviewed"\nexpires = {}\n'


def rules(text: str) -> Rules:
    return parse_rules(text, "rules.toml")


def states(document: LineageDocument, text: str = PII, name: str = "PII") -> dict[str, str]:
    tag_propagation = propagate(document, rules(text), today=TODAY)[name]
    return {
        f"{document.datasets[column.dataset].name}.{column.name}": str(tag_propagation.state(number))
        for number, column in enumerate(document.columns)
    }


CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "a copy is tagged": (["crm.email -> out.mail"], {"out.mail": "tagged"}),
    "an expression is tagged": (["crm.email ~> out.mail"], {"out.mail": "tagged"}),
    "an aggregation leaks": (["crm.email +> out.first"], {"out.first": "tagged"}),
    "a mask stops": (["crm.email #> out.mail"], {"out.mail": "clean"}),
    "a condition carries no value": (
        ["crm.id -> out.id", "crm.email ?> out."],
        {"out.id": "clean", "out.": "clean"},
    ),
    "a plain way beside a mask does not stop": (
        ["crm.email #> out.mail by one", "crm.email -> out.mail by two"],
        {"out.mail": "tagged"},
    ),
    "over steps and circles": (
        ["crm.email -> a.x by one", "a.x -> b.y by two", "b.y -> a.x by three", "b.y -> c.z by four"],
        {"a.x": "tagged", "b.y": "tagged", "c.z": "tagged"},
    ),
    "behind a mask nothing is tagged": (
        ["crm.email #> a.x by one", "a.x -> b.y by two"],
        {"a.x": "clean", "b.y": "clean"},
    ),
    "an edge that ended carries nothing": (
        ["crm.id -> out.mail", "crm.email -> out.mail since 9 until 3"],
        {"out.mail": "clean"},
    ),
    "a column that nothing enters is not known, and what comes of it": (
        ["crm.id -> a.x by one", "a.y -> b.y by two"],
        {"a.y": "not known", "b.y": "not known", "a.x": "clean"},
    ),
    "a write without columns is not known": (
        ["crm => a by one", "a.x -> b.y by two"],
        {"a.x": "not known", "b.y": "not known"},
    ),
    "what is tagged is known, whatever else enters it": (
        ["crm => a by one", "a.x -> b.y by two", "crm.email -> b.y by two"],
        {"b.y": "tagged"},
    ),
    "a mask hides what is not known, too": (["crm => a by one", "a.x #> b.y by two"], {"b.y": "clean"}),
    "what code may pass on is not known, and what comes of it": (
        ["crm.email %> a.x by one", "crm.id -> a.id by one", "a.x ~> b.y by two"],
        {"a.x": "not known", "a.id": "clean", "b.y": "not known"},
    ),
    "code that no tag reaches passes none on": (["crm.id %> a.x by one"], {"a.x": "clean"}),
    "code behind a mask is given nothing plain": (
        ["crm.email #> a.x by one", "a.x %> b.y by two"],
        {"a.x": "clean", "b.y": "clean"},
    ),
    "a mask behind code stops": (["crm.email %> a.x by one", "a.x #> b.y by two"], {"b.y": "clean"}),
    "an exact way beside code is one": (
        ["crm.email %> a.x by one", "crm.email -> a.x by two", "a.x -> b.y by three"],
        {"a.x": "tagged", "b.y": "tagged"},
    ),
    "a longer exact way beside code, too": (
        ["crm.email %> c.z by one", "crm.email -> a.x by two", "a.x -> b.y by two", "b.y -> c.z by three"],
        {"c.z": "tagged"},
    ),
    "what is not known stays so behind code": (["crm => a by one", "a.x %> b.y by two"], {"b.y": "not known"}),
    "a source that nobody writes is clean": (["crm.id -> a.x by one"], {"crm.id": "clean", "crm.email": "tagged"}),
}  # fmt: skip


@pytest.mark.parametrize(("arrows", "expected_states"), CASES.values(), ids=CASES)
def test_a_tag_reaches_the_expected_columns(arrows: list[str], expected_states: dict[str, str]) -> None:
    column_states = states(lineage(*arrows, columns=["crm.email"]))
    assert {column: column_states[column] for column in expected_states} == expected_states


def test_an_exact_process_leaves_nothing_unknown() -> None:
    """A constant has no source, and is known to have none."""
    document = lineage("crm.id -> a.x by one", columns=["crm.email"], constants=["a.y"], jobs={"one": Job(exact=True)})
    assert states(document)["a.y"] == "clean"


def test_an_unresolved_table_leaves_all_columns_unknown() -> None:
    document = lineage(
        "crm.id -> a.x by one", "a.x -> b.y by two", columns=["crm.email"], jobs={"one": Job(unresolved=("t",))}
    )
    assert (states(document)["a.x"], states(document)["b.y"]) == ("not known", "not known")


@pytest.mark.parametrize(("expires", "expected_state"), [("2026-11-23", "clean"), ("2026-11-22", "tagged")])
def test_an_exception_ends_after_its_last_day(expires: str, expected_state: str) -> None:
    document = lineage("crm.email ~> out.mail by one", "out.mail -> end.mail by two")
    for kind in ('[[declassify]]\nclassification = "PII"\n', "[[mask]]\n"):
        text = f'{PII}{kind}datasets = "out"\ncolumns = "mail"\n{APPROVED.format(expires)}'
        column_states = states(document, text)
        assert (column_states["out.mail"], column_states["end.mail"]) == (expected_state, expected_state), kind
        expired = [remark for remark in remarks(document, rules(text), today=TODAY) if "expired" in remark.text]
        assert len(expired) == (expected_state == "tagged")


def test_an_exception_makes_an_unknown_column_clean() -> None:
    document = lineage("crm => out by one", "out.mail -> end.mail by two", columns=["crm.email"])
    assert states(document)["end.mail"] == "not known"
    for kind in ('[[declassify]]\nclassification = "PII"\n', "[[mask]]\n"):
        text = f'{PII}{kind}datasets = "out"\ncolumns = "mail"\n{APPROVED.format("2027-01-01")}'
        assert states(document, text)["end.mail"] == "clean", kind


def test_a_declared_function_masks_a_column_shown_only_inside_its_call() -> None:
    text = f'{PII}[[mask]]\nfunctions = "pseudonym*"\n{APPROVED.format("2027-01-01")}'
    document = lineage(
        "crm.email ~> out.safe by one = pseudonymize(crm.email)",
        "crm.email ~> out.both by one = concat(pseudonymize(email), email)",
        "crm.email ~> out.silent by one",
    )
    column_states = states(document, text)
    assert (column_states["out.safe"], column_states["out.both"], column_states["out.silent"]) == (
        "clean",
        "tagged",
        "tagged",
    )


@pytest.mark.parametrize(
    ("expression", "is_hidden"),
    [
        ("f(a)", True),
        ("lib.f( concat(a, ')') )", True),
        ("f(a) || a", False),
        ("g(a)", False),
        ("f(b)", False),
        ("f(a", False),
        ("f(g(x)) + a", False),
        ("upper(f(t.A))", True),
        ("", False),
    ],
)
def test_an_expression_hides_a_column_only_inside_a_mask_function(expression: str, is_hidden: bool) -> None:
    assert hides(expression, ("f",), "a") is is_hidden


def test_a_classification_begins_at_columns_matched_by_pattern_tag_or_scan() -> None:
    """By pattern of name and type, by the tag of an event, and by a classification of the catalog's scans."""
    document = lineage("crm.a -> out.a", columns=["crm.b", "crm.c", "other.a"], tags=[("crm.b", "pii:high")])
    catalog = {column_number(document, "crm.c"): frozenset({"MICROSOFT.PERSONAL.EMAIL"})}
    text = """
[[tag]]
classification = "MY.PII"
tag = "pii:*"
[[tag]]
classification = "MY.PII"
classified_as = "MICROSOFT.PERSONAL.*"
[[tag]]
classification = "MY.PII"
datasets = "lake/other"
"""
    propagation = propagate(document, rules(text), today=TODAY, catalog=catalog)["MY.PII"]
    begins = [document.columns[origin] for origin in propagation.origins]
    names = {f"{document.datasets[column.dataset].name}.{column.name}" for column in begins}
    assert names == {"crm.b", "crm.c", "other.a"}
    assert {propagation.origins[origin].line for origin in propagation.origins} == {2, 5, 8}


def test_the_way_is_a_shortest_one_from_an_origin() -> None:
    document = lineage(
        "crm.email -> a.x by one", "a.x -> b.y by two", "crm.email ~> b.y by three", "b.y -> c.z by four"
    )
    way = propagate(document, rules(PII), today=TODAY)["PII"].way(column_number(document, "c.z"))
    assert [document.processes[edge.process].name for edge in way] == ["three", "four"]


def test_a_way_along_code_begins_at_the_origin() -> None:
    document = lineage("crm.email -> a.x by one", "a.x %> b.y by two", "b.y -> c.z by three")
    pii = propagate(document, rules(PII), today=TODAY)["PII"]
    through_code, other = column_number(document, "c.z"), column_number(document, "a.x")
    assert [document.processes[edge.process].name for edge in pii.way(through_code)] == ["one", "two", "three"]
    assert (pii.may_arrive(through_code), pii.may_arrive(other)) == (True, False)


def test_an_exception_ends_a_way_along_code() -> None:
    document = lineage("crm.email %> out.mail by one", "out.mail -> end.mail by two")
    for kind in ('[[declassify]]\nclassification = "PII"\n', "[[mask]]\n"):
        text = f'{PII}{kind}datasets = "out"\ncolumns = "mail"\n{APPROVED.format("2027-01-01")}'
        assert {states(document, text)[column] for column in ("out.mail", "end.mail")} == {"clean"}, kind


def test_rules_that_match_nothing_are_named() -> None:
    document = lineage("crm.email -> out.mail")
    text = f"""{PII}
[[tag]]
classification = "PII"
datasets = "cmr"
[[mask]]
columns = "hash_*"
{APPROVED.format("2020-01-01")}
[[mask]]
functions = "sha9"
{APPROVED.format("2027-01-01")}
[[declassify]]
classification = "PII"
columns = "mail"
{APPROVED.format("2027-01-01")}
[[term]]
name = "Customer"
datasets = "crm*"
[[certified]]
datasets = ["crm", "gold/*"]
[[policy]]
name = "p"
datasets = "nowhere"
no_tag = "PII"
"""
    rule_remarks = remarks(document, rules(text), today=TODAY)
    tables = {6: "tag", 9: "mask", 15: "mask", 31: "certified", 33: "policy"}
    assert {remark.line: remark.text.split("]]")[0].strip("[") for remark in rule_remarks} == tables
    assert "gold/*" in rule_remarks[-2].text
    assert "Did you mean crm?" in rule_remarks[0].text


def _no_source(document: LineageDocument, number: int) -> bool:
    """Whether a process writes a column from nowhere, from the document alone."""
    column = document.columns[number]
    for flow in document.flows:
        process = document.processes[flow.process]
        if flow.valid_to != -1 or flow.output != column.dataset or not column.name:
            continue
        input_edges = [edge for edge in document.edges if edge.process == flow.process and edge.output == number]
        if process.unresolved_tables or not (
            process.exact or any(edge.valid_to == -1 and edge.kind != "condition" for edge in input_edges)
        ):
            return True
    return False


def _naive(document: LineageDocument, origins: Iterable[int]) -> dict[int, TagState]:
    """A search backwards from each column, with all sets made again each time."""
    plain = {"identity", "transformation", "aggregation"}

    def back(number: int, kinds: set[str]) -> set[int]:
        pairs = {(edge.input, edge.output) for edge in document.edges if edge.valid_to == -1 and edge.kind in kinds}
        visited_numbers = {number}
        while not (next_numbers := {source for source, other in pairs if other in visited_numbers}) <= visited_numbers:
            visited_numbers |= next_numbers
        return visited_numbers

    origin_columns, missing = (
        set(origins),
        {each for each in range(len(document.columns)) if _no_source(document, each)},
    )
    result = {}
    for number in range(len(document.columns)):
        perhaps = back(number, {*plain, "opaque"})
        unknown = TagState.UNKNOWN if perhaps & (missing | origin_columns) else TagState.CLEAN
        result[number] = TagState.TAGGED if back(number, plain) & origin_columns else unknown
    return result


def test_random_documents_against_a_naive_search(sample: Callable[[range], range]) -> None:
    """2,000 with `--proofs`. All three results occur."""
    text = '[[tag]]\nclassification = "PII"\ntag = "pii"\n'
    seen_tag_states = set()
    for seed in sample(range(2000)):
        document = random_lineage(seed)
        propagation = propagate(document, rules(text), today=TODAY)["PII"]
        wanted_tag_states = _naive(document, (tag.column for tag in document.tags if tag.name == "pii"))
        assert {number: propagation.state(number) for number in wanted_tag_states} == wanted_tag_states, f"seed {seed}"
        for number in propagation.tagged:
            way = propagation.way(number)
            assert [edge.output for edge in way[:-1]] == [edge.input for edge in way[1:]], f"seed {seed}"
            assert (way[0].input if way else number) in propagation.origins, f"seed {seed}"
        seen_tag_states |= set(wanted_tag_states.values())
    assert seen_tag_states == set(TagState)
