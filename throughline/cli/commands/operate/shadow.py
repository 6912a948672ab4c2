"""`throughline shadow`: catalog writes that shadow mode holds back."""

from collections import Counter

import typer

from shared.publishing.shadow import ShadowAction, held_back
from shared.texts import visible
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
    held_writes = sorted(
        (held_write for _, held_write in held_back(parts.storage)), key=lambda held_write: held_write.qualified_name
    )
    count = Counter(held_write.action for held_write in held_writes)
    if as_json:
        documents = [
            {
                "action": str(held_write.action),
                "qualified_name": held_write.qualified_name,
                "creates": list(map(key_document, held_write.creates)),
            }
            for held_write in held_writes
        ]
        mode = parts.publishing.shadow
        print_json(
            {
                "shadow": mode,
                "held": documents,
                "count": {str(shadow_action): count[shadow_action] for shadow_action in ShadowAction},
            }
        )
        return
    shown_writes = held_writes[: most or None]
    for shown_write in shown_writes:
        created = f" [dim]and {len(shown_write.creates):,} new assets[/]" if shown_write.creates else ""
        out.print(
            f"[{_COLOURS[shown_write.action]}]{shown_write.action:<9}[/]{plain(visible(shown_write.qualified_name))}{created}"
        )
    words = ", ".join(
        f"{count[shadow_action]:,} to {shadow_action}" for shadow_action in ShadowAction if count[shadow_action]
    )
    out.print(
        f"{words}{left_out(len(held_writes) - len(shown_writes))}"
        if held_writes
        else "no writes are waiting for the end of shadow mode"
    )
