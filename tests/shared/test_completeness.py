"""The score of a data set, and the file of rules for it."""

from datetime import timedelta

import pytest

from shared.completeness import (
    DEFAULT_RULES,
    DEFAULT_WEIGHTS,
    OF_OTHERS,
    CatalogDocumentation,
    Part,
    ScoreRules,
    lacking,
    parse_score_rules,
    parts_of,
    score,
)
from shared.errors import Misconfigured
from shared.governance.rules_file import TABLES, parse_rules

FULL = CatalogDocumentation(described=True, owned=True, tagged=True, columns=4, described_columns=4)


@pytest.mark.parametrize(
    ("documentation", "expected_score"),
    [
        (CatalogDocumentation(), 0.0),
        (FULL, 1.0),
        (CatalogDocumentation(described=True), 0.3),
        (CatalogDocumentation(columns=3), 0.3),
        (CatalogDocumentation(columns=4, described_columns=1), 0.35),
        (CatalogDocumentation(owned=True), 0.1),
        (CatalogDocumentation(tagged=True), 0.1),
    ],
)
def test_the_default_weights(documentation: CatalogDocumentation, expected_score: float) -> None:
    assert score(documentation) == pytest.approx(expected_score)


def test_only_the_ratio_of_weights_counts() -> None:
    tenfold = ScoreRules(weights={part: weight * 10 for part, weight in DEFAULT_WEIGHTS.items()})
    documentation = CatalogDocumentation(described=True, columns=4, described_columns=1)
    assert score(documentation, tenfold) == pytest.approx(score(documentation))
    assert score(documentation, ScoreRules(weights={Part.OWNER: 1})) == 0


def test_lacking_parts_are_sorted_by_their_effect_on_the_score() -> None:
    assert lacking(FULL) == ()
    assert lacking(CatalogDocumentation()) == tuple(Part)
    assert lacking(CatalogDocumentation(described=True, columns=10, described_columns=9)) == (
        Part.OWNER,
        Part.TAGS,
        Part.COLUMN_DESCRIPTIONS,
    )
    assert lacking(CatalogDocumentation(), ScoreRules(weights={Part.TAGS: 1})) == (Part.TAGS,)


def test_every_part_has_a_default_weight_and_a_value() -> None:
    assert set(parts_of(FULL)) == set(DEFAULT_WEIGHTS) == set(Part)
    assert sum(DEFAULT_WEIGHTS.values()) == pytest.approx(1)


def test_a_rules_file_sets_weights_and_freshness() -> None:
    text = '[completeness]\nfresh_within = "7d"\n[completeness.weights]\nowner = 3\ndescription = 1.0\n'
    rules = parse_score_rules(text, "rules.toml")
    assert rules == ScoreRules(weights={Part.DESCRIPTION: 1, Part.OWNER: 3}, fresh_within=timedelta(days=7))
    assert parse_score_rules("", "rules.toml") == DEFAULT_RULES


def test_every_mistake_is_named_with_its_line() -> None:
    text = """\
[completeness]
fresh_within = "soon"
frsh = 1

[completeness.weights]
ownr = 0.1
tags = -1
columns = "much"
description = true
[other]
"""
    with pytest.raises(Misconfigured) as raised:
        parse_score_rules(text, "rules.toml")
    first, *messages = str(raised.value).splitlines()
    assert "has 7 mistakes" in first
    assert [int(line.split(":")[1]) for line in messages] == [2, 3, 6, 7, 8, 9, 10]
    assert "Did you mean owner?" in messages[2]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[completeness", "is not valid TOML"),
        ("completeness = 1", "rules.toml:1: completeness must be a table"),
        ("[completeness]\nweights = 1", "rules.toml:2: completeness.weights must be a table"),
        ("[completeness.weights]\nowner = 0", "rules.toml:1: all weights are 0"),
        ("[completeness.weights]\nowner = inf", "rules.toml:2: owner must be a number from 0 to 1,000,000"),
        ("[completeness]\nfresh_within = 24", "rules.toml:2: fresh_within must be a length of time"),
    ],
)
def test_a_wrong_file_is_refused(text: str, part: str) -> None:
    with pytest.raises(Misconfigured, match=part):
        parse_score_rules(text, "rules.toml")


GOVERNANCE = """\
unknown = "warn"

[[tag]]
classification = "PII"
columns = "mail"

[[policy]]
name = "p"
columns = "mail"
no_tag = "PII"
"""


def test_one_file_holds_these_rules_and_those_of_governance() -> None:
    weights = "[completeness.weights]\nowner = 1\n"
    assert parse_score_rules(GOVERNANCE + weights, "rules.toml").weights == {Part.OWNER: 1}
    assert parse_rules(GOVERNANCE + weights, "rules.toml").policies
    assert frozenset(TABLES) | {"unknown"} == OF_OTHERS
    with pytest.raises(Misconfigured, match=r"rules\.toml:12: columns must be a number"):
        parse_score_rules(GOVERNANCE + '[completeness.weights]\ncolumns = "much"\n', "rules.toml")
