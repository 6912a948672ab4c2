"""The file of keys, replaced while requests read it, as a deployment changes keys under load."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from tests.support.replacing import replace_text
from throughline.local.host.http.keys import Keys


def test_keys_that_are_replaced_while_requests_come_open_every_request(tmp_path: Path) -> None:
    file, end_event = tmp_path / "keys.json", Event()
    contents = [json.dumps({"functionKeys": {"default": "sender", f"key{n}": "x" * 500}}) for n in range(2)]
    replace_text(file, contents[0])

    def refused() -> int:
        keys, number = Keys(file), 0
        while not end_event.is_set():
            number += not keys.open_function("receiver_function", "function", "sender")
        return number

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(refused) for _ in range(2)]
        try:
            for turn in range(500):
                replace_text(file, contents[turn % 2])
        finally:
            end_event.set()
    assert [reader.result() for reader in readers] == [0, 0]
