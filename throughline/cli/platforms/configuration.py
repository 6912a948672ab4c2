"""The configuration of a platform, from what an installation wants. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from shlex import quote
from string import Template

from throughline.cli.platforms import texts
from throughline.cli.platforms.runtimes import PlatformError, Proof, Runtime, runtime_of
from throughline.cli.platforms.table import TABLE, PlatformRow
from throughline.local.spark.job import LISTENER_CLASS, listener_configuration
from throughline.local.toolchain.versions import LISTENER_VERSION
from throughline.local.toolchain.versions import PLATFORMS as SPARKS
from throughline.plan_jar import JAR as PLAN_JAR
from throughline.plan_jar import LISTENER_CLASS as PLAN_LISTENER

_HEADER = "spark.openlineage.transport.headers.x-functions-key"
_PLAN_FILE = "spark.throughline.plan.transport.location"  # two writers of one file could mix their lines
_REDACTED = "(?i)secret|password|token|access[.]?key|functions-key"
_CAPTURED = ("spark.master", "spark.app.name")
"""What the listener passes on of Spark's properties by default: naming others replaces these."""
_SPARKS = {spark.scala: spark for spark in SPARKS.values()}
_HARMLESS = re.compile(r"[\w./:@%+ -]*")


VAULT, SECRET, SCOPE = "VAULT", "throughline-key", "throughline"
"""Names that an installation has unless it says otherwise: of a Key Vault, of the key's secret in it, of a scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What differs from one installation to the next.

    `vault` and `secret` name a secret in Azure Key Vault, `scope` a secret scope of Databricks, `folder` where jar and
    init script lie there. `key` is only for this machine. `transport`: http, or file on Fabric. `runtime`: the
    platform's version, its default where empty. `output` is the folder that the files are written to, if any: steps
    name them there. `plan_jar` is where throughline-plan.jar lies on this machine; empty: without Spark's plans.
    `status` is the command that shows what has arrived.
    """

    url: str
    namespace: str = "default"
    listener: str = LISTENER_VERSION
    runtime: str = ""
    vault: str = VAULT
    secret: str = SECRET
    scope: str = SCOPE
    folder: str = ""
    key: str = field(default="", repr=False)
    transport: str = "http"
    output: str = ""
    plan_jar: str = ""
    status: str = "throughline status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All that one platform needs. `place` is where its properties go, `files` texts by their names, `notes` what to
    know of its runtime.
    """

    platform: str
    runtime: str
    place: str
    properties: Mapping[str, str]
    files: Mapping[str, str]
    steps: tuple[str, ...]
    never: Mapping[str, str]
    notes: tuple[str, ...] = ()


NEVER: Mapping[str, str] = {
    "spark.openlineage.transport.compression": "Azure Functions passes an empty body to the code: gzip comes in chunks",
    "spark.openlineage.transport.url with a path or ?code=": "the listener drops both",
    "spark.openlineage.transport.urlParams.code": "the key would stand in every access log: the header does not",
    "spark.openlineage.facets.spark.logicalPlan.disabled=false": "plans without paths, of many megabytes",
    "spark.openlineage.columnLineage.datasetLineageEnabled=false": "filters and joins would be copied into each column",
    "spark.openlineage.appName per run": "the application's name is part of a process's identity",
}
"""What must not be set, and why. Each was met in the listener or in the functions host."""


def configuration(platform: str, wanted_installation: Installation, *, today: date) -> Configuration:
    """What this platform needs, as of a day. Raises PlatformError for what can't work: see each message."""
    name = f"{platform}-file" if wanted_installation.transport == "file" else platform
    row = TABLE.get(name)
    if row is None:
        transport = wanted_installation.transport
        raise PlatformError(f"{platform} has no transport {transport!r}: only fabric can write files")
    runtime = runtime_of(platform, wanted_installation.runtime)
    _check(row, wanted_installation)
    words = _words(name, row, wanted_installation, runtime)
    properties = _properties(row, wanted_installation, runtime, words)
    words = {**words, "packages": properties.get("spark.jars.packages", "")}

    def filled(text: str) -> str:
        return Template(text).substitute(words)

    return Configuration(
        platform=name,
        runtime=runtime.name,
        place=filled(row.place),
        properties=properties,
        files={file: filled(text) for file, text in row.files.items()},
        steps=tuple(filled(step) for step in row.steps if wanted_installation.plan_jar or step not in texts.OF_PLANS),
        never=NEVER,
        notes=tuple(_notes(runtime, today)),
    )


