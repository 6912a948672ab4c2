"""`throughline shadow`: what shadow mode keeps from the catalog."""

from collections import Counter
from typing import Annotated

import typer

from cli.context.target import HOME, Home, away, parts_of
from cli.ui.console import out, plain, print_json
from cli.ui.dead_letters import visible
from shared.errors import StorageUnavailable
from shared.publishing.shadow import Action, held_back

_COLOURS = {Action.WRITE: "green", Action.REMOVE: "red", Action.DESCRIBE: "cyan"}


def shadow(
    context: typer.Context,
    *,
    most: Annotated[int, typer.Option(min=0, help="How many are listed; 0 for all")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form, always of all")] = False,
    home: Home = HOME,
) -> None:
    """List what would be written to the catalog if THROUGHLINE_SHADOW were off.

    In shadow mode all is done but the catalog's writes. Set it to false, and what is listed here is published within a
    minute, as it is then. What a process is made of tells `throughline details`.

    \b
    throughline shadow
    throughline shadow --json | jq -r '.held[].qualified_name'
    """  # noqa: D301 - \b keeps the lines of the examples apart
    parts = parts_of(context, home)
    try:
        held = sorted((each for _, each in held_back(parts.storage)), key=lambda each: each.qualified_name)
    except StorageUnavailable as error:
        away(error)
    count = Counter(each.action for each in held)
    if as_json:
        documents = [
            {
                "action": str(each.action),
                "qualified_name": each.qualified_name,
                "creates": [{"type": kind, "qualified_name": name} for kind, name in each.creates],
            }
            for each in held
        ]
        mode = parts.publishing.shadow
        print_json({"shadow": mode, "held": documents, "count": {str(each): count[each] for each in Action}})
        return
    for each in held[: most or None]:
        created = f" [dim]and {len(each.creates):,} new assets[/]" if each.creates else ""
        out.print(f"[{_COLOURS[each.action]}]{each.action:<9}[/]{plain(visible(each.qualified_name))}{created}")
    shown = min(len(held), most or len(held))
    left_off = f"; {len(held) - shown:,} not shown (--most)" if shown < len(held) else ""
    words = ", ".join(f"{count[each]:,} to {each}" for each in Action if count[each])
    out.print(f"{words}{left_off}" if held else "nothing is kept from the catalog")
