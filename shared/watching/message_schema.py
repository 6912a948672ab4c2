"""The JSON Schema of a message, as the channels `webhook` and `file` get it.

`python -m shared.watching.message_schema FILE` writes it.
"""

import json
import sys
from pathlib import Path

import msgspec

from shared.watching.messages import Message


def schema_text() -> str:
    """The schema as the file has it. A message may gain fields; `format` changes if the meaning of one changes."""
    form = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A message of throughline watch",
        **msgspec.json.schema(Message),
    }
    return json.dumps(form, indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
