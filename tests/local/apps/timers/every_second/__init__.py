"""Record its begin and end; a call takes longer than the interval of its schedule."""

import asyncio
import json
import os
import time
from pathlib import Path

import azure.functions as func


async def main(timer: func.TimerRequest) -> None:
    note("begin", timer)
    await asyncio.sleep(1.2)
    note("end", timer)


def note(kind: str, timer: func.TimerRequest) -> None:
    line = {"what": kind, "at": time.time(), "next": timer.schedule_status["Next"]}
    with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(line) + "\n")
