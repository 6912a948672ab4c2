"""A real browser for the tests: Chromium with playwright-core, driven through one node process.

The browser is an installed one (`chromium`, `google-chrome`), else that of `@sparticuz/chromium`, which needs neither
root nor Debian. Its archive also has the libraries that a minimal machine lacks.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

from throughline.local.toolchain.node import find_node
from throughline.local.toolchain.stamp import install_once

_HERE = Path(__file__).parent
_PINNED = (_HERE / "package.json", _HERE / "package-lock.json")
_FLAGS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_SECONDS = 600
_LIBRARIES = {"AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
"""The variables that make `@sparticuz/chromium` unpack the libraries for a minimal machine (its helper.js)."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class BrowserError(AssertionError):
    """The browser could not execute a test's command."""


def installed() -> Path:
    """Return the folder with the pinned packages, installed once into `build/viewer-tests`. Raises BrowserError."""

    def make(folder: Path) -> None:
        for path in _PINNED:
            shutil.copy(path, folder)
        _run(
            [*find_node().npm, "ci", *_FLAGS],
            folder,
            "`npm ci` for the page's tests failed: is npm's registry reachable? Run them again.",
        )

    return install_once("viewer-tests", _PINNED, make)


def unpacked() -> Path:
    """Return the folder with the browser of `@sparticuz/chromium`, unpacked once into `build/viewer-browser`.

    The package itself would unpack into the folder for temporary files, and would use any file of the right name there:
    one of another version, or one that another worker of the tests is still writing.
    """
    packages = installed()

    def make(folder: Path) -> None:
        command = [str(find_node().node), str(_HERE / "unpack.mjs"), str(packages)]
        _run(
            command,
            folder,
            "npm's browser could not be unpacked: is there room for 300 MB? Or install Chromium.",
            TMPDIR=str(folder),
            **_LIBRARIES,
        )

    return install_once("viewer-browser", (*_PINNED, _HERE / "unpack.mjs"), make)


def _run(command: list[str], folder: Path, failure: str, **variables: str) -> None:
    environment = {**os.environ, **variables}
    outcome = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    if outcome.returncode:
        raise BrowserError(f"{failure}\n{outcome.stderr.strip()[-2000:]}")


class Browser:
    """One browser; `open` opens a new page without any state of the previous one."""

    def __init__(self) -> None:
        executable = next((browser_path for name in _BROWSERS if (browser_path := shutil.which(name))), "")
        own_browser = "" if executable else str(unpacked())
        self._process = subprocess.Popen(
            [str(find_node().node), str(_HERE / "driver.mjs"), str(installed()), executable, own_browser],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **_LIBRARIES},
        )
        self.version: str = self._answer()["ready"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise BrowserError(
                "the browser did not start: install Chromium, or the libraries that the one of npm lacks here"
                f" (node ended with {self._process.wait()})"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, command: str, **arguments: Any) -> Any:
        """Run a command of driver.mjs. Raises BrowserError with its message."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise BrowserError(answer["error"])
        return answer["value"]

    def open(
        self,
        page: Path | str,
        *,
        state: str = "",
        dark: bool = False,
        missing_features: tuple[str, ...] = (),
        size: tuple[int, int] = (1400, 850),
    ) -> float:
        """Open a page in this state; returns the milliseconds until it was usable.

        `missing_features` names globals to remove from the browser, as in an older one. `size`: of its window.
        """
        address = page if isinstance(page, str) else page.resolve().as_uri()
        milliseconds: float = self.ask(
            "open",
            url=f"{address}#{state}" if state else address,
            dark=dark,
            without=missing_features,
            width=size[0],
            height=size[1],
        )
        return milliseconds

    def run(self, code: str, argument: Any = None) -> Any:
        """Call a JavaScript function in the page, and return its value."""
        return self.ask("evaluate", code=code, argument=argument)

    def go(self, state: str) -> None:
        """Change the page's state by its address, as a link does."""
        self.run(
            "(state) => { history.pushState(null, '', `#${state}`); dispatchEvent(new PopStateEvent('popstate')); }",
            state,
        )

    def click(self, selector: str, nth: int = 0) -> None:
        """Click with the mouse on a visible element."""
        self.ask("click", selector=selector, nth=nth)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.ask("press", key=key)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all matching elements."""
        element_texts: list[str] = self.run(
            "(selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent)", selector
        )
        return element_texts

    @property
    def state(self) -> dict[str, str]:
        """The page's state, from its address."""
        page_state: dict[str, str] = self.run("() => Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
        return page_state

    @property
    def problems(self) -> list[str]:
        """The console messages since the page was opened: errors, warnings, violations of the policy, dialogs."""
        problem_texts: list[str] = self.ask("seen")["problems"]
        return problem_texts

    @property
    def requests(self) -> list[str]:
        """The requests of the page, its own first."""
        request_urls: list[str] = self.ask("seen")["requests"]
        return request_urls
