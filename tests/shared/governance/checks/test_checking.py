"""Policies: each demand holds on one document, is broken by one planted edge that it names, and never holds where
lineage is not known.
"""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from shared.governance.checks.checking import (
    ALL_HOLD,
    BROKEN,
    NOT_KNOWN,
    Report,
    Result,
    as_json,
    as_junit,
    as_sarif,
    check,
    exit_code,
)
from shared.governance.checks.findings import Facts, QualityAssertion, Verdict
from shared.governance.rules_file import parse_rules
from shared.lineage.document import Health, LineageDocument
from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.support.lineage import document
from tests.support.lineage_documents import NOW, Job, lineage, random_lineage

HEAD = """
[[tag]]
classification = "PII"
datasets = "crm"
columns = "email"
[[certified]]
datasets = ["crm", "mid", "dim"]
[[policy]]
name = "p"
datasets = "gold"
"""
SOUND = (
    "crm.id -> mid.id by load",
    "dim.id -> mid.dim by load",
    "mid.id -> gold.id by make",
    "mid.dim #> gold.d by make",
)
PASSED = {
    f"abfss://lake/{name}": (QualityAssertion(name="not_null", success=True),) for name in ("gold", "mid", "crm", "dim")
}
DEMANDS = (
    'no_tag = "PII"',
    'sources_only = ["crm", "dim"]',
    'fresh_within = "24h"',
    'every_input = "certified"',
    "no_failed_upstream = true",
    "traced = 100",
    "unchanged_since = 2026-11-10",
    "quality_passed = true",
)


def results(
    document: LineageDocument, demand: str, quality: dict[str, tuple[QualityAssertion, ...]] | None = None
) -> tuple[Result, ...]:
    rules = parse_rules(f"{HEAD}{demand}\n", "policy.toml")
    return check(document, rules, Facts(now=NOW, quality=PASSED if quality is None else quality))


def sound(*arrows: str, jobs: dict[str, Job] | None = None, history: bool = True) -> LineageDocument:
    return lineage(*SOUND, *arrows, jobs=jobs, history=history, columns=["crm.email"])


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_demand_holds_where_nothing_is_wrong(demand: str) -> None:
    (result,) = results(sound(), demand)
    assert (result.verdict, result.findings) == (Verdict.HOLDS, ())
    assert exit_code((result,)) == ALL_HOLD


PLANTED: dict[str, tuple[str, LineageDocument, str, list[str]]] = {
    "no_tag": (
        'no_tag = "PII"',
        sound("crm.email -> mid.mail by load", "mid.mail ~> gold.contact by make"),
        "PII reaches gold.contact",
        ["crm.email → mid.mail by load (identity)", "mid.mail → gold.contact by make (transformation)"],
    ),
    "sources_only": (
        'sources_only = ["crm", "dim"]',
        sound("web.x -> mid.x by load", "mid.x -> gold.x by make"),
        "web is no allowed source",
        ["web.x → mid.x by load (identity)", "mid.x → gold.x by make (identity)"],
    ),
    "masked_by": (
        'columns = "d"\nmasked_by = "*"',
        sound("mid.dim -> gold.d by other"),
        "the plain value of dim.id reaches gold.d",
        ["dim.id → mid.dim by load (identity)", "mid.dim → gold.d by other (identity)"],
    ),
    "fresh_within": (
        'fresh_within = "24h"',
        sound(jobs={"load": Job(age=timedelta(days=3))}),
        "mid was written at 2026-11-20 12:00 UTC",
        ["mid.dim → gold.d by make (mask)"],
    ),
    "every_input": (
        'every_input = "certified"',
        sound("web.x -> gold.id by make"),
        "web is not certified",
        ["web.x → gold.id by make (identity)"],
    ),
    "no_failed_upstream": (
        "no_failed_upstream = true",
        sound(jobs={"load": Job(health=Health.FAILED)}),
        "the last run of load, which writes mid, failed",
        ["crm → mid by load", "mid.dim → gold.d by make (mask)"],
    ),
    "traced": ("traced = 90", sound("mid => gold by other"), "0.0 % of 2 columns are traced", []),
    "unchanged_since": (
        "unchanged_since = 2026-11-10",
        sound("dim.id -> mid.id by load since 5"),
        "dim → mid came at 2026-11-18 12:00 UTC",
        ["dim → mid by load", "mid → gold by make"],
    ),
    "quality_passed": (
        "quality_passed = true",
        sound(),
        "unique failed on mid.id",
        ["mid.dim → gold.d by make (mask)"],
    ),
}


