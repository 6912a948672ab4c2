"""What a Spark platform must be told to report to a receiver: properties, files, steps, and what to leave alone. Pure.

Sources: the listener's pages https://openlineage.io/docs/integrations/spark/configuration/usage and
…/quickstart/quickstart_databricks, and each platform's own documentation, named in docs/*.md.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from string import Template
from typing import TypeAlias

from local.spark import listener_configuration
from local.versions import LISTENER_VERSION, SPARK_3
from local.versions import PLATFORMS as SPARKS

_HEADER = "spark.openlineage.transport.headers.x-functions-key"
_LISTENERS = "spark.extraListeners"
_REDACTED = "(?i)secret|password|token|access[.]?key|functions-key"
_SPARKS = {spark.scala: spark for spark in SPARKS.values()}
_HARMLESS = re.compile(r"[\w./:@%+ -]*")
_OLDEST = (1, 12)  # whose events are kept as golden ones
_OLDEST_WITH_UNITY_CATALOG = (1, 51)


class PlatformError(ValueError):
    """What was asked for can't work; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What differs from one installation to the next.

    `vault` and `secret` name a secret in Azure Key Vault, `scope` a secret scope of Databricks, `folder` where jar and
    init script lie there. `key` is only for this machine. `transport`: http, or file on Fabric. `scala`: 2.12 on Spark
    3, or 2.13 as on Spark 4. `output` is the folder that the files are written to, if any: steps name them there.
    """

    url: str
    namespace: str = "default"
    listener: str = LISTENER_VERSION
    vault: str = "VAULT"
    secret: str = "throughline-key"  # noqa: S105 - its name, not the secret
    scope: str = "throughline"
    folder: str = ""
    key: str = field(default="", repr=False)
    transport: str = "http"
    scala: str = SPARK_3.scala
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All that one platform needs. `place` is where its properties go, `files` texts by their names."""

    platform: str
    place: str
    properties: Mapping[str, str]
    files: Mapping[str, str]
    steps: tuple[str, ...]
    never: Mapping[str, str]


_Steps: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Platform:
    """A row of the table. `key` is what stands for the key in the properties, None where the platform can't look it up.

    Texts may hold `$name` for each field of Wanted, and `$jar`, `$header`.
    """

    place: str
    steps: _Steps
    key: str | None = None
    folder: str = ""
    packages: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Wanted], None] = lambda _: None


NEVER: Mapping[str, str] = {
    "spark.openlineage.transport.compression": "gzip comes in chunks, and Azure Functions hands those on empty",
    "spark.openlineage.transport.url with a path or ?code=": "the listener drops both",
    "spark.openlineage.transport.urlParams.code": "the key would stand in every access log: the header does not",
    "spark.openlineage.facets.spark.logicalPlan.disabled=false": "plans are of no use here, and grow to many megabytes",
    "spark.openlineage.columnLineage.datasetLineageEnabled=false": "filters and joins would be copied into each column",
    "spark.openlineage.appName per run": "the application's name is part of a process's identity",
}
"""What must not be set, and why. Each was met in the listener or in the functions host."""

_INIT_SCRIPT = """\
#!/bin/bash
# Puts the OpenLineage listener onto the driver's class path: Spark looks for it before libraries are installed.
set -euo pipefail
cp -f "$folder/$jar" /mnt/driver-daemon/jars/ || { echo "$folder/$jar could not be copied" >&2; exit 1; }
cat > /databricks/driver/conf/openlineage-spark-driver-defaults.conf <<'CONF'
[driver] {
  "spark.extraListeners" = "io.openlineage.spark.agent.OpenLineageSparkListener"
}
CONF
"""

_PICK_UP = """\
# Sends what listeners have written to files to the receiver. Schedule it as a notebook; sending twice changes nothing.
import json
from pathlib import Path

import notebookutils
import requests

RECEIVER = "$url/api/v1/lineage"
FOLDER = Path("$folder")
KEY = notebookutils.credentials.getSecret("https://$vault.vault.azure.net/", "$secret")

note = FOLDER / "_sent.json"
sent = json.loads(note.read_text()) if note.exists() else {}
with requests.Session() as session:
    session.headers.update({"x-functions-key": KEY, "Content-Type": "application/json; charset=UTF-8"})
    for path in sorted(FOLDER.glob("*.jsonl")):
        with path.open("rb") as events:
            events.seek(sent.get(path.name, 0))
            for line in events:
                if not line.endswith(b"\\n"):
                    break  # still being written
                if line.strip():
                    answer = session.post(RECEIVER, data=line, timeout=30, allow_redirects=False)
                    said = f"{path.name}: the receiver answers {answer.status_code}: {answer.text[:300]}"
                    if answer.status_code == 400:
                        print(said)  # it will not change its mind about this event
                    elif answer.status_code != 201:
                        note.write_text(json.dumps(sent))
                        raise RuntimeError(said)
                sent[path.name] = sent.get(path.name, 0) + len(line)
        note.write_text(json.dumps(sent))
"""

