"""The local world: Azurite, the catalog and the functions host, and the note with their addresses."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from throughline.local.atlas import PASSWORD, USER, AtlasServer
from throughline.local.azurite import USUAL_PORTS, Azurite
from throughline.local.catalog.server import CatalogServer
from throughline.local.func import Func
from throughline.local.functions import FunctionsHost, Host
from throughline.local.running_world import HOME, NOTE, RunningWorld, write_note
from throughline.project import ROOT

_RECEIVER_PORT = 7071
_CATALOG_PORT = 21000


class World:
    """Everything that Throughline needs on one machine, as a context manager.

    `home` is the folder of the data; `usual_ports` uses the documented ports, else free ones. `settings` are added to
    those of the functions. `func` is the program that runs the functions instead of our own host. `atlas` (not
    started) replaces the local catalog, and gets the types that it lacks. Entering raises LocalError.
    All parts end with the block and with this process.
    """

    def __init__(
        self,
        *,
        home: Path = HOME,
        usual_ports: bool = True,
        settings: Mapping[str, str] | None = None,
        app: Path = ROOT,
        func: Path | None = None,
        atlas: AtlasServer | None = None,
    ) -> None:
        self.home = home
        self.atlas = atlas
        self._usual_ports = usual_ports
        self._settings = dict(settings or {})
        self._app, self._func = app, func
        self._parts = contextlib.ExitStack()
        self.azurite = Azurite(location=home / "azurite", ports=USUAL_PORTS if usual_ports else None)
        self.catalog = CatalogServer(port=_CATALOG_PORT if usual_ports else 0, data=home / "catalog.sqlite")
        self.functions: Host

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as parts:
            parts.enter_context(self.azurite)
            parts.enter_context(self.atlas or self.catalog)
            self.functions = self._host()
            parts.enter_context(self.functions)
            write_note(self.home, self.running)
            parts.callback((self.home / NOTE).unlink, missing_ok=True)
            self._parts = parts.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def _host(self) -> Host:
        port = _RECEIVER_PORT if self._usual_ports else 0
        environment, log = {**os.environ, **self.environment}, self.home / "functions.log"
        if self._func:
            return Func(func=self._func, app=self._app, port=port, environment=environment, log=log)
        return FunctionsHost(app=self._app, port=port, environment=environment, log=log)

    @property
    def environment(self) -> dict[str, str]:
        """The settings of the functions."""
        return {
            "AzureWebJobsStorage": self.azurite.connection_string,
            **self._catalog_settings,
            **self._settings,
        }

    @property
    def _catalog_settings(self) -> dict[str, str]:
        if self.atlas:
            return {
                "THROUGHLINE_CATALOG_ENDPOINT": self.atlas.endpoint,
                "THROUGHLINE_CATALOG_USER": USER,
                "THROUGHLINE_CATALOG_TOKEN": PASSWORD,
            }
        return {
            "THROUGHLINE_CATALOG_ENDPOINT": self.catalog.endpoint,
            "THROUGHLINE_CATALOG_TOKEN": self.catalog.token,
        }

    @property
    def running(self) -> RunningWorld:
        """The addresses of the running world."""
        return RunningWorld(
            pid=os.getpid(),
            receiver_url=self.functions.url,
            catalog_url=(self.atlas or self.catalog).url,
            catalog_token=self._catalog_settings["THROUGHLINE_CATALOG_TOKEN"],
            environment=self.environment,
        )