@pytest.mark.parametrize(("demand", "document", "text", "way"), PLANTED.values(), ids=PLANTED)
def test_a_demand_names_the_planted_edge(demand: str, document: LineageDocument, text: str, way: list[str]) -> None:
    quality: dict[str, tuple[QualityAssertion, ...]] = {
        **PASSED,
        "abfss://lake/mid": (QualityAssertion(name="unique", success=False, column="id"),),
    }
    (result,) = results(document, demand, quality if demand.startswith("quality") else None)
    assert (result.verdict, exit_code((result,))) == (Verdict.BROKEN, BROKEN)
    named = {finding.text: finding for finding in result.findings}
    assert text in named
    lines = result.text.splitlines()
    assert f"  {text}" in lines
    assert [line.strip() for line in lines[lines.index(f"  {text}") + 1 :]][: len(way)] == way


THROUGH_CODE: dict[str, tuple[str, LineageDocument, Verdict, str]] = {
    "no_tag, tagged": (
        'no_tag = "PII"',
        lineage("crm.email -> mid.mail by load", "mid.mail %> gold.id by code"),
        Verdict.UNKNOWN,
        "PII reaches gold.id (only through code that Spark's plan does not show, if at all)",
    ),
    "no_tag, beside an exact way": (
        'no_tag = "PII"',
        lineage("crm.email -> mid.mail by load", "mid.mail %> gold.id by code", "mid.mail -> gold.id by make"),
        Verdict.BROKEN,
        "PII reaches gold.id",
    ),
    "no_tag, untagged": ('no_tag = "PII"', lineage("crm.id %> gold.id", columns=["crm.email"]), Verdict.HOLDS, ""),
    "sources_only, forbidden": (
        'columns = "id"\nsources_only = "crm"',
        lineage("web.x -> mid.x by load", "mid.x %> gold.id by code"),
        Verdict.UNKNOWN,
        "web is no allowed source (only through code that Spark's plan does not show, if at all)",
    ),
    "sources_only, an exact way beside it": (
        'columns = "id"\nsources_only = "crm"',
        lineage("web.x -> mid.x by load", "mid.x %> gold.id by code", "mid.x -> gold.id by make"),
        Verdict.BROKEN,
        "web is no allowed source",
    ),
    "sources_only, allowed": (
        'columns = "id"\nsources_only = "crm"',
        lineage("crm.x %> gold.id by code"),
        Verdict.HOLDS,
        "",
    ),
    "sources_only, of data sets": (
        'sources_only = "crm"',
        lineage("web.x %> gold.id by code"),
        Verdict.BROKEN,
        "web is no allowed source",
    ),
    "masked_by, plain": (
        'columns = "id"\nmasked_by = "*"',
        lineage("crm.email %> gold.id by code"),
        Verdict.UNKNOWN,
        "the plain value of crm.email reaches gold.id (only through code that Spark's plan does not show, if at all)",
    ),
    "masked_by, a mask before it": (
        'columns = "id"\nmasked_by = "*"',
        lineage("crm.email #> mid.mail by load", "mid.mail %> gold.id by code"),
        Verdict.HOLDS,
        "",
    ),
    "masked_by, a mask behind it": (
        'columns = "id"\nmasked_by = "*"',
        lineage("crm.email %> mid.mail by load", "mid.mail #> gold.id by code"),
        Verdict.HOLDS,
        "",
    ),
    "masked_by, an exact way beside it": (
        'columns = "id"\nmasked_by = "*"',
        lineage("crm.email %> gold.id by code", "crm.email -> gold.id by make"),
        Verdict.BROKEN,
        "the plain value of crm.email reaches gold.id",
    ),
    "traced": (
        "traced = 100",
        lineage("crm.id -> gold.id by load", "crm.id %> gold.x by load"),
        Verdict.UNKNOWN,
        "code that Spark's plan does not show makes gold.x: its sources are an upper bound",
    ),
    "traced, upstream": (
        "traced = 100",
        lineage("crm.id %> mid.x by load", "mid.x -> gold.x by make"),
        Verdict.UNKNOWN,
        "0.0 % of 1 columns are traced",
    ),
    "traced, enough without it": (
        "traced = 50",
        lineage("crm.id -> gold.id by load", "crm.id %> gold.x by load"),
        Verdict.HOLDS,
        "",
    ),
    "traced, broken without it": (
        "traced = 100",
        lineage("crm.id %> gold.x by load", "crm => gold by other"),
        Verdict.BROKEN,
        "the source of gold.x is not known",
    ),
    "fresh_within": (
        'columns = "x"\nfresh_within = "24h"',
        lineage("crm.id -> mid.id by load", "mid.id %> gold.x by code", jobs={"load": Job(age=timedelta(days=3))}),
        Verdict.UNKNOWN,
        "mid was written at 2026-11-20 12:00 UTC (only through code that Spark's plan does not show, if at all)",
    ),
    "fresh_within, of data sets": (
        'fresh_within = "24h"',
        lineage("crm.id -> mid.id by load", "mid.id %> gold.x by code", jobs={"load": Job(age=timedelta(days=3))}),
        Verdict.BROKEN,
        "mid was written at 2026-11-20 12:00 UTC",
    ),
    "no_failed_upstream": (
        'columns = "x"\nno_failed_upstream = true',
        lineage("crm.id -> mid.id by load", "mid.id %> gold.x by code", jobs={"load": Job(health=Health.FAILED)}),
        Verdict.UNKNOWN,
        "the last run of load, which writes mid, failed (only through code that Spark's plan does not show, if at all)",
    ),
    "unchanged_since": (
        'columns = "x"\nunchanged_since = 2026-11-10',
        lineage("crm.id %> gold.x by code since 5", history=True),
        Verdict.BROKEN,
        "crm.id → gold.x came at 2026-11-18 12:00 UTC",
    ),
}