_FETCH = (
    "Fetch $jar from Maven Central (mvn dependency:copy -DoutputDirectory=. "
    "-Dartifact=io.openlineage:openlineage-spark_$scala:$listener; or, after `make demo`, take "
    "~/.ivy2/jars/io.openlineage_$jar without its first part)"
)
_OWN_KEY = (
    "Make a function key of its own for this platform, so that it can be taken back alone, and put it into Key Vault "
    "(docs/azure.md)"
)
_APPEND = (
    "Add the key, which this platform can't look up by itself: "
    "printf '%s %s\\n' $header \"$$(az keyvault secret show --vault-name $vault --name $secret --query value -o tsv)\" "
    ">> $file"
)
_SCOPE = (
    f"{_OWN_KEY}; make a scope over that vault: databricks secrets create-scope $scope "
    '--scope-backend-type AZURE_KEYVAULT --resource-id "$$(az keyvault show --name $vault --query id -o tsv)" '
    "--dns-name https://$vault.vault.azure.net/"
)
_SCRIPT = (
    "Put the script beside it: databricks workspace import $folder/throughline-init.sh --file $script --format AUTO"
)
_COPY = "databricks fs cp $jar dbfs:$folder/ && databricks fs cp $script dbfs:$folder/"
_ALLOW = (
    "Let users of the cluster read that volume. With standard (shared) access mode, allow the script as well: Catalog, "
    "Metastore, Allowed JARs/Init Scripts, $folder. Dedicated access mode needs no allowance"
)
_ENTER = (
    "Enter the properties in the Environment: Spark compute, Spark properties; publish it. Where the runtime sets a "
    "file transport of its own, leave them out and change FOLDER in pick_up.py to where that one writes"
)
_SEE = "Run a job that writes something, then: throughline status"


def _needs_unity_catalog(wanted: Wanted) -> None:
    if _version(wanted.listener) < _OLDEST_WITH_UNITY_CATALOG:
        raise PlatformError(f"Listener {wanted.listener} does not name Unity Catalog's tables: use 1.51 or later")


_TABLE: Mapping[str, _Platform] = {
    "local": _Platform(
        place="spark-submit --properties-file $file, or the session's builder",
        key="$key",
        packages=True,
        steps=("Start the world (make up), run your job with these properties", _SEE),
    ),
    "synapse": _Platform(
        place="Synapse Studio, Manage, Apache Spark configurations: a configuration, chosen by the pool",
        steps=(
            f"{_FETCH} and upload it: Manage, Workspace packages; then add it to the pool's packages",
            _OWN_KEY,
            _APPEND,
            "Upload $file: Manage, Apache Spark configurations, Import; choose it in the pool's settings and apply",
            _SEE,
        ),
    ),
    "databricks": _Platform(
        place="the cluster's (or policy's) Advanced options, Spark config",
        key="{{secrets/$scope/$secret}}",
        folder="/Workspace/Shared/throughline",
        files={"throughline-init.sh": _INIT_SCRIPT},
        steps=(
            f"{_FETCH} and put it into $folder by the browser (Workspace, Import): the command line takes 10 MB",
            _SCRIPT,
            _SCOPE,
            "Cluster, Advanced options: init script $folder/throughline-init.sh, Spark config as above; restart it",
            _SEE,
        ),
    ),
    "databricks-uc": _Platform(
        place="the cluster's (or policy's) Advanced options, Spark config",
        key="{{secrets/$scope/$secret}}",
        folder="/Volumes/main/default/throughline",
        files={"throughline-init.sh": _INIT_SCRIPT},
        check=_needs_unity_catalog,
        steps=(
            f"{_FETCH} and put both into the volume: {_COPY}",
            _ALLOW,
            _SCOPE,
            "Cluster, Advanced options: init script $folder/throughline-init.sh, Spark config as above; restart it",
            "Serverless compute and SQL warehouses take no listener: what they do is not seen",
            _SEE,
        ),
    ),
    "fabric": _Platform(
        place="an Environment's Spark properties, chosen by the workspace or the notebook",
        steps=(
            f"{_FETCH} and upload it to the Environment: Custom libraries",
            _OWN_KEY,
            _APPEND,
            "Enter the properties in the Environment: Spark compute, Spark properties; publish it",
            _SEE,
        ),
    ),
    "fabric-file": _Platform(
        place="an Environment's Spark properties, chosen by the workspace or the notebook",
        folder="/lakehouse/default/Files/openlineage",
        files={"pick_up.py": _PICK_UP},
        steps=(
            "Attach a lakehouse to the notebooks as their default one, and make the folder Files/openlineage in it",
            _ENTER,
            f"{_OWN_KEY}; let the notebook's owner read that secret",
            "Make a notebook of $pick_up and schedule it, every ten minutes say",
            _SEE,
        ),
    ),
}

