"""The local catalog, which fails as Purview or Atlas may: `python -m tests.support.troubled_catalog --port 21000`.

It takes the options of `python -m throughline.local.catalog`. POST /admin/troubles says which calls fail, and how
(`catalog_troubles`); GET /admin/token gives the valid token.
"""

import asyncio
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson
from starlette.responses import JSONResponse, Response

from tests.support.catalog_troubles import Does, Trouble, Troubles
from throughline.local.catalog.__main__ import main
from throughline.local.catalog.http.app import AdminPage, CatalogApp, refused
from throughline.local.catalog.http.verbs import Call, Catalog, Verb
from throughline.local.catalog.server import CatalogServer


class TroubledCatalog(CatalogServer):
    """A catalog in a child process, whose calls can be made to fail."""

    module = "tests.support.troubled_catalog"

    def have_troubles(self, *troubles: str) -> None:
        """Let calls fail so (see `catalog_troubles`); without arguments, none any more."""
        self.admin("POST", "troubles", {"troubles": troubles})

    def troubles(self) -> dict[str, int]:
        """How often each failure occurred."""
        return {trouble["trouble"]: trouble["struck"] for trouble in self.admin("GET", "troubles")["troubles"]}

    def good_token(self) -> str:
        """The valid token: a new one each time it has expired."""
        return str(self.admin("GET", "token")["token"])


class TroubledApp(CatalogApp):
    """The catalog's application, whose calls can be made to fail."""

    def __init__(self, catalog: Catalog, *, token: str) -> None:
        super().__init__(catalog, token=token)
        self._troubles = Troubles()

    @property
    def token(self) -> str:
        """The token that is valid now."""
        return self._troubles.token(self._token)

    async def answer(self, verb: Verb, call: Call) -> Response:
        """Answer a call, or let it fail."""
        text = f"{call.query}{orjson.dumps(call.body).decode()}"
        trouble = self._troubles.strike(verb.name, writes=verb.writes, text=text)
        return await self._struck(verb, call, trouble) if trouble else self.run(verb, call)

    def admin_pages(self) -> Iterable[tuple[str, str, AdminPage]]:
        """Yield the pages of the catalog, of the troubles and of the token."""

        def set_troubles(_query: Mapping[str, str], body: Any) -> Any:
            self._troubles.become([Trouble.of(str(text)) for text in (body or {}).get("troubles", ())])
            return self._troubles.to_json()

        yield from super().admin_pages()
        yield "GET", "/admin/troubles", lambda _query, _body: self._troubles.to_json()
        yield "POST", "/admin/troubles", set_troubles
        yield "GET", "/admin/token", lambda _query, _body: {"token": self.token}

    async def _struck(self, verb: Verb, call: Call, trouble: Trouble) -> Response:
        """Run and answer a call as its trouble demands."""
        how = trouble.how
        if how.slow:
            await asyncio.sleep(trouble.seconds)
        response: Response | None = None
        if how.does is Does.ALL:
            response = self.run(verb, call)
        elif how.does is Does.HALF and isinstance(call.body, dict) and isinstance(call.body.get("entities"), list):
            entities = call.body["entities"]
            part = replace(call, body=call.body | {"entities": entities[: len(entities) // 2]})
            response = self.run(verb, part) if part.body["entities"] else JSONResponse({})
        if how.late:
            await asyncio.sleep(trouble.seconds)
        if response is not None and how.cut:
            return _Cut(response.body)
        if how.status is None:
            return response or self.run(verb, call)
        if trouble.kind == "expire":
            return refused()
        headers = {"Retry-After": f"{trouble.after:g}"} if trouble.kind == "throttle" else {}
        content = {"errorCode": f"ATLAS-{how.status}-00-001", "errorMessage": f"Injected failure: {trouble}"}
        return JSONResponse(content, status_code=how.status, headers=headers)


class _Cut(Response):
    """An answer whose connection ends after half of it."""

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Announce the whole length, and send half of it."""
        length = str(len(self.body) + 2).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2]})


if __name__ == "__main__":
    sys.exit(main(app_type=TroubledApp))
