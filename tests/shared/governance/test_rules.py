"""The rules file: its content, and every mistake at once with its line and the nearest valid name."""

import json
import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # ships no types
import pytest

from shared.errors import Misconfigured
from shared.governance import rules_file
from shared.governance.rules import Approval, Demand, OnUnknown, Selector, Wanted
from shared.governance.rules_file import NAME, parse_rules

GOOD = """
unknown = "warn"

[[classification]]
name = "MY.PII"
description = "Personal data"

[[tag]]
classification = "MY.PII"
datasets = ["crm/*", "hr"]
columns = "email"

[[mask]]
functions = ["pseudonymize"]
author = "ann"
reason = "keyed"
expires = 2027-01-31

[[certified]]
datasets = "curated/*"

[[policy]]
name = "training data"
datasets = "training"
unknown = "fail"
no_tag = "MY.PII"
sources_only = ["curated/*"]
masked_by = "*"
fresh_within = "24h"
every_input = "certified"
no_failed_upstream = true
traced = 95
unchanged_since = 2026-11-01
quality_passed = true

[[policy]]
name = "other"
columns = "x"
fresh_within = "7d"

[completeness]
whatever = 1
"""


def test_a_file_gives_its_rules() -> None:
    rules = parse_rules(GOOD, "rules.toml")
    assert rules.tags[0].where == Selector(datasets=("crm/*", "hr"), columns=("email",))
    assert rules.masks[0].approval == Approval(author="ann", reason="keyed", expires=date(2027, 1, 31))
    policy, other = rules.policies
    assert (policy.unknown, other.unknown) == (OnUnknown.FAIL, OnUnknown.WARN)
    assert [demand_rule.demand for demand_rule in policy.wanted] == list(Demand)
    since = next(demand_rule.since for demand_rule in policy.wanted if demand_rule.demand is Demand.UNCHANGED_SINCE)
    assert since == datetime(2026, 11, 1, tzinfo=UTC)
    assert other.wanted == (Wanted(demand=Demand.FRESH_WITHIN, within=timedelta(days=7), line=39),)
    assert rules.names == ("MY.PII",)


BAD = """
[[tga]]
x = 1

[[tag]]
clasification = "PII"
datasets = []

[[tag]]
classification = "P-II"
datasets = "crm"

[[tag]]
classification = "PII"

[[mask]]
functions = "f"
author = "ann"
expires = "soon"

[[declassify]]
classification = "PIII"
columns = "x"
author = "a"
reason = "b"
expires = 2027-01-01

[[policy]]
name = "p"
fresh_within = "24 hours"
traced = 101
unknown = "ignore"

[[policy]]
name = "p"
no_failed_upstreams = true
"""


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(Misconfigured) as error_info:
        parse_rules(BAD, "rules.toml")
    lines = str(error_info.value).splitlines()
    assert lines[0] == "The rules file rules.toml has 15 mistakes, and nothing in it is used:"
    for expected_line in (
        "rules.toml:2: there is no table tga. Did you mean tag?",
        "rules.toml:5: tag needs classification: the classification",
        "rules.toml:6: tag has no key clasification. Did you mean classification?",
        "rules.toml:7: datasets must be a text or a list of texts",
        f"rules.toml:10: classification must be {NAME.words}",
        "rules.toml:13: tag names no columns: give it datasets or columns or types or tag or classified_as",
        "rules.toml:16: mask needs reason: why it is right",
        "rules.toml:19: expires must be a date such as 2027-01-31",
        "rules.toml:22: no [[tag]] gives the classification PIII. Did you mean PII?",
        "rules.toml:30: fresh_within must be a length of time such as 90m, 24h or 7d",
        "rules.toml:31: traced must be a number from 0 to 100",
        '  rules.toml:32: unknown must be "fail" or "warn"',
        "rules.toml:34: policy p is there twice: the first is in line 28",
        "rules.toml:36: policy has no key no_failed_upstreams. Did you mean no_failed_upstream?",
    ):
        assert any(line.strip() == expected_line.strip() for line in lines), expected_line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "rules.toml:1: this is not valid TOML"),
        ('\n\n[[tag]\nx = "y"', "rules.toml:3: this is not valid TOML"),
        ("tag = 1", "tag must be a list of tables: write [[tag]] above each"),
        ('unknown = "x"', 'unknown must be "fail" or "warn"'),
        ('[[policy]]\nname = "p"\nevery_input = "certified"', "add [[certified]] with datasets"),
        ('[[policy]]\nname = "p"\nno_tag = "PII"', "rules.toml:3: no [[tag]] gives the classification PII"),
        ('[[policy]]\nname = "p"\ndatasets = "x"', "policy demands nothing"),
    ],
)
def test_a_mistake_names_its_line(text: str, message: str) -> None:
    with pytest.raises(Misconfigured) as error_info:
        parse_rules(text, "rules.toml")
    assert message in str(error_info.value)


def _as_json(text: str) -> Any:
    return json.loads(json.dumps(tomllib.loads(text), default=lambda value: value.isoformat()))


def test_the_shipped_json_schema_agrees_with_the_decoder() -> None:
    """It accepts and refuses the same files as the decoder."""
    path = Path(rules_file.__file__).with_name("rules.schema.json")
    assert path.read_text(encoding="utf-8") == rules_file.schema_text()
    validator = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
    assert list(validator.iter_errors(_as_json(GOOD))) == []
    places = {error.json_path for error in validator.iter_errors(_as_json(BAD))}
    assert {
        "$",
        "$.tag[0]",
        "$.tag[0].datasets",
        "$.tag[1].classification",
        "$.mask[0]",
        "$.policy[0].traced",
    } <= places
