"""Rules for the way into Azure and for the deployment: the CLI, the subscription, the group, the outputs, the roles."""

from cli.checks.rules.rule import GRANT, GRANT_ME, TEMPLATE, Rule

REACH = (
    Rule(
        code="az-missing",
        symptom="`az` is not found",
        means="The Azure CLI is not installed, or not on the PATH. Installers: "
        "https://learn.microsoft.com/cli/azure/install-azure-cli",
        command="pipx install azure-cli",
    ),
    Rule(
        code="az-signed-out",
        symptom="`az` answers: Please run 'az login' (or AADSTS…)",
        means="Nobody is signed in, or the sign-in has expired.",
        command="az login",
    ),
    Rule(
        code="subscription-unknown",
        symptom="`az` knows no subscription of this name or id",
        means="It is misspelt, or belongs to a tenant that you are not signed in to.",
        command="az account list --refresh --output table",
    ),
    Rule(
        code="subscription-wrong",
        symptom="the resource group is in another subscription than the one that was asked",
        means="`az` has another default subscription than the deployment's.",
        command="throughline doctor --group {group} --subscription {other}",
    ),
    Rule(
        code="group-missing",
        symptom="no subscription that you may see has the resource group",
        means="It is misspelt, or not made yet (docs/operate/deploy.md, step 1), or you have no role in it.",
        command="az group create --name {group} --location REGION",
    ),
    Rule(
        code="azure-forbidden",
        symptom="Azure refuses to show a resource (`AuthorizationFailed`)",
        means="You have no right to look at it, so nothing is known of it. Contributor shows all that doctor looks at; "
        "Reader shows no app settings and no keys.",
        command=f"{GRANT_ME}Contributor",
    ),
    Rule(
        code="data-forbidden",
        symptom="Azure refuses to show what lies in the account (`AuthorizationPermissionMismatch`)",
        means="You may see the account, and not its data: blobs and queues have roles of their own.",
        command=f"{GRANT_ME}'Storage Queue Data Reader'",
    ),
    Rule(
        code="azure-error",
        symptom="a call of `az` fails otherwise",
        means="Azure or the network is away, or the CLI is too old; nothing is known of this part.",
        command="az upgrade",
    ),
)

DEPLOYMENT = (
    Rule(
        code="deployment-missing",
        symptom="the group has no deployment of this name",
        means="It has another name (--deployment), or was never made (docs/operate/deploy.md, step 2).",
        command=TEMPLATE,
    ),
    Rule(
        code="deployment-failed",
        symptom="the deployment's state is not `Succeeded`",
        means="Some resources are missing or half made. The command shows which, and why; after mending it, deploy "
        "again.",
        command="az deployment operation group list --resource-group {group} --name {deployment} "
        "--query \"[?properties.provisioningState=='Failed'].properties.statusMessage\"",
    ),
    Rule(
        code="outputs-missing",
        symptom="the deployment lacks outputs",
        means="It was made by an older template, or by another one. The case of their names does not matter.",
        command=TEMPLATE,
    ),
    Rule(
        code="outputs-empty",
        symptom="an output of the deployment is empty",
        means="The template did not make what the output names.",
        command=TEMPLATE,
    ),
    Rule(
        code="app-missing",
        symptom="a function app does not exist",
        means="It was deleted, or never made.",
        command=TEMPLATE,
    ),
    Rule(
        code="account-missing",
        symptom="the storage account does not exist",
        means="It was deleted: within 14 days Azure can restore it. A new one starts empty.",
        command="az storage account list --resource-group {group} --query [].name --output tsv",
    ),
    Rule(
        code="account-closed",
        symptom="the storage account is closed to public networks, and an app has no network of its own",
        means="The app cannot reach its storage: the receiver answers 503, the worker's host starts again and again. "
        "With `privateNetwork=true` the template gives both apps a network with private end points.",
        command=f"{TEMPLATE} privateNetwork=true",
    ),
    Rule(
        code="role-missing",
        symptom="an identity lacks a role that `infra/roles.json` lists",
        means="What the role is for fails with 403. A new role takes effect within minutes.",
        command=f"{GRANT}{{role}}",
    ),
    Rule(
        code="identity-missing",
        symptom="an app has no user-assigned identity",
        means="Nothing can sign in for it: storage, catalog and telemetry refuse it.",
        command=TEMPLATE,
    ),
    Rule(
        code="alerts-unheard",
        symptom="alerts have no action group, or it has no receiver",
        means="Alerts are shown in the portal and reach nobody.",
        command=f"{TEMPLATE} alertEmail=YOU@EXAMPLE.COM",
    ),
    Rule(
        code="alerts-missing",
        symptom="there are no alert rules",
        means="Nobody is told when events are lost or lineage is late.",
        command=TEMPLATE,
    ),
)
