"""Notes that it ran."""

import json
import os
from pathlib import Path

import azure.functions as func


def main(timer: func.TimerRequest) -> None:
    with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps({"what": "start", "next": timer.schedule_status["Next"]}) + "\n")
