"""The namespace of a project's tables, as OpenLineage's wrapper `dbt-ol` derives it from dbt's profile.

Only the keys of the table below are read from a profile: passwords and tokens stay there. A value may be a call of
`env_var`, dbt's way to read a variable; other Jinja is refused.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shared.errors import Misconfigured
from shared.secrets import without_secrets
from throughline.dbt.artifacts import Project

PROFILES, PROJECT_FILE = "profiles.yml", "dbt_project.yml"
_FORMS: Mapping[str, str] = {
    "athena": "awsathena://athena.{region_name}.amazonaws.com",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse://{host}:{port}",
    "databricks": "databricks://{host}",
    "dremio": "dremio://{software_host}:{port}",
    "duckdb": "duckdb://{path}",
    "fabric": "fabric-warehouse://{server}[:{port}]",
    "postgres": "postgres://{host}:{port}",
    "presto": "presto://{host}:{port}",
    "redshift": "redshift://{host}:{port}",
    "snowflake": "snowflake://{account}",
    "spark": "spark://{host}:{port}",
    "sqlserver": "mssql://{server}:{port}",
    "trino": "trino://{host}:{port}",
}
"""By dbt's type of connection (OpenLineage's naming page, and `dbt-ol` 1.54). What is in brackets may be missing."""
_PORTS: Mapping[str, str] = {"clickhouse": "8123", "postgres": "5432", "redshift": "5439", "sqlserver": "1433"}
_SPARK_PORTS: Mapping[str, str] = {"http": "443", "odbc": "443", "thrift": "10001"}
_KEY = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[.*\{(\w+)\}\]")
_ENV_VAR = re.compile(
    r"""\{\{\s*env_var\(\s*['"](\w+)['"]\s*(?:,\s*['"]([^'"{}]*)['"]\s*)?\)\s*(?:\|\s*(?:as_number|int)\s*)?\}\}"""
)
_SECRET_VARIABLE = "DBT_ENV_SECRET"  # noqa: S105 - how dbt's names of secret variables begin
_NAME_IT = "give --namespace, such as `spark://host:10001`, as `dbt-ol` or another producer names the tables"


def namespace_of(
    project: Project, environment: Mapping[str, str], *, profiles: Path | None = None, target: str = ""
) -> str:
    """The namespace of all tables. `profiles`: the folder of profiles.yml, where it is not the one that dbt used;
    `target`: the profile's output, where it is not the one that dbt used.

    Raises Misconfigured, with the place and never with a value.
    """
    if project.metadata.adapter_type == "bigquery":
        return _FORMS["bigquery"]
    place, output = _output(project, environment, profiles, target)
    kind = str(output.get("type", ""))
    form = _FORMS.get(kind)
    if form is None:
        raise Misconfigured(f"{place}: no namespace is known for connections of type {kind!r}: {_NAME_IT}")
    defaults = _SPARK_PORTS.get(str(output.get("method", "")), "") if kind == "spark" else _PORTS.get(kind, "")
    values = {"port": defaults} if defaults else {}
    problems: list[str] = []
    optional = _OPTIONAL.search(form)
    if optional:
        form = _OPTIONAL.sub(optional[0][1:-1] if optional[1] in output else "", form)
    for key in _KEY.findall(form):
        try:
            values[key] = _rendered(output[key], environment) if key in output else values[key]
        except KeyError:
            problems.append(f"{place}: {key} is missing")
        except ValueError as error:
            problems.append(f"{place}: {key} {error}")
    if problems:
        raise Misconfigured("\n".join([*problems, _NAME_IT.capitalize()]))
    return without_secrets(form.format(**values), "")[0]


def _output(
    project: Project, environment: Mapping[str, str], profiles: Path | None, target: str
) -> tuple[str, Mapping[str, Any]]:
    """The connection of the profile, and its place for messages."""
    arguments = project.arguments
    project_root = project.folder.parent
    root = (
        project_root
        if (project_root / PROJECT_FILE).exists() or not arguments.project_dir
        else Path(arguments.project_dir)
    )
    name = arguments.profile or str(_yaml(root / PROJECT_FILE).get("profile", ""))
    usual = [*([Path(arguments.profiles_dir)] if arguments.profiles_dir else []), root, Path.home() / ".dbt"]
    folders = [profiles] if profiles else usual
    path = next((folder / PROFILES for folder in folders if (folder / PROFILES).exists()), None)
    if path is None:
        tried = " or ".join(str(folder / PROFILES) for folder in folders)
        raise Misconfigured(f"{tried} does not exist: name its folder by --profiles-dir, or {_NAME_IT}")
    profile = _yaml(path).get(name)
    if not isinstance(profile, dict):
        raise Misconfigured(f"{path} has no profile {name!r}, which {root / PROJECT_FILE} or dbt's run names")
    try:
        target = target or arguments.target or _rendered(profile.get("target", "default"), environment)
    except ValueError as error:
        raise Misconfigured(f"{path}: {name}.target {error}: give --target") from error
    outputs = profile.get("outputs")
    output = outputs.get(target) if isinstance(outputs, dict) else None
    if not isinstance(output, dict):
        raise Misconfigured(f"{path}: {name}.outputs has no {target!r}: give --target")
    return f"{path}: {name}.outputs.{target}", output


def _yaml(path: Path) -> Mapping[str, Any]:
    """A file of YAML; empty where it does not exist."""
    try:
        import yaml  # noqa: PLC0415 - an extra: only a profile needs it
    except ImportError as error:
        raise Misconfigured(f"{path} is YAML: install `throughline[dbt]`, or {_NAME_IT}") from error
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Misconfigured(f"{path} can't be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)  # the text of the error quotes the file, which holds passwords
        line = f":{mark.line + 1}" if mark else ""
        raise Misconfigured(f"{path}{line}: this is not valid YAML") from None
    return content if isinstance(content, dict) else {}


def _rendered(value: object, environment: Mapping[str, str]) -> str:
    """A value of a profile with its variables. Raises ValueError without the value."""

    def variable(call: re.Match[str]) -> str:
        name, default = call[1], call[2]
        if name.startswith(_SECRET_VARIABLE):
            raise ValueError(f"is the secret {name}, which must not be in a name")
        if name not in environment and default is None:
            raise ValueError(f"needs the environment variable {name}: set it")
        return environment.get(name, default or "")

    text = _ENV_VAR.sub(variable, str(value))
    if "{{" in text or "{%" in text:
        raise ValueError("is Jinja other than `env_var`")
    return text
