"""`throughline classify`: its output, explanations and writes, on memory and on a catalog over HTTP."""

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

from msgspec import to_builtins

from shared.atlas.columns import column_name
from shared.bootstrap import assemble
from shared.publishing.publisher import Publisher
from shared.settings.reading import load
from tests.support.building import IDENTITY, body, dataset, packed, source, step
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts
from tests.support.plans import PlanBuilder, column, facet
from tests.support.processing import deliver_event, post
from tests.support.publishing import context_of, publish
from throughline.local.catalog.server import CatalogServer

RULES = """
[[classification]]
name = "Acme.PII"
description = "Personal data"

[[tag]]
classification = "Acme.PII"
datasets = "raw"
columns = "mail"
"""
TERMS = """
[[term]]
name = "Customer"
datasets = "clean"

[[term]]
name = "Email@Glossary"
columns = "mail"
"""
SCHEMA = {"fields": [{"name": "mail", "type": "string"}, {"name": "hash", "type": "string"}]}
HASHED = step("DIRECT", "TRANSFORMATION", masking=True)


def events() -> list[bytes]:
    """A column is copied, and hashed beside it."""
    columns = columns_of({"mail": [source("raw", "mail", IDENTITY)], "hash": [source("raw", "mail", HASHED)]})
    raw_dataset = dataset("raw", schema={"fields": SCHEMA["fields"][:1]})
    return [packed(body(inputs=[raw_dataset], outputs=[dataset("clean", schema=SCHEMA, columnLineage=columns)]))]


def recorded() -> Parts:
    parts = Parts()
    for place in post(parts.storage, *events()):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    return parts


def rules(tmp_path: Path, text: str = RULES) -> str:
    (tmp_path / "rules.toml").write_text(text)
    return str(tmp_path / "rules.toml")


def test_apply_makes_the_planned_changes_and_the_next_plan_is_empty(tmp_path: Path) -> None:
    parts, file = recorded(), rules(tmp_path)
    planned = parts.run("classify", "plan", "--rules", file)
    assert planned.exit_code == 3, planned.output
    assert "Acme.PII: 2 tagged, 1 clean, 0 not known" in planned.output
    assert "2 to attach, 0 to take away" in planned.output
    applied = parts.run("classify", "apply", "--rules", file)
    assert applied.exit_code == 0, applied.output
    assert "2 attached, 0 taken away" in applied.output
    second_result = parts.run("classify", "plan", "--rules", file, "--json")
    assert second_result.exit_code == 0
    next_plan = json.loads(second_result.output)
    assert next_plan["attach"] == next_plan["detach"] == []
    assert next_plan["classifications"] == {"Acme.PII": {"tagged": 2, "clean": 1, "not known": 0}}
    empty_result = parts.run("classify", "apply", "--rules", rules(tmp_path, ""))
    assert "0 attached, 2 taken away" in empty_result.output


def test_explain_names_the_code_on_the_path(tmp_path: Path) -> None:
    parts, plans = Parts(), PlanBuilder()
    map_node = plans.add("MapInPandas", output=[column(2, "x")], child=plans.table("file:/raw", column(1, "mail")))
    plan = to_builtins(facet(plans.writing(map_node, "file:/clean")))
    event = body(inputs=["/raw"], outputs=[dataset("/clean")], run_facets={"throughline_plan": plan})
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    output = parts.run("classify", "explain", "clean.x", "--rules", rules(tmp_path)).output
    assert "Acme.PII: not known" in output
    assert "may arrive or not: on the way is code that Spark's plan does not show" in " ".join(output.split())
    assert "raw.mail → clean.x (opaque" in output
    planned = parts.run("classify", "plan", "--rules", rules(tmp_path)).output
    assert "Acme.PII: 1 tagged, 0 clean, 1 not known" in planned


def test_explain_shows_the_path_and_the_mask(tmp_path: Path) -> None:
    parts, file = recorded(), rules(tmp_path)
    tagged = parts.run("classify", "explain", "clean.mail", "--rules", file)
    assert "Acme.PII: tagged. It begins by the rule in line 6" in tagged.output
    assert "raw.mail → clean.mail (identity" in tagged.output
    masked = parts.run("classify", "explain", "clean.hash", "--rules", file)
    assert "clean. It begins by the rule in line 6, and a mask stops it" in masked.output
    assert "the mask stops it here" in masked.output
    unknown = parts.run("classify", "explain", "clean.mial", "--rules", file)
    assert unknown.exit_code == 1
    assert "has no column 'mial'. Did you mean mail?" in " ".join(unknown.output.split())


def test_rules_without_an_effect_and_errors_in_rules_are_reported(tmp_path: Path) -> None:
    parts = recorded()
    unused = parts.run("classify", "plan", "--rules", rules(tmp_path, RULES.replace('"raw"', '"rew"')))
    assert "no data set matches rew. Did you mean raw?" in " ".join(unused.output.split())
    wrong = parts.run("classify", "plan", "--rules", rules(tmp_path, RULES.replace("columns", "colums")))
    assert wrong.exit_code == 2
    assert "rules.toml:9" in wrong.output
    missing = parts.run("classify", "plan", "--rules", str(tmp_path / "none.toml"))
    assert missing.exit_code == 2
    assert "none.toml" in missing.output


