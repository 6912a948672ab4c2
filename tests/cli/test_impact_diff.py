"""`throughline impact --from-diff`: a real git repository with a dbt project and scripts, changed commit by commit."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import Result

from tests.support.cli import Parts
from tests.support.shop import ORDERS, PREFIX, commit, git, make_repository, recorded_shop

INCREMENTAL = ORDERS.replace("'orders') }}", "'orders') }} {% if is_incremental() %} where id > 1 {% endif %}")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make_repository(tmp_path)
    return tmp_path


@pytest.fixture
def parts() -> Parts:
    return recorded_shop()


def impact(parts: Parts, repository: Path, *arguments: str) -> Result:
    return parts.run("impact", "--from-diff", "base...HEAD", "--repo", str(repository), *arguments)


def answers(result: Result) -> list[tuple[str, str, str, set[str]]]:
    """The change, subject, verdict and names of what is affected."""
    return [
        (
            breakage["change"],
            breakage["subject"].removeprefix(PREFIX),
            breakage["verdict"],
            {affected["name"].removeprefix(PREFIX) for affected in breakage["affected"]},
        )
        for breakage in json.loads(result.stdout)
    ]


STAGING = "dbt/models/staging/stg_orders.sql"
LOAD = "etl/load.sql"


@pytest.mark.parametrize(
    ("files", "code", "subjects"),
    [
        ({STAGING: ORDERS.replace("amount, ", "")}, 3, [("drop", "stg_orders.amount", "broken", {"mart", "report"})]),
        ({STAGING: ORDERS.replace("email", "upper(email) as email")}, 0, [("keep", "stg_orders", "holds", set())]),
        ({STAGING: INCREMENTAL}, 0, [("keep", "stg_orders", "holds", set())]),
        (
            {LOAD: "create temp view mart as select 1; insert into main.loaded select 1, 2"},
            4,
            [("rewrite", "loaded", "not known", {"cities"})],
        ),
        (
            {STAGING: "{% for x in y %} select {{ x }} {% endfor %}"},
            4,
            [("rewrite", "stg_orders", "not known", {"mart", "report"})],
        ),
        ({STAGING: None}, 3, [("drop", "stg_orders", "broken", {"mart", "report"})]),
        ({STAGING: None, "dbt/models/other/stg_orders.sql": ORDERS}, 0, []),
        (
            {"dbt/macros/cents.sql": "{% macro cents() %}1{% endmacro %}"},
            4,
            [("rewrite", "dbt/macros/cents.sql", "not known", set())],
        ),
        ({"dbt/tests/no_negatives.sql": "select 1", "README.md": "b", "dbt/models/new.sql": "select 1 as one"}, 0, []),
        (
            {LOAD: "create table main.loaded as select id from main.source"},
            3,
            [("drop", "loaded.city", "broken", {"cities"})],
        ),
        (
            {LOAD: "create table main.loaded as select * from main.source"},
            4,
            [("rewrite", "loaded", "not known", {"cities"})],
        ),
        (
            {"etl/next.sql": "alter table main.loaded rename column city to town"},
            3,
            [("rename", "loaded.city", "broken", {"cities"})],
        ),
        (
            {"etl/next.sql": "alter table main.loaded alter column city type bigint"},
            3,
            [("retype", "loaded.city", "broken", {"cities"})],
        ),
        (
            {"etl/next.sql": "grant select on main.loaded to x; drop table if exists loaded;"},
            3,
            [("drop", "loaded", "broken", {"cities"})],
        ),
        (
            {"etl/next.sql": "insert into main.loaded select 'S3cr3t' from ${x}"},
            4,
            [("rewrite", "etl/next.sql", "not known", set())],
        ),
    ],
)
def test_what_a_commit_breaks(
    parts: Parts,
    repository: Path,
    files: Mapping[str, str | None],
    code: int,
    subjects: list[tuple[str, str, str, set[str]]],
) -> None:
    commit(repository, files)
    result = impact(parts, repository, "--json")
    assert answers(result) == subjects, result.output
    assert result.exit_code == code
    assert "S3cr3t" not in result.output


def test_the_manifest_names_models_whose_alias_is_not_their_file(parts: Parts, repository: Path) -> None:
    commit(repository, {"dbt/models/s1.sql": ORDERS})
    git(repository, "tag", "--force", "base")
    commit(repository, {"dbt/models/s1.sql": ORDERS.replace(", email", "")})
    assert answers(impact(parts, repository, "--json")) == [("drop", "s1.email", "not known", set())]
    node = {"unique_id": "model.shop.s1", "name": "s1", "resource_type": "model", "original_file_path": "models/s1.sql"}
    named = {**node, "database": "db", "schema": "main", "alias": "stg_orders"}
    metadata = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "generated_at": "2026-11-26"}
    manifest = {"metadata": metadata, "nodes": {"model.shop.s1": named}}
    (repository / "manifest.json").write_text(json.dumps(manifest))
    result = impact(parts, repository, "--json", "--dbt", str(repository))
    assert answers(result) == [("drop", "stg_orders.email", "holds", set())]


def test_one_comment_names_each_file_and_sarif_points_at_it(parts: Parts, repository: Path) -> None:
    changes = {STAGING: ORDERS.replace("amount, ", ""), LOAD: "create table main.loaded as select id from main.source"}
    commit(repository, changes)
    comment = impact(parts, repository, "--markdown")
    assert comment.stdout.startswith("<!-- throughline impact -->\n")
    assert "**3 broken**" in comment.stdout
    assert f"drop `db.main.stg_orders.amount` in `{STAGING}`: **breaks**" in comment.stdout
    (run,) = json.loads(impact(parts, repository, "--sarif").stdout)["runs"]
    places = [finding["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for finding in run["results"]]
    assert sorted(set(places)) == [STAGING, LOAD]


def test_a_range_without_sql_breaks_nothing_and_still_gives_a_comment(parts: Parts, repository: Path) -> None:
    commit(repository, {"README.md": "a shop of ours\n"})
    result = impact(parts, repository, "--markdown")
    assert (result.exit_code, "nothing breaks" in result.stdout) == (0, True)


@pytest.mark.parametrize("commits", ["gone...HEAD", "--output=x", "", "base", "base..HEAD", "HEAD~1..base"])
def test_a_range_is_read_or_refused_with_what_to_do(parts: Parts, repository: Path, commits: str) -> None:
    commit(repository, {STAGING: None})
    result = parts.run("impact", f"--from-diff={commits}", "--repo", str(repository))
    if commits in {"base", "base..HEAD"}:
        assert result.exit_code == 3
    elif commits == "HEAD~1..base":
        assert result.exit_code == 0
    else:
        assert result.exit_code == 2
        assert "fetch-depth: 0" in result.stderr or "say what changes" in result.stderr
    assert not (repository / "x").exists()


def test_a_folder_outside_of_any_repository_is_refused(parts: Parts, tmp_path: Path) -> None:
    result = parts.run("impact", "--from-diff", "main", "--repo", str(tmp_path / "gone"))
    assert (result.exit_code, "is in no git repository" in result.stderr) == (2, True)
