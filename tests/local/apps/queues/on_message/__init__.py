"""Record each call in the file CALLS; then fail, or sleep for some seconds, as the message demands."""

import json
import os
import time
from pathlib import Path

import azure.functions as func


def main(message: func.QueueMessage) -> None:
    content = message.get_body().decode()
    note("begin", message, content)
    if content == "fail":
        error = "asked to fail"
        raise ValueError(error)
    if content.startswith("sleep "):
        time.sleep(float(content.removeprefix("sleep ")))
    note("end", message, content)


def note(kind: str, message: func.QueueMessage, content: str) -> None:
    line = {"what": kind, "content": content, "tries": message.dequeue_count, "id": message.id}
    with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(line) + "\n")
