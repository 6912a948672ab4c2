"""Rules for the two function apps: their code, host, settings and secrets."""

from cli.checks.rules.rule import DEPLOY, GRANT, LOG, TEMPLATE, Rule

_SET = "az functionapp config appsettings set --resource-group {group} --name {app} --settings {setting} --output none"

CODE = (
    Rule(
        code="app-stopped",
        symptom="a function app is stopped",
        means="Nothing runs in it. A stopped receiver loses events to their senders; a stopped worker delays lineage.",
        command="az functionapp start --resource-group {group} --name {app}",
    ),
    Rule(
        code="code-missing",
        symptom="`az functionapp function list` is empty",
        means="No package is deployed, or the host could not load it.",
        command=DEPLOY,
    ),
    Rule(
        code="function-missing",
        symptom="a function is not listed, others are",
        means="The package is older than the template, or was cut off.",
        command=DEPLOY,
    ),
    Rule(
        code="function-off",
        symptom="a function is disabled in the app where it should run",
        means="Somebody switched it off. Events are kept meanwhile; a receiver that is off answers 404.",
        command="az functionapp config appsettings delete --resource-group {group} --name {app} "
        "--setting-names {setting} --output none",
    ),
    Rule(
        code="function-on",
        symptom="a function runs in the app where it should be disabled",
        means="It takes the time of the functions that belong there, with rights that it lacks. The setting's name has "
        "dots: the form with double underscores has no effect.",
        command=_SET,
    ),
    Rule(
        code="delivery-differs",
        symptom="the blob trigger's `source` is not what `DELIVERY` of the deployment says",
        means="The package was built for the other way of delivery: Event Grid has nobody to tell, or a webhook waits "
        "for calls that never come.",
        command=DEPLOY,
    ),
    Rule(
        code="python-differs",
        symptom="the app's Python is not the package's",
        means="The package holds compiled code for one version of Python, and does not load on another.",
        command="az functionapp config set --resource-group {group} --name {app} --linux-fx-version {runtime} "
        "--output none",
    ),
    Rule(
        code="always-on-off",
        symptom="Always On is off (dedicated plan)",
        means="The app is unloaded after 20 idle minutes: no timer ticks, and the first event after it is late.",
        command="az functionapp config set --resource-group {group} --name {app} --always-on true --output none",
    ),
    Rule(
        code="setting-missing",
        symptom="an app setting of the template is missing",
        means="The host or the functions cannot start without it, or work as somebody else.",
        command=_SET,
    ),
    Rule(
        code="setting-differs",
        symptom="an app setting differs from the template's",
        means="The app works with another account, identity or runtime than the template made.",
        command=_SET,
    ),
    Rule(
        code="setting-unwanted",
        symptom="the app setting `AzureWebJobsStorage` holds a connection string",
        means="It wins over the identity, and the account takes no keys: every call to storage fails.",
        command="az functionapp config appsettings delete --resource-group {group} --name {app} "
        "--setting-names {setting} --output none",
    ),
    Rule(
        code="secret-denied",
        symptom="a Key Vault reference is `AccessToKeyVaultDenied`",
        means="The app's identity may not read secrets in the vault, or the vault's network keeps the app out.",
        command=f"{GRANT}'Key Vault Secrets User'",
    ),
    Rule(
        code="secret-missing",
        symptom="a Key Vault reference is `SecretNotFound`, `SecretVersionNotFound` or `VaultNotFound`",
        means="The vault has no such secret, or it has been deleted or renamed.",
        command="az keyvault secret list --vault-name {vault} --query [].name --output tsv",
    ),
    Rule(
        code="secret-unresolved",
        symptom="a Key Vault reference is not `Resolved` for another reason",
        means="The functions get the reference's text instead of the secret. A reference is read again each day, or "
        "when it is set.",
        command=TEMPLATE,
    ),
)

HOST = (
    Rule(
        code="host-polling-role",
        symptom="`Host.Startup[515]` … `BlobLogListener.EnableLoggingAsync`, state `Error`",
        means="The polling trigger sets the account's Blob Service Properties, which the worker may not. Until then "
        "neither parser nor sweeper run. With Event Grid (`delivery=eventGrid`) the role is not needed.",
        command=f"{GRANT}'Storage Account Contributor'",
    ),
    Rule(
        code="host-role",
        symptom="state `Error`, `AuthorizationPermissionMismatch`",
        means="The host may not use its storage: a role is missing, or was granted minutes ago. Deploying the template "
        "again grants what `infra/roles.json` lists.",
        command=TEMPLATE,
    ),
    Rule(
        code="host-network",
        symptom="state `Error`, `AuthorizationFailure`",
        means="The network rules of the storage account keep the app out.",
        command="az storage account show --resource-group {group} --name {storage} "
        '--query "{{public:publicNetworkAccess,rules:networkRuleSet}}"',
    ),
    Rule(
        code="host-error",
        symptom="state `Error`, `Host.Startup[515]`, another reason",
        means="The host did not start, so no function runs. The log has the whole reason.",
        command=LOG,
    ),
    Rule(
        code="host-silent",
        symptom="the host does not answer (`ServiceUnavailable` from host runtime)",
        means="It is starting, or fails before it can say why: look again in a minute, then at the log.",
        command=LOG,
    ),
    Rule(
        code="root-503",
        symptom="`GET /` answers 503",
        means='The host is not running ("Function host is not running."). The log has the line `Host.Startup[515]` '
        "with the reason.",
        command=LOG,
    ),
    Rule(
        code="app-closed",
        symptom="`GET /` answers 403",
        means="An access restriction or a private end point keeps this machine out. Listeners from elsewhere may still "
        "get in.",
        command="az functionapp config access-restriction show --resource-group {group} --name {app}",
    ),
    Rule(
        code="app-unreachable",
        symptom="`GET /` gets no answer",
        means="The name does not resolve here, or the network between drops the connection.",
        command="curl --verbose {url}",
    ),
    Rule(
        code="host-restarts",
        symptom="a host starts again every half minute",
        means="*An unhandled exception has occurred. Host is shutting down.*: its storage is away, by network or by "
        "role, and the platform starts it again. Findings about roles and networks name the cause; the log has the "
        "call that failed.",
        command=LOG,
    ),
    Rule(
        code="sweeper-silent",
        symptom="no line of a sweep in the last 15 minutes",
        means="The sweeper does not tick: ends that never come are not decided, nothing is tried again. Nothing is "
        "lost; a restart makes the platform's timer start again.",
        command="az functionapp restart --resource-group {group} --name {app}",
    ),
)
