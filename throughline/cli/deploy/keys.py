"""The function keys that senders hold, and the same ones in the receiver's slot.

A host reads its keys by the slot's name that its process was started with; on Linux that is not changed by a swap until
the instance is recycled (https://github.com/Azure/azure-functions-host/issues/8999). So for minutes the swapped-in
process may ask for the slot's keys: with the same keys on both sides either answer is right. A key that production has
no longer is deleted in the slot, so that no swap revives it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from throughline.cli.deploy.azure_cli import WEB_API, Az
from throughline.cli.deploy.target import Target

_FUNCTION = "receiver_function"
_PLACES: Mapping[str, tuple[str, str, str]] = {
    "host": ("host/default/listkeys", "functionKeys", "host/default/functionkeys"),
    _FUNCTION: (f"functions/{_FUNCTION}/listkeys", "properties || @", f"functions/{_FUNCTION}/keys"),
}
"""Where Resource Manager lists the keys of the host and of the function, how the answer is read (the master key stays
in `az`), and where it takes a key.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverKeys:
    """The keys of the receiver and of its slot. Values stay in memory, and in a file of ours while `az` reads it."""

    az: Az
    target: Target

    def of_host(self) -> Iterator[str]:
        """Production's keys for all functions. Raises AzureCliError, also while the host starts."""
        yield from self._keys("host", "").values()

    def copy(self) -> None:
        """Give the slot production's keys, and no others. Raises AzureCliError, also while a host starts."""
        for place in _PLACES:
            production, staged = self._keys(place, ""), self._keys(place, self.target.slot)
            for name, value in production.items():
                if staged.get(name) != value:
                    self._put(place, name, value)
            for name in staged.keys() - production.keys():
                self._rest("delete", f"{_PLACES[place][2]}/{quote(name)}", self.target.slot)

    def _keys(self, place: str, slot: str) -> Mapping[str, str]:
        path, query, _ = _PLACES[place]
        keys = self._rest("post", path, slot, "--query", query) or {}
        return {name: value for name, value in keys.items() if isinstance(value, str)}

    def _put(self, place: str, name: str, value: str) -> None:
        with TemporaryDirectory() as folder:
            body = Path(folder) / "key.json"
            with os.fdopen(os.open(body, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
                json.dump({"properties": {"name": name, "value": value}}, file)
            self._rest("put", f"{_PLACES[place][2]}/{quote(name)}", self.target.slot, "--body", f"@{body}")

    def _rest(self, method: str, path: str, slot: str, *options: str) -> Mapping[str, str] | None:
        app = f"/subscriptions/{{subscriptionId}}/resourceGroups/{self.target.group}/providers/Microsoft.Web/sites"
        url = f"{app}/{self.target.receiver}{f'/slots/{slot}' if slot else ''}/{path}?api-version={WEB_API}"
        answer: Mapping[str, str] | None = self.az.json("rest", "--method", method, "--url", url, *options)
        return answer
