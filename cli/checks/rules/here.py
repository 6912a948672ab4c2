"""Rules for what is seen from this machine without a look into Azure: the machine, storage, the counts."""

from cli.checks.rules.rule import GRANT_ME, Rule

MACHINE = (
    Rule(
        code="python-old",
        symptom="Python is older than 3.11",
        means="The commands use what Python 3.11 brought.",
        command="make setup PYTHON=python3.11",
    ),
    Rule(
        code="java-missing",
        symptom="no Java is found",
        means="The local world runs Spark, which needs Java. Deployments in Azure do not.",
        command="make setup",
    ),
    Rule(
        code="node-missing",
        symptom="no Node.js is found",
        means="The local world runs Azurite, which needs Node.js. Deployments in Azure do not.",
        command="make setup",
    ),
)

STORAGE = (
    Rule(
        code="storage-network",
        symptom="storage answers 403 `AuthorizationFailure`",
        means="The account's network rules keep this machine out; roles do not matter yet. A closed account is read "
        "from a machine inside its network.",
        command="az storage account network-rule add --resource-group {group} --account-name {storage} "
        "--ip-address {address}",
    ),
    Rule(
        code="storage-role",
        symptom="storage answers 403 `AuthorizationPermissionMismatch`",
        means="The network is open, but who is signed in lacks a role on the account's data. A new role takes effect "
        "within minutes.",
        command=f"{GRANT_ME}{{role}}",
    ),
    Rule(
        code="storage-identity",
        symptom="no token for storage, or storage answers 401",
        means="Nobody is signed in, or in another tenant than the account's.",
        command="az login",
    ),
    Rule(
        code="storage-away",
        symptom="storage does not answer",
        means="The end point is wrong, its name does not resolve here (private end points), or the service is away.",
        command="az storage account show --name {storage} --query primaryEndpoints",
    ),
)

COUNTS = (
    Rule(
        code="counts-differ",
        symptom="the counts do not add up",
        means="Rows and blobs differ: something was deleted by hand, or a bug. Please report it, with "
        "`throughline status --json`.",
        command="throughline verify --plan",
    ),
    Rule(
        code="dead-letters",
        symptom="there are dead letters",
        means="Some events cannot be used, and each says why. Their blobs are kept.",
        command="throughline deadletter list",
    ),
    Rule(
        code="work-late",
        symptom="events have been in work for more than 15 minutes",
        means="The parser or the sweeper does not run, or something fails again and again.",
        command="throughline status",
    ),
    Rule(
        code="sweep-missing",
        symptom="events are older than 20 minutes and no sweep is on record",
        means="The sweeper has never run: its app does not start, or the function is disabled. Nothing is lost.",
        command="throughline doctor --group {group}",
    ),
    Rule(
        code="catalog-error",
        symptom="the catalog did not take the last writes",
        means="The publisher tries again by itself. A 403 lasts until the role is granted.",
        command="throughline doctor --catalog",
    ),
)

SETTINGS = (
    Rule(
        code="settings-differ",
        symptom="settings of this shell are not those of the functions",
        means="Commands that write refuse to work with them. The other way is to set them so for the functions.",
        command="unset {names}",
    ),
    Rule(
        code="settings-unreadable",
        symptom="the settings on record were written by another version",
        means="This version cannot read them. Install the version that the functions run.",
        command="throughline status",
    ),
)
