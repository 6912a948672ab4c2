"""What a file is that holds no events, by its first bytes: a table of the files that people have beside their events.

The keys are those of the formats' own documentation: dbt's artifacts, the Open Data Contract Standard, Atlas' REST API,
Spark's event log, Jupyter, and Throughline's own files.
"""

import re
from dataclasses import dataclass

HEAD = 4_096
"""Bytes of a file that are looked at: the kinds that are known say at their beginning what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of file: what it `is`, the `key` that it has, and the `command` that takes it, if there is one."""

    is_a: str
    key: re.Pattern[bytes]
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """A form of files: how they `begin`, what one is whose kind is not known (empty: it may hold events), and the kinds
    that are known.
    """

    begin: re.Pattern[bytes]
    is_a: str
    command: str = ""
    kinds: tuple[FileKind, ...] = ()


def _form(begin: bytes, is_a: str, command: str = "", kinds: tuple[FileKind, ...] = ()) -> FileForm:
    return FileForm(begin=re.compile(begin, re.MULTILINE | re.IGNORECASE), is_a=is_a, command=command, kinds=kinds)


def _kind(is_a: str, key: bytes, command: str = "") -> FileKind:
    return FileKind(is_a=is_a, key=re.compile(key, re.MULTILINE), command=command)


_IMPORT_DBT = "throughline import dbt FOLDER"
_CHECK_CONTRACT = "throughline contract check FILE"
_APPLY_PRODUCT = "throughline product apply FILE CONTRACT"
_LINES_BEFORE = rb"(?:\s|#[^\n]*\n|---[^\n]*\n)*"

FORMS: tuple[FileForm, ...] = (
    _form(rb"PAR1", "a Parquet file"),
    _form(rb"Obj\x01", "an Avro file"),
    _form(rb"ORC", "an ORC file"),
    _form(rb"PK\x03\x04", "a ZIP archive", "unpack it first"),
    _form(rb"[\s\S]{257}ustar", "a tar archive", "unpack it first"),
    _form(rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd", "compressed, but not by gzip", "unpack it first"),
    _form(rb"\xff\xfe|\xfe\xff", "a text in UTF-16", "save it in UTF-8"),
    _form(rb"\s*<(?:!doctype html|html)", "a page in HTML"),
    _form(rb"\s*<", "an XML file"),
    _form(
        _LINES_BEFORE + rb"(?:\[\[?[a-z][\w.\"' -]*\]\]?\s*$|[\w-]+\s*=)",
        "a TOML file",
        kinds=(
            _kind(
                "a file of names",
                rb"^\[fabric\.|^\[databricks\.|^qualified_name\s*=",
                "throughline translate EVENTS --names FILE",
            ),
            _kind("a rules file with policies", rb"^\[\[policy\]\]", "throughline check FILE"),
            _kind(
                "a rules file",
                rb"^\[\[(?:classification|tag|mask|declassify|term|certified)\]\]",
                "throughline classify plan --rules FILE",
            ),
            _kind("a rules file of messages", rb"^\[\[rules\]\]|^\[channels\.", "throughline watch --rules FILE"),
        ),
    ),
    _form(
        rb"\s*(?:\{|\[\s*[\[{\]])",
        "",
        kinds=(
            _kind("a manifest of dbt", rb"schemas\.getdbt\.com/dbt/manifest/", _IMPORT_DBT),
            _kind("the run results of dbt", rb"schemas\.getdbt\.com/dbt/run-results/", _IMPORT_DBT),
            _kind("a catalog of dbt", rb"schemas\.getdbt\.com/dbt/catalog/", _IMPORT_DBT),
            _kind("an artifact of dbt", rb"schemas\.getdbt\.com/dbt/", _IMPORT_DBT),
            _kind(
                "a file of type definitions of Atlas",
                rb'"(?:entity|classification|relationship|enum|struct|businessMetadata)Defs"\s*:',
            ),
            _kind("a file of entities of Atlas", rb'"(?:typeName|qualifiedName|referredEntities)"\s*:'),
            _kind("Spark's own event log", rb'"Event"\s*:\s*"SparkListener'),
            _kind("a notebook", rb'"nbformat"\s*:|\A\s*\{\s*"cells"\s*:'),
            _kind("a data contract", rb'"kind"\s*:\s*"DataContract"', _CHECK_CONTRACT),
            _kind("a data product", rb'"kind"\s*:\s*"DataProduct"', _APPLY_PRODUCT),
            _kind("a data contract of an older format", rb'"dataContractSpecification"\s*:'),
            _kind("a lineage document", rb'"format"\s*:\s*\d+,\s*"source"\s*:'),
            _kind("a JSON Schema, or a file that has one", rb'"\$schema"\s*:'),
        ),
    ),
    _form(
        _LINES_BEFORE + rb"(?:- |[\w.\"'/-]+\s*:(?:\s|$))",
        "a YAML file",
        kinds=(
            _kind("a data contract", rb"^kind\s*:\s*[\"']?DataContract\b", _CHECK_CONTRACT),
            _kind("a data product", rb"^kind\s*:\s*[\"']?DataProduct\b", _APPLY_PRODUCT),
            _kind("a data contract of an older format", rb"^dataContractSpecification\s*:"),
            _kind("a configuration of OpenLineage's client", rb"^transport\s*:"),
            _kind("a dbt project", rb"^(?:model-paths|config-version)\s*:"),
            _kind("a file of properties of dbt", rb"^(?:models|sources|seeds|snapshots|exposures)\s*:\s*$"),
        ),
    ),
    _form(rb"[^\n{}\[\]]*([,;\t])[^\n{}]*\n[^\n{}]*\1", "a CSV file"),
)
"""The first that fits."""

_EVENT = re.compile(rb'"(?:eventTime|eventType|runId|producer|schemaURL)"\s*:')


def sentence_of(name: str, head: bytes) -> str:
    """A sentence that says what the file `name` is by its first bytes, with the command that takes it; empty if it may
    hold events, and for a form that is not known.
    """
    text = head.removeprefix(b"\xef\xbb\xbf")
    form = next((form for form in FORMS if form.begin.match(text)), None)
    if form is None or _EVENT.search(text):
        return ""
    kind = next((kind for kind in form.kinds if kind.key.search(text)), form)
    if not kind.is_a:
        return ""
    command = kind.command.replace("FILE", name)
    return no_events(name, kind.is_a) + (f": {command}" if command else "")


def no_events(name: str, is_a: str) -> str:
    """The sentence about a file that is something else."""
    return f"{name} is {is_a}, and holds no OpenLineage events"
