"""The behaviour of Microsoft's functions host as cases that the local host must meet: one table, CASES.

Each case was observed on the real host: WebHost 4.1037.0, the Python worker 4.34.0, the blob extension 5.3.2 and 5.3.7;
those of queue triggers were read in their extension's source.
Not covered: identity settings (no token is available here), Application Insights, Flex' front end, role assignments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.local.hosting import App
from throughline.local.azurite import Azurite


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The fixtures of a case: storage, its own container's name and folder, and a host with HTTP functions.

    All cases share the host; `key` is the key of its app.
    """

    azurite: Azurite
    container: str
    scratch: Path
    web: App
    keys: Path
    key: str

    def settings(self) -> dict[str, str]:
        """The settings of the sample app with a blob trigger."""
        return {
            "AzureWebJobsStorage": self.azurite.connection_string,
            "CONTAINER": self.container,
            "AzureFunctionsWebHost__hostid": f"host-{self.container}",
        }

    def ask(self, method: str, path: str, *, key: str | None = None, data: object = None) -> requests.Response:
        """Send a request to the shared host, with the app's key unless another is given ("" for none)."""
        headers = {"x-functions-key": self.key if key is None else key}
        return requests.request(method, f"{self.web.url}{path}", headers=headers, data=data, timeout=60)  # type: ignore[arg-type]  # an iterator too


Case = Callable[[Bench], None]
CASES: dict[str, Case] = {}


def contract_case(title: str) -> Callable[[Case], Case]:
    """Add a case to the table under the observed behaviour."""

    def add(case: Case) -> Case:
        assert title not in CASES
        CASES[title] = case
        return case

    return add
