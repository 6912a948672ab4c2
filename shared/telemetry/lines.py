"""Acts as lines: `event run=… state=kept bytes=812 seconds=0.0071`. Values with spaces in them are JSON strings.

Written with the standard library's logging, which the functions host hands on to Application Insights as it is.
"""

import json
import logging
import re

from shared.telemetry.port import Act, Fact

_LOG = logging.getLogger("throughline")
_PLAIN = re.compile(r"[^\s\"'=\\]+")


def write_line(act: Act) -> None:
    """Log an act's line, if its kind has one."""
    level = logging.WARNING if "error" in act.facts else logging.INFO
    level = act.kind.loud.get(str(act.facts.get("state", "")), level)
    if act.kind.line and _LOG.isEnabledFor(level):
        _LOG.log(level, "%s", line_of(act))


def line_of(act: Act) -> str:
    """An act in one line: its kind, the run, the facts in the order in which they were noted, and the time it took."""
    facts: dict[str, Fact] = {}
    if act.runs:
        facts["run" if len(act.runs) == 1 else "runs"] = ",".join(act.runs)
    facts |= act.facts
    facts["seconds"] = round(act.seconds, 6)
    return " ".join([act.kind.name, *(f"{name}={_shown(fact)}" for name, fact in facts.items())])


def _shown(fact: Fact) -> str:
    if isinstance(fact, bool):
        return str(fact).lower()
    if isinstance(fact, float):
        return f"{fact:.6g}"
    text = str(fact)
    if not text.isprintable():
        return json.dumps(text)  # what a terminal might obey is shown as an escape
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
