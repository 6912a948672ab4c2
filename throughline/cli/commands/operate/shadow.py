"""`throughline shadow`: catalog writes that shadow mode holds back."""

from collections import Counter

import typer

from shared.publishing.shadow import ShadowAction, held_back
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import left_out, out, plain, print_json
from throughline.cli.ui.options import AsJson, ListLimit

_COLOURS = {ShadowAction.WRITE: "green", ShadowAction.REMOVE: "red", ShadowAction.DESCRIBE: "cyan"}


def shadow(context: typer.Context, *, most: ListLimit = 50, as_json: AsJson = False, home: Home = HOME) -> None:
    """List the catalog writes that shadow mode holds back.

    Shadow mode (THROUGHLINE_SHADOW=true) runs everything except catalog writes. After it is set to false, the functions
    publish the list within a minute.
    `throughline details` shows the processes themselves.

        throughline shadow
        throughline shadow --json | jq -r '.held[].qualified_name'
    """
    parts = parts_of(context, home)
    writes = sorted((write for _, write in held_back(parts.storage)), key=lambda write: write.qualified_name)
    counts = Counter(write.action for write in writes)
    if as_json:
        documents = [
            {
                "action": write.action,
                "qualified_name": write.qualified_name,
                "creates": list(map(key_document, write.creates)),
            }
            for write in writes
        ]
        count = {action: counts[action] for action in ShadowAction}
        print_json({"shadow": parts.publishing.shadow, "held": documents, "count": count})
        return
    for write in writes[: most or None]:
        created = f" [dim]and {len(write.creates):,} new assets[/]" if write.creates else ""
        out.print(f"[{_COLOURS[write.action]}]{write.action:<9}[/]{plain(write.qualified_name)}{created}")
    words = ", ".join(f"{counts[action]:,} to {action}" for action in ShadowAction if counts[action])
    left = left_out(len(writes) - most) if most and len(writes) > most else ""
    out.print(f"{words}{left}" if writes else "no writes are waiting for the end of shadow mode")
