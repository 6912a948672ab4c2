"""Rules for the way of an event from the storage account to the parser."""

from cli.checks.rules.rule import DEPLOY, TEMPLATE, Rule

EVENTS = (
    Rule(
        code="topic-missing",
        symptom="there is no system topic for the storage account",
        means="Nobody tells the parser of new events. The sweeper settles them ten minutes late.",
        command=f"{TEMPLATE} delivery=eventGrid",
    ),
    Rule(
        code="webhook-key-missing",
        symptom="the worker has no system key `blobs_extension`",
        means="The host makes the key when it has loaded the package's blob trigger for Event Grid. It has not started "
        "yet, or runs another package. The subscription to events needs the key.",
        command=DEPLOY,
    ),
    Rule(
        code="subscription-missing",
        symptom="the topic has no subscription `events`",
        means="The second step of the deployment did not come to its end: nobody tells the parser of new events.",
        command=DEPLOY,
    ),
    Rule(
        code="subscription-failed",
        symptom="the subscription's state is not `Succeeded`",
        means="The worker did not answer Event Grid's question whether it wants the events. The deployment asks again.",
        command=DEPLOY,
    ),
    Rule(
        code="subscription-elsewhere",
        symptom="the subscription's end point or filter is not the worker's",
        means="Events are told to another app or function, or those of another container are told.",
        command=DEPLOY,
    ),
    Rule(
        code="delivery-failing",
        symptom="more deliveries failed than succeeded in the last hour (`DeliveryAttemptFailCount`)",
        means="The webhook refuses or does not answer: its key was renewed, or the worker does not run. Event Grid "
        "tries for a day; the sweeper settles the events meanwhile.",
        command=DEPLOY,
    ),
    Rule(
        code="delivery-given-up",
        symptom="Event Grid gave events up in the last day (`DroppedEventCount`, `DeadLetteredCount`)",
        means="They are stored, and the sweeper settles them. The count falls back within a day once delivery works.",
        command="throughline status",
    ),
    Rule(
        code="undelivered",
        symptom="the sweeper settled events in the last hour that no trigger had delivered",
        means="Delivery misses events; they are ten minutes late, and not lost. Polling is known for it; Event Grid "
        "should not.",
        command=f"{TEMPLATE} delivery=eventGrid",
    ),
    Rule(
        code="poison-queue",
        symptom="the queue `webjobs-blobtrigger-poison` is not empty",
        means="The host gave up on events after five tries. The sweeper tries their runs by itself, and `throughline "
        "deadletter list` shows what cannot be used. The queue may be emptied at any time.",
        command="az storage message clear --queue-name webjobs-blobtrigger-poison --account-name {storage} "
        "--auth-mode login",
    ),
    Rule(
        code="receipts-pile-up",
        symptom="10,000 or more receipts in `azure-webjobs-hosts/blobreceipts/`",
        means="Polling writes a receipt for each event and never deletes one. They cost storage and nothing else. "
        "Receipts older than a month stand for archived events, and may go.",
        command="az storage blob delete-batch --account-name {storage} --auth-mode login "
        "--source azure-webjobs-hosts --pattern 'blobreceipts/*' --if-unmodified-since {month}",
    ),
)