@pytest.mark.parametrize(("demand", "document", "verdict", "text"), THROUGH_CODE.values(), ids=THROUGH_CODE)
def test_what_may_pass_code_is_not_known(demand: str, document: LineageDocument, verdict: Verdict, text: str) -> None:
    (result,) = results(document, demand)
    assert result.verdict is verdict
    assert (text in {finding.text for finding in result.findings}) == bool(text)


def test_a_failed_quality_test_behind_code_is_not_known_to_matter() -> None:
    document = lineage("crm.id -> mid.id by load", "mid.id %> gold.x by code")
    failed: dict[str, tuple[QualityAssertion, ...]] = {
        **PASSED,
        "abfss://lake/mid": (QualityAssertion(name="unique", success=False, column="id"),),
    }
    for scope_line, verdict in (('columns = "x"\n', Verdict.UNKNOWN), ("", Verdict.BROKEN)):
        (result,) = results(document, f"{scope_line}quality_passed = true", failed)
        assert result.verdict is verdict


def test_a_quality_test_that_only_warns_blocks_nothing() -> None:
    failed = QualityAssertion(name="unique", success=False, column="id", severity="warn")
    (result,) = results(sound(), "quality_passed = true", {**PASSED, "abfss://lake/mid": (failed,)})
    assert result.verdict is Verdict.HOLDS


@pytest.mark.parametrize("demand", [demand for demand in DEMANDS if not demand.startswith("traced")])
@pytest.mark.parametrize(
    "document",
    [
        sound("mid => gold by other"),
        sound("crm => mid by other"),
        sound("crm.id -> mid.id by other", jobs={"other": Job(unresolved=("t",))}),
        sound("crm => flat by other", "flat => gold by make"),
    ],
    ids=["the subject", "upstream", "a table without place", "a data set without columns"],
)
def test_a_demand_never_holds_where_lineage_is_not_known(demand: str, document: LineageDocument) -> None:
    if "every_input" in demand:  # it looks at direct inputs, which have been certified
        document = sound("mid => gold by other")
    if "no_tag" in demand and "flat" in {dataset.name for dataset in document.datasets}:
        document = lineage("crm => gold by other", columns=["crm.email"])  # no column of gold is known
    (result,) = results(document, demand)
    assert result.verdict is not Verdict.HOLDS
    assert exit_code((result,)) in {BROKEN, NOT_KNOWN}


@pytest.mark.parametrize("demand", [*DEMANDS, 'masked_by = "*"'])
def test_a_policy_that_matches_nothing_has_the_verdict_unknown(demand: str) -> None:
    rules = parse_rules(HEAD.replace('"gold"', '"gould"') + demand, "policy.toml")
    (result,) = check(sound(), rules, Facts(now=NOW, quality=PASSED))
    assert result.verdict is Verdict.UNKNOWN
    assert "matches the policy" in result.text


def test_an_unknown_verdict_only_warns_when_the_policy_says_so() -> None:
    (result,) = results(sound("mid => gold by other"), 'no_tag = "PII"\nunknown = "warn"')
    assert (result.verdict, result.fails, exit_code((result,))) == (Verdict.UNKNOWN, False, ALL_HOLD)
    (result,) = results(sound("mid => gold by other"), 'no_tag = "PII"')
    assert (result.fails, exit_code((result,))) == (True, NOT_KNOWN)


