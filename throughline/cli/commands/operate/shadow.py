"""`throughline shadow`: catalog writes that shadow mode holds back."""

from collections import Counter

import typer

from shared.publishing.shadow import ShadowAction, held_back
from shared.texts import visible
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import left_out, out, plain, print_json
from throughline.cli.ui.options import AsJson, Most

_COLOURS = {ShadowAction.WRITE: "green", ShadowAction.REMOVE: "red", ShadowAction.DESCRIBE: "cyan"}


def shadow(context: typer.Context, *, most: Most = 50, as_json: AsJson = False, home: Home = HOME) -> None:
    """List the catalog writes that shadow mode holds back.

    Shadow mode (THROUGHLINE_SHADOW=true) runs everything except catalog writes. After it is set to false, the functions
    publish the list within a minute.
    `throughline details` shows the processes themselves.

        throughline shadow
        throughline shadow --json | jq -r '.held[].qualified_name'
    """
    parts = parts_of(context, home)
    with reported():
        held = sorted((each for _, each in held_back(parts.storage)), key=lambda each: each.qualified_name)
    count = Counter(each.action for each in held)
    if as_json:
        documents = [
            {
                "action": str(each.action),
                "qualified_name": each.qualified_name,
                "creates": list(map(key_document, each.creates)),
            }
            for each in held
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
    shown = held[: most or None]
    for each in shown:
        created = f" [dim]and {len(each.creates):,} new assets[/]" if each.creates else ""
        out.print(f"[{_COLOURS[each.action]}]{each.action:<9}[/]{plain(visible(each.qualified_name))}{created}")
    words = ", ".join(
        f"{count[shadow_action]:,} to {shadow_action}" for shadow_action in ShadowAction if count[shadow_action]
    )
    out.print(
        f"{words}{left_out(len(held) - len(shown))}" if held else "no writes are waiting for the end of shadow mode"
    )
