"""The files that `throughline config` writes beside the properties, and its steps: texts with `$name` to fill in.

Each name is a field of `Wanted`, or one that `configuration` makes: jar, jars, header, file, script, pick_up,
plan_file, listeners.
"""

INIT_SCRIPT = """\
#!/bin/bash
# Puts the listeners onto the driver's class path: Spark looks for them before libraries are installed.
# spark.extraListeners replaces Databricks' own listener, so both stand there: without it the Spark UI of a cluster that
# has ended is empty.
set -euo pipefail
for jar in $jars; do
  cp -f "$folder/$$jar" /mnt/driver-daemon/jars/ || { echo "$folder/$$jar could not be copied" >&2; exit 1; }
done
cat > /databricks/driver/conf/openlineage-spark-driver-defaults.conf <<'CONF'
[driver] {
  "spark.extraListeners" = "$listeners"
}
CONF
"""

PICK_UP = """\
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

MUTED = """\
# Leaves out two messages of OpenLineage's listener that are harmless: append it to log4j2.properties in SPARK_CONF_DIR.
logger.extensions.name = io.openlineage.spark.agent.lifecycle.SparkOpenLineageExtensionVisitorWrapper
logger.extensions.filter.harmless.type = RegexFilter
logger.extensions.filter.harmless.regex = (?s).*OpenLineageExtensionProvider.*
logger.extensions.filter.harmless.onMatch = DENY
logger.extensions.filter.harmless.onMismatch = NEUTRAL
logger.executions.name = io.openlineage.spark.agent.lifecycle.ContextFactory
logger.executions.filter.harmless.type = RegexFilter
logger.executions.filter.harmless.regex = Query execution is null.*
logger.executions.filter.harmless.onMatch = DENY
logger.executions.filter.harmless.onMismatch = NEUTRAL
"""
"""Names and texts as listener 1.53.0 logs them on Spark 3.5. Log4j's manual, Filters, describes RegexFilter."""

PACKAGES = (
    "If your job needs --packages, repeat those of the listener, because the option replaces spark.jars.packages: "
    "--packages $packages,YOURS"
)
FETCH = (
    "Fetch $jar from Maven Central (mvn dependency:copy -DoutputDirectory=. "
    "-Dartifact=io.openlineage:openlineage-spark_$scala:$listener; or, after `make demo`, take "
    "~/.ivy2/jars/io.openlineage_$jar without its first part)"
)
OWN_KEY = (
    "Make a function key of its own for this platform, so that it can be revoked alone, and put it into Key Vault "
    "(docs/operate/deploy.md)"
)
APPEND = (
    "Add the key, which this platform can't look up by itself: "
    "printf '%s %s\\n' $header \"$$(az keyvault secret show --vault-name $vault --name $secret --query value -o tsv)\" "
    ">> $file"
)
AZURE_DATABRICKS = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d"
"""The application id of AzureDatabricks, the principal with which Databricks reads a vault; the same in each tenant."""

READ_VAULT = (
    "Let Databricks read the vault, where Azure RBAC guards it: "
    f'az role assignment create --role "Key Vault Secrets User" --assignee {AZURE_DATABRICKS} '
    '--scope "$$(az keyvault show --name $vault --query id -o tsv)"'
)
SCOPE = (
    "Make a secret scope over that vault, signed in to databricks by Microsoft Entra ID: "
    """databricks secrets create-scope --json "$$(printf '{"scope": "$scope", """
    """"scope_backend_type": "AZURE_KEYVAULT", """
    """"backend_azure_keyvault": {"resource_id": "%s", "dns_name": "%s"}}' """
    """"$$(az keyvault show --name $vault --query id -o tsv)" """
    """"$$(az keyvault show --name $vault --query properties.vaultUri -o tsv)")\""""
)
SCRIPT = (
    "Put the script beside it: databricks workspace import $folder/throughline-init.sh --file $script --format AUTO"
)
COPY = "databricks fs cp $jar dbfs:$folder/ && databricks fs cp $script dbfs:$folder/"
ALLOW = (
    "Let users of the cluster read that volume. With standard (shared) access mode, allow the script as well: Catalog, "
    "Metastore, Allowed JARs/Init Scripts, $folder. Dedicated access mode needs no allowance"
)
CLUSTER = (
    "Cluster, Advanced options: init script $folder/throughline-init.sh, and the properties as Spark config; restart it"
)
ENTER = "Enter the properties in the Environment: Spark compute, Spark properties; publish it"
ENTER_FILES = (
    f"{ENTER}. Where the runtime sets a file transport of its own, leave them out and change FOLDER in pick_up.py to "
    "the folder that it writes to"
)
WITHOUT_JAR = (
    "Run a job that writes something, without a jar of your own: the runtime may bring the listener. Where the session "
    "starts and the driver's log says `Registered listener io.openlineage.spark.agent.OpenLineageSparkListener`, leave "
    "out the next step"
)
THEN_JAR = (
    "Where the session fails with ClassNotFoundException: io.openlineage.spark.agent.OpenLineageSparkListener, the "
    f"runtime has none. {FETCH}, upload it to the Environment (Custom libraries) and publish it"
)
SEE = "Run a job that writes something, then: $status"
PLAN_PACKAGE = (
    "Upload $plan_file in the same way, and add it to the pool's packages: a session whose configuration names the "
    "plan listener does not start without it"
)
PLAN_WORKSPACE = (
    "Put $plan_file beside it: databricks workspace import $folder/throughline-plan.jar --file $plan_file --format AUTO"
)
PLAN_VOLUME = "Put $plan_file into the volume too: databricks fs cp $plan_file dbfs:$folder/"
PLAN_LIBRARY = (
    "Upload $plan_file to the Environment (Custom libraries): a session whose properties name the plan listener does "
    "not start without it"
)
OF_PLANS = frozenset({PLAN_PACKAGE, PLAN_WORKSPACE, PLAN_VOLUME, PLAN_LIBRARY})
"""The steps that are left out without Spark's plans."""