def test_demands_on_unread_history_and_quality_have_the_verdict_unknown() -> None:
    rules = parse_rules(f"{HEAD}unchanged_since = 2026-11-10\nquality_passed = true\n", "policy.toml")
    check_results = check(sound(history=False), rules, Facts(now=NOW))
    assert [result.verdict for result in check_results] == [Verdict.UNKNOWN, Verdict.UNKNOWN]
    assert all("--lake" in result.text for result in check_results)


def test_a_mask_by_another_function_does_not_count() -> None:
    document = lineage(
        "crm.id #> gold.a by make = md5(id)", "crm.id #> gold.b by make = sha2(id, 256)", "crm.id #> gold.c by make"
    )
    verdicts = {
        name: results(document, f'columns = "{name}"\nmasked_by = ["sha2"]')[0].verdict for name in ("a", "b", "c")
    }
    assert verdicts == {"a": Verdict.BROKEN, "b": Verdict.HOLDS, "c": Verdict.UNKNOWN}


def test_each_demand_takes_time_in_proportion_to_the_lineage() -> None:
    """Four times the lineage, all of it broken, takes less than ten times as long, by the fastest of three rounds."""
    demands = ('every_input = "certified"', "no_failed_upstream = true")

    def seconds(size: int, demand: str) -> float:
        arrows = [f"web{number}.x -> gold{number}.x by job{number}" for number in range(size)]
        document = lineage(*arrows, jobs={f"job{number}": Job(health=Health.FAILED) for number in range(size)})
        text = f"{HEAD}{demand}\n".replace('datasets = "gold"', 'datasets = "gold*"')
        rules = parse_rules(text, "policy.toml")
        durations = []
        for _ in range(3):
            began = time.thread_time()
            (result,) = check(document, rules, Facts(now=NOW))
            durations.append(time.thread_time() - began)
            assert result.found == size
        return min(durations)

    for demand in demands:
        assert seconds(800, demand) < 10 * seconds(200, demand), demand


def test_lineage_behind_an_allowed_source_is_not_checked() -> None:
    (result,) = results(sound("crm => mid by other"), 'sources_only = "mid"')
    assert result.verdict is Verdict.HOLDS


def test_results_are_reported_as_junit_sarif_and_json() -> None:
    document = sound("crm.email -> gold.<c>&\x01 by make", "web.x -> gold.id by make")
    check_results = results(document, 'no_tag = "PII"\nsources_only = ["crm", "dim"]\nfresh_within = "24h"')
    report = Report(place="policy.toml", results=check_results)
    suite = ET.fromstring(as_junit(report))  # noqa: S314 - our own text
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.get("name") for case in suite] == ["no_tag PII", "sources_only crm, dim", "fresh_within 1d"]
    sarif = json.loads(as_sarif(report))["runs"][0]["results"]
    assert [(finding["ruleId"], finding["level"]) for finding in sarif] == [
        ("no_tag", "error"),
        ("sources_only", "error"),
    ]
    assert sarif[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 11}
    plain = json.loads(as_json(report))["results"]
    assert plain[1]["findings"][0]["way"] == [
        {"source": "web.x", "target": "gold.id", "process": "make", "kind": "identity"}
    ]


_PLAIN = frozenset({"identity", "transformation", "aggregation"})


def _forward(document: LineageDocument, starts: set[int], *more_kinds: str) -> set[int]:
    """All columns that values of the starts reach along plain edges and those of further kinds, by repeated passes over
    all edges.
    """
    kinds = {*_PLAIN, *more_kinds}
    reached = set(starts)
    while True:
        next_columns = {e.output for e in document.edges if e.valid_to == -1 and e.kind in kinds and e.input in reached}
        if next_columns <= reached:
            return reached
        reached |= next_columns


def _sourceless(document: LineageDocument) -> set[int]:
    """Columns without a known source, from the document alone."""
    column_numbers = set()
    for number, column in enumerate(document.columns):
        for flow in document.flows:
            process = document.processes[flow.process]
            if flow.valid_to == -1 and flow.output == column.dataset and column.name:
                enters = any(
                    e.process == flow.process and e.output == number and e.valid_to == -1 and e.kind != "condition"
                    for e in document.edges
                )
                if process.unresolved_tables or not (process.exact or enters):
                    column_numbers.add(number)
    return column_numbers