def _check(row: PlatformRow, installation: Installation) -> None:
    if _version(installation.listener) < row.oldest:
        oldest = ".".join(map(str, row.oldest))
        raise PlatformError(f"Listener {installation.listener} {row.why_oldest}: use {oldest} or later")
    if not installation.url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise PlatformError(f"The receiver's address must begin with https://, not {installation.url!r}")
    for slot in Installation.__slots__:
        text = getattr(installation, slot)
        if slot not in {"key", "output", "plan_jar", "status"} and not _HARMLESS.fullmatch(text):
            raise PlatformError(f"{slot} holds a character that a script would not take as it is: {text!r}")


def _words(name: str, row: PlatformRow, installation: Installation, runtime: Runtime) -> Mapping[str, str]:
    def file(file_name: str) -> str:
        return quote(str(Path(installation.output) / file_name))

    return {
        **{slot: getattr(installation, slot) for slot in Installation.__slots__},
        "url": installation.url.rstrip("/"),
        "folder": (installation.folder or row.folder).rstrip("/"),
        "scala": runtime.scala,
        "jar": runtime.jar(installation.listener),
        "listeners": ",".join((*row.beside, LISTENER_CLASS, *((PLAN_LISTENER,) if installation.plan_jar else ()))),
        "plan_file": quote(installation.plan_jar),
        "jars": " ".join((runtime.jar(installation.listener), *((PLAN_JAR,) if installation.plan_jar else ()))),
        "header": _HEADER,
        "file": file(f"{name}.conf"),
        "script": file("throughline-init.sh"),
        "pick_up": str(Path(installation.output) / "pick_up.py"),
    }


def as_text(properties: Mapping[str, str]) -> str:
    """Properties as all of these platforms read them: name, space, value."""
    return "".join(f"{name} {value}\n" for name, value in properties.items())


def _properties(
    row: PlatformRow, installation: Installation, runtime: Runtime, words: Mapping[str, str]
) -> dict[str, str]:
    key = Template(row.key).substitute(words) if row.key else None
    properties = listener_configuration(
        installation.url,
        key=key or None,
        namespace=installation.namespace,
        platform=_SPARKS[runtime.scala],
        listener=installation.listener,
    )
    properties["spark.extraListeners"] = words["listeners"]
    if row.captured:
        properties["spark.openlineage.capturedProperties"] = ",".join((*_CAPTURED, *row.captured))
    if not row.packages:
        del properties["spark.jars.packages"]  # these platforms bring Delta, and get the listener as a file
    elif installation.plan_jar:
        properties["spark.jars"] = installation.plan_jar
    if installation.transport == "file":
        properties = {name: value for name, value in properties.items() if ".transport." not in name}
        properties["spark.openlineage.transport.type"] = "file"
        properties["spark.openlineage.transport.location"] = f"{words['folder']}/events.jsonl"
        return properties | ({_PLAN_FILE: f"{words['folder']}/plans.jsonl"} if installation.plan_jar else {})
    if not row.packages:
        properties["spark.redaction.regex"] = _REDACTED  # else Spark's web page shows the header
    return properties


def _notes(runtime: Runtime, today: date) -> list[str]:
    """What to know of this runtime."""
    notes = []
    if runtime.is_over(today):
        notes.append(f"Runtime {runtime.name} has been out of support since {runtime.ends}: move to a newer one")
    if runtime.proof is Proof.UNPROVEN:
        place = f"runtime {runtime.name} (Spark {runtime.spark})"
        notes.append(f"The listener was not proved on {place}: try it on one job")
    if runtime.note:
        notes.append(runtime.note)
    return notes


def _version(text: str) -> tuple[int, int]:
    try:
        major, minor, *_ = text.split(".")
        return int(major), int(minor)
    except ValueError as error:
        raise PlatformError(f"A listener's version looks like {LISTENER_VERSION}, not {text!r}") from error
