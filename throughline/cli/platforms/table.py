"""Where each platform takes what the listener needs: the table of which `configuration` makes its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from throughline.cli.platforms import texts

DATABRICKS_LISTENER = "com.databricks.backend.daemon.driver.DBCEventLoggingListener"
"""Databricks' own listener, which writes the event log that the Spark UI of an ended cluster reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformRow:
    """The configuration of one platform. `key` stands for the key in the properties, None where the platform can't look
    it up; `beside` are listeners of its own that have to be named beside ours; `captured` are Spark's properties that
    name workspace and job, which the listener passes on when it is asked; `oldest` is the first listener that will do.

    Texts may hold `$name` for each field of Wanted, and the names of `texts`.
    """

    place: str
    steps: tuple[str, ...]
    key: str | None = None
    folder: str = ""
    packages: bool = False
    beside: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    oldest: tuple[int, int] = (1, 12)  # whose events are kept as golden ones
    why_oldest: str = "is older than any that was tried"


_CLUSTER = "the cluster's (or policy's) Advanced options, Spark config"
_ENVIRONMENT = "an Environment's Spark properties, chosen by the workspace or the notebook"
_SECRET = "{{secrets/$scope/$secret}}"  # noqa: S105 - where it is, not what it is
_OF_DATABRICKS = ("spark.databricks.workspaceUrl",)
_OF_FABRIC = ("trident.artifact.id", "trident.artifact.name", "trident.artifact.type", "trident.artifact.workspace.id")

TABLE: Mapping[str, PlatformRow] = {
    "local": PlatformRow(
        place="spark-submit --properties-file $file, or the session's builder",
        key="$key",
        packages=True,
        files={"log4j2.properties": texts.MUTED},
        steps=("Start the world (`throughline up`), run your job with these properties", texts.PACKAGES, texts.SEE),
    ),
    "synapse": PlatformRow(
        place="Synapse Studio, Manage, Apache Spark configurations: a configuration, chosen by the pool",
        captured=("spark.synapse.context.notebookname", "spark.synapse.workspace.name"),
        steps=(
            f"{texts.FETCH} and upload it: Manage, Workspace packages; then add it to the pool's packages",
            texts.PLAN_PACKAGE,
            texts.OWN_KEY,
            texts.APPEND,
            "Upload $file: Manage, Apache Spark configurations, Import; choose it in the pool's settings and apply",
            texts.SEE,
        ),
    ),
    "databricks": PlatformRow(
        place=_CLUSTER,
        key=_SECRET,
        folder="/Workspace/Shared/throughline",
        beside=(DATABRICKS_LISTENER,),
        captured=_OF_DATABRICKS,
        files={"throughline-init.sh": texts.INIT_SCRIPT},
        steps=(
            f"{texts.FETCH} and put it into $folder by the browser (Workspace, Import): the command line takes 10 MB",
            texts.PLAN_WORKSPACE,
            texts.SCRIPT,
            texts.OWN_KEY,
            texts.READ_VAULT,
            texts.SCOPE,
            texts.CLUSTER,
            texts.SEE,
        ),
    ),
    "databricks-uc": PlatformRow(
        place=_CLUSTER,
        key=_SECRET,
        folder="/Volumes/main/default/throughline",
        beside=(DATABRICKS_LISTENER,),
        captured=_OF_DATABRICKS,
        files={"throughline-init.sh": texts.INIT_SCRIPT},
        oldest=(1, 51),
        why_oldest="does not name Unity Catalog's tables",
        steps=(
            f"{texts.FETCH} and put both into the volume: {texts.COPY}",
            texts.PLAN_VOLUME,
            texts.ALLOW,
            texts.OWN_KEY,
            texts.READ_VAULT,
            texts.SCOPE,
            texts.CLUSTER,
            "Serverless compute and SQL warehouses take no listener: what they do is not seen",
            texts.SEE,
        ),
    ),
    "fabric": PlatformRow(
        place=_ENVIRONMENT,
        captured=_OF_FABRIC,
        steps=(
            texts.OWN_KEY,
            texts.APPEND,
            texts.PLAN_LIBRARY,
            texts.ENTER,
            texts.WITHOUT_JAR,
            texts.THEN_JAR,
            texts.SEE,
        ),
    ),
    "fabric-file": PlatformRow(
        place=_ENVIRONMENT,
        folder="/lakehouse/default/Files/openlineage",
        captured=_OF_FABRIC,
        files={"pick_up.py": texts.PICK_UP},
        steps=(
            "Attach a lakehouse to the notebooks as their default one, and make the folder Files/openlineage in it",
            texts.PLAN_LIBRARY,
            texts.ENTER_FILES,
            texts.WITHOUT_JAR,
            texts.THEN_JAR,
            f"{texts.OWN_KEY}; let the notebook's owner read that secret",
            "Make a notebook of $pick_up and schedule it, every ten minutes say",
            texts.SEE,
        ),
    ),
}

PLATFORMS = tuple(name for name in TABLE if "-file" not in name)
