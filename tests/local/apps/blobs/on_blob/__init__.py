"""Record each call in the file CALLS; then fail, or sleep for some seconds, as the blob's content demands."""

import json
import os
import time
from pathlib import Path

import azure.functions as func


def main(blob: func.InputStream) -> None:
    content = blob.read().decode()
    note("begin", blob, content)
    if content == "fail":
        message = "asked to fail"
        raise ValueError(message)
    if content.startswith("sleep "):
        time.sleep(float(content.removeprefix("sleep ")))
    note("end", blob, content)


def note(kind: str, blob: func.InputStream, content: str) -> None:
    line = {"what": kind, "name": blob.name, "length": blob.length, "uri": blob.uri, "content": content}
    line |= {"at": time.time()}
    with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(line) + "\n")