PLATFORMS = tuple(name for name in _TABLE if "-file" not in name)


def configuration(platform: str, wanted: Wanted) -> Configuration:
    """What this platform needs. Raises PlatformError for what can't work: see each message."""
    name = f"{platform}-file" if wanted.transport == "file" else platform
    row = _TABLE.get(name)
    if row is None:
        raise PlatformError(f"{platform} has no transport {wanted.transport!r}: only fabric can write files")
    if _version(wanted.listener) < _OLDEST:
        raise PlatformError(f"Listener {wanted.listener} is older than any that was tried: use 1.12.0 or later")
    if wanted.scala not in _SPARKS:
        raise PlatformError(f"There is no listener for Scala {wanted.scala}: only for {' and '.join(_SPARKS)}")
    if not wanted.url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise PlatformError(f"The receiver's address must begin with https://, not {wanted.url!r}")
    row.check(wanted)
    texts = {each: getattr(wanted, each) for each in Wanted.__slots__}
    for each, text in texts.items():
        if each not in {"key", "output"} and not _HARMLESS.fullmatch(text):
            raise PlatformError(f"{each} holds what a script would stumble over: {text!r}")
    words = {
        **texts,
        "url": wanted.url.rstrip("/"),
        "folder": (wanted.folder or row.folder).rstrip("/"),
        "jar": f"openlineage-spark_{wanted.scala}-{wanted.listener}.jar",
        "header": _HEADER,
        "file": quote(str(Path(wanted.output) / f"{name}.conf")),
        "script": quote(str(Path(wanted.output) / "throughline-init.sh")),
        "pick_up": str(Path(wanted.output) / "pick_up.py"),
    }

    def say(text: str) -> str:
        return Template(text).substitute(words)

    return Configuration(
        platform=name,
        place=say(row.place),
        properties=_properties(row, wanted, words),
        files={file: say(text) for file, text in row.files.items()},
        steps=tuple(say(step) for step in row.steps),
        never=NEVER,
    )


def as_text(properties: Mapping[str, str]) -> str:
    """Properties as all of these platforms read them: name, space, value."""
    return "".join(f"{name} {value}\n" for name, value in properties.items())


def _properties(row: _Platform, wanted: Wanted, words: Mapping[str, str]) -> dict[str, str]:
    key = Template(row.key).substitute(words) if row.key else None
    found = listener_configuration(
        wanted.url,
        key=key or None,
        namespace=wanted.namespace,
        platform=_SPARKS[wanted.scala],
        listener=wanted.listener,
    )
    if not row.packages:
        del found["spark.jars.packages"]  # these platforms bring Delta, and get the listener as a file
    if wanted.transport == "file":
        kept = {name: value for name, value in found.items() if ".transport." not in name}
        location = f"{words['folder']}/events.jsonl"
        return kept | {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": location}
    if not row.packages:
        found["spark.redaction.regex"] = _REDACTED  # else Spark's web page shows the header
    return found


def _version(text: str) -> tuple[int, int]:
    try:
        major, minor, *_ = text.split(".")
        return int(major), int(minor)
    except ValueError as error:
        raise PlatformError(f"A listener's version is like {LISTENER_VERSION}, not {text!r}") from error