def _wanted(document: LineageDocument, dataset: int) -> dict[str, Verdict]:
    """The verdicts of two demands on one data set, from sets that are made forwards, column by column."""
    own_columns = {
        number for number, column in enumerate(document.columns) if column.dataset == dataset and column.name
    }
    lost_columns = _sourceless(document)
    tagged = {tag.column for tag in document.tags if tag.name == "pii"}
    hit, doubt = (
        _forward(document, tagged) & own_columns,
        _forward(document, lost_columns | tagged, "opaque") & own_columns,
    )
    targets = {e.output for e in document.edges if e.valid_to == -1 and e.kind != "condition"}
    roots = {
        n for n, column in enumerate(document.columns) if column.name and n not in targets and n not in lost_columns
    }
    bad = {root for root in roots if document.datasets[document.columns[root].dataset].name != "d0"}
    plain = any(_forward(document, {root}, "mask") & own_columns for root in bad)
    unsure = any(
        _forward(document, {column_number}, "mask", "opaque") & own_columns for column_number in lost_columns | bad
    )

    def verdict(broken: bool, unknown: bool) -> Verdict:
        return Verdict.BROKEN if broken else Verdict.UNKNOWN if unknown else Verdict.HOLDS

    return {"no_tag": verdict(bool(hit), bool(doubt) or not document.tags), "sources_only": verdict(plain, unsure)}


def test_random_documents_against_a_naive_search(sample: Callable[[range], range]) -> None:
    """2,000 documents with `--proofs`: broken, unknown and held demands; and complete paths."""
    seen_verdicts = set()
    for seed in sample(range(2000)):
        document = random_lineage(seed)
        for dataset, dataset_entry in enumerate(document.datasets):
            text = f"""[[tag]]
classification = "PII"
tag = "pii"
[[policy]]
name = "p"
datasets = "{dataset_entry.name}"
columns = "*"
no_tag = "PII"
sources_only = "d0"
"""
            check_results = check(document, parse_rules(text, "p.toml"), Facts(now=NOW))
            verdicts = {result.demand.split()[0]: result.verdict for result in check_results}
            wanted_verdicts = _wanted(document, dataset)
            if dataset_entry.name == "d0" or _behind_d0(document, dataset):
                wanted_verdicts.pop("sources_only")  # another test covers the lineage behind an allowed source
            assert {name: verdicts[name] for name in wanted_verdicts} == wanted_verdicts, (
                f"seed {seed}, {dataset_entry.name}"
            )
            seen_verdicts |= set(wanted_verdicts.items())
            for result in check_results:
                for finding in result.findings:
                    steps = finding.way
                    assert [s.target for s in steps[:-1]] == [s.source for s in steps[1:]], f"seed {seed}"
    assert seen_verdicts == {(name, verdict) for name in ("no_tag", "sources_only") for verdict in Verdict}


def _behind_d0(document: LineageDocument, dataset: int) -> bool:
    """Whether a value reaches a data set by way of d0 from something else."""
    own_columns = {number for number, column in enumerate(document.columns) if column.dataset == dataset}
    d0 = {n for n, column in enumerate(document.columns) if document.datasets[column.dataset].name == "d0"}
    entered = {e.output for e in document.edges if e.valid_to == -1 and e.kind != "condition"}
    return bool(_forward(document, d0, "mask", "opaque") & own_columns and d0 & (entered | _sourceless(document)))


BY_RDDS = ("doubled", "sizes", "pickled", "all_logs")
"""What the scenario writes by RDDs, or by frames made of them."""


@pytest.mark.parametrize("version", ["spark35-ol1.53-plan", "spark35-ol1.53", "spark41-ol1.53-plan"])
@pytest.mark.parametrize("name", BY_RDDS)
@pytest.mark.parametrize("demand", ['no_tag = "PII"', 'masked_by = "*"', 'sources_only = ["*/in/*"]', "traced = 100"])
def test_no_demand_holds_for_what_an_rdd_wrote(demand: str, name: str, version: str) -> None:
    """Its inputs are known, its columns are not."""
    lines = (Path(__file__).parents[3] / "golden" / version / "formats/events.jsonl").read_bytes().splitlines()
    written_lineage_document = document(*translate_history(map(decode, lines)).processes)
    policy = (
        f'[[tag]]\nclassification = "PII"\ndatasets = "nothing"\n[[policy]]\nname = "p"\ndatasets = "*/out/{name}"\n'
    )
    (result,) = check(written_lineage_document, parse_rules(policy + demand, "policy.toml"), Facts(now=NOW))
    assert result.verdict is not Verdict.HOLDS
    assert "known" in " ".join(finding.text for finding in result.findings)
