"""Acts as lines: `event run=… state=kept bytes=812 seconds=0.0071`. Values with spaces in them are JSON strings.

Written with the standard library's logging, which the functions host hands on to Application Insights as it is.
"""

import json
import logging
import re

from shared.telemetry.port import Act, Fact
from shared.texts.visible import visible_lines

_NAME = "throughline"
_LOG = logging.getLogger(_NAME)
_PLAIN = re.compile(r"[^\s\"'=\\]+")


class _SafeRecord(logging.LogRecord):
    """A record of ours shows marks that a terminal obeys as escapes, and its further lines are set in: a name with a
    line end makes no line that looks like another record.
    """

    def getMessage(self) -> str:  # noqa: N802 - the name of logging
        text = super().getMessage()
        return visible_lines(text).replace("\n", "\n  ") if self.name.partition(".")[0] == _NAME else text


def show_marks_as_escapes() -> None:
    """Make all later records of this process such ones; those of other libraries stay as they are."""
    logging.setLogRecordFactory(_SafeRecord)


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
