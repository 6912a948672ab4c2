"""Rules for a trial at the receiver: what a listener would meet."""

from cli.checks.rules.rule import Rule

RECEIVER = (
    Rule(
        code="receiver-unreachable",
        symptom="no connection to the receiver",
        means="The address is wrong, nothing listens there, or the network between drops the connection.",
        command="curl --verbose {url}",
    ),
    Rule(
        code="receiver-key",
        symptom="the receiver answers 401",
        means="The key is none of the receiver's: give one by --key or THROUGHLINE_KEY. This makes a key and prints "
        "it: docs/operate/deploy.md, step 5, puts it into a Key Vault instead.",
        command="az functionapp keys set --resource-group {group} --name {receiver} --key-type functionKeys "
        "--key-name doctor --query value --output tsv",
    ),
    Rule(
        code="receiver-closed",
        symptom="the receiver answers 403",
        means="An access restriction of the app, or its private end point, keeps this machine out.",
        command="az functionapp config access-restriction show --resource-group {group} --name {receiver}",
    ),
    Rule(
        code="receiver-missing",
        symptom="the receiver answers 404",
        means="No receiver is at this address: no code is deployed, its function is disabled, or --url has a path.",
        command="throughline doctor --group {group}",
    ),
    Rule(
        code="receiver-storage",
        symptom="the receiver answers 503",
        means="The receiver lives, its storage is away: a role is missing, or the account's network keeps it out. "
        "Nothing was accepted, so nothing is lost; senders try again.",
        command="throughline doctor --group {group}",
    ),
    Rule(
        code="receiver-error",
        symptom="the receiver answers with another error",
        means="The receiver's log has the reason.",
        command="az webapp log tail --resource-group {group} --name {receiver}",
    ),
    Rule(
        code="receiver-slow",
        symptom="the receiver takes 5 seconds or more",
        means="A listener with default settings gives up by then, and the event is lost to it. Always On keeps the "
        "receiver warm; `throughline config` sets ten seconds.",
        command="az functionapp config set --resource-group {group} --name {receiver} --always-on true",
    ),
    Rule(
        code="event-late",
        symptom="the events of the trial do not reach the catalog",
        means="The line `waiting` of `status` says for what they wait: the parser (does its app run, is it told of "
        "blobs?) or the catalog.",
        command="throughline status",
    ),
)