def test_definitions_and_classifications_are_written_to_the_catalog(
    tmp_path: Path, fresh_catalog: CatalogServer
) -> None:
    """Over HTTP: the definition is created first, and nothing propagates."""
    parts = Parts()
    environment = {
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "THROUGHLINE_CATALOG_ENDPOINT": fresh_catalog.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": fresh_catalog.token,
    }
    worker = assemble(load(catalog=True, environment=environment), storage=parts.storage)
    parts.worker = replace(worker, to_record={})
    for place in post(parts.storage, *events()):
        deliver_event(parts.storage, place)
    while Publisher(context=context_of(parts.storage, worker.catalog, worker.publishing)).publish().written:
        pass
    file = rules(tmp_path, RULES + TERMS)
    assert "2 terms to create: Customer@Glossary, Email" in parts.run("classify", "plan", "--rules", file).output
    applied = parts.run("classify", "apply", "--rules", file)
    assert applied.exit_code == 0, applied.output
    assert "1 definition created: Acme.PII" in applied.output
    assert "2 terms created" in applied.output
    assert "5 attached" in applied.output
    writes_before = fresh_catalog.calls()["writes"]
    assert parts.run("classify", "plan", "--rules", file).exit_code == 0
    assert parts.run("classify", "apply", "--rules", file).exit_code == 0
    assert fresh_catalog.calls()["writes"] == writes_before, "a second apply makes no call that writes"
    empty_result = parts.run("classify", "apply", "--rules", rules(tmp_path, ""))
    assert "0 attached, 5 taken away" in empty_result.output


def test_terms_are_planned_explained_and_refused_with_an_unknown_glossary(tmp_path: Path) -> None:
    parts, file = recorded(), rules(tmp_path, TERMS)
    planned = parts.run("classify", "plan", "--rules", file)
    assert planned.exit_code == 3
    assert "+ Email@Glossary" in planned.output
    assert "3 to attach, 0 to take away" in planned.output
    term_plan = json.loads(parts.run("classify", "plan", "--rules", file, "--json").output)
    assert term_plan["new_terms"] == ["Customer@Glossary", "Email@Glossary"]
    assert [attachment["term"] for attachment in term_plan["attach"]] == [
        "Customer@Glossary",
        "Email@Glossary",
        "Email@Glossary",
    ]
    parts.run("classify", "apply", "--rules", file)
    assert parts.run("classify", "plan", "--rules", file).exit_code == 0
    explained = parts.run("classify", "explain", "clean.mail", "--rules", file).output
    assert "Customer@Glossary: a glossary term. The rule in line 2 gives its data set the term" in explained
    assert "Email@Glossary: a glossary term. The rule in line 6 gives it the term" in explained
    wrong = parts.run("classify", "apply", "--rules", rules(tmp_path, TERMS.replace("Customer", "Customer@Sales")))
    assert wrong.exit_code == 2
    assert "there is no glossary Sales; the catalog has Glossary" in " ".join(wrong.output.split())
    unused = parts.run("classify", "plan", "--rules", rules(tmp_path, TERMS.replace('"mail"', '"mial"')))
    assert "[[term]] has no effect: no column has columns mial" in " ".join(unused.output.split())


def test_a_rule_about_the_catalogs_classifications_is_not_called_unused(tmp_path: Path) -> None:
    parts = recorded()
    text = '[[tag]]\nclassification = "Acme.PII"\nclassified_as = "MICROSOFT.*"\n'
    assert "no column has classified_as" in parts.run("classify", "plan", "--rules", rules(tmp_path, text)).output
    assert parts.worker.classifications
    keys = [("column", column_name(*key, "mail")) for key in parts.catalog.assets]
    entities = parts.worker.classifications.classified(keys)
    parts.worker.classifications.attach("MICROSOFT.EMAIL", [entity.guid for entity in entities.values()])
    output = parts.run("classify", "plan", "--rules", rules(tmp_path, text)).output
    assert "unused" not in output


# --- after an apply


def test_search_the_page_and_checks_know_what_was_attached(tmp_path: Path) -> None:
    parts = recorded()
    result_before = parts.run("search", "mail", "--tag", "Acme.PII")
    assert result_before.exit_code == 1
    assert parts.run("classify", "apply", "--rules", rules(tmp_path)).exit_code == 0
    matches = json.loads(parts.run("search", "mail", "--tag", "Acme.PII", "--json").output)
    assert [match["column"] for match in matches if match["column"]] == ["mail", "mail"]
    assert parts.run("view", "clean", "--html", str(tmp_path / "page.html")).exit_code == 0
    data = (tmp_path / "page.html").read_text().partition('id="data"')[2].partition(">")[2].partition("<")[0]
    assert "Acme.PII" in gzip.decompress(base64.b64decode(data)).decode()
    policy = """
[[tag]]
classification = "PII"
tag = "Acme.PII"
[[policy]]
name = "clean"
datasets = "clean"
no_tag = "PII"
"""
    (tmp_path / "policy.toml").write_text(policy)
    checked = parts.run("check", str(tmp_path / "policy.toml"))
    assert checked.exit_code == 3
    assert "PII reaches clean.mail" in checked.output


def test_an_apply_takes_no_attached_classification_for_a_tag_of_events(tmp_path: Path) -> None:
    """Else a classification would keep itself attached for ever."""
    parts = recorded()
    extended_rules = RULES + '\n[[tag]]\nclassification = "Acme.PII"\ntag = "Acme.*"\n'
    parts.run("classify", "apply", "--rules", rules(tmp_path, extended_rules))
    remaining_rules = extended_rules.replace('datasets = "raw"', 'datasets = "nothing"')
    assert (
        "0 attached, 2 taken away" in parts.run("classify", "apply", "--rules", rules(tmp_path, remaining_rules)).output
    )


def test_a_second_rules_file_takes_nothing_away(tmp_path: Path) -> None:
    parts = recorded()
    parts.run("classify", "apply", "--rules", rules(tmp_path))
    (tmp_path / "other.toml").write_text(RULES.replace("Acme.PII", "Other.PII").replace('"raw"', '"clean"'))
    planned = parts.run("classify", "plan", "--rules", str(tmp_path / "other.toml"))
    assert "1 to attach, 0 to take away" in planned.output
