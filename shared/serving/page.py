"""Build the lineage page: one HTML file with its styles, its modules and the document of lineage, which loads nothing.

The modules of `viewer/` are plain ES modules. A page that was opened from a file may not import others, so they are
joined to one script, each after those that it imports, without the words import and export. The content security policy
names the hashes of that script and of the styles (CSP Level 3, `'sha256-…'`), allows the page's own worker, which lays
out large pictures, and forbids everything else.
"""

import base64
import gzip
import hashlib
import re
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

from shared.lineage.document import LineageDocument, encoded
from shared.texts.visible import visible

FOLDER = Path(__file__).parents[2] / "viewer"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_COMMENT = re.compile(r"/\*\*.*?\*/ ?|^ *//[^\n]*\n", re.MULTILINE | re.DOTALL)
"""Types and comments, a fifth of the modules: no text in them has these marks."""
_LAYOUT = "layout.js"
"""Also runs in a worker, which is made of a text of its own."""


def page(document: LineageDocument, start: str = "", *, title: str = "Lineage", made: datetime | None = None) -> bytes:
    """The page as HTML; equal arguments give equal bytes. `start` is the state (an address without `#`) that it begins
    with where its own address has none. `made`: when the file was written, which the page tells.
    """
    script = joined(FOLDER)
    styles = (FOLDER / "page.css").read_text(encoding="utf-8")
    values = {
        "title": escape(visible(title)),
        "policy": escape(_policy(script, styles)),
        "styles": styles,
        "script": script,
        "start": escape(start),
        "made": made.isoformat() if made else "",
        "layout": _plain((FOLDER / _LAYOUT).read_text(encoding="utf-8")),
        "data": base64.b64encode(gzip.compress(encoded(document), mtime=0)).decode(),
    }
    template = (FOLDER / "index.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name.group(1)], template).encode()


def _policy(script: str, styles: str) -> str:
    """The page's content security policy."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(styles)}'; img-src data: blob:;"
        " worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def joined(folder: Path) -> str:
    """The modules as one script without comments, each after those that it imports. Raises ValueError where two import
    each other.
    """
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))}
    try:
        order = tuple(TopologicalSorter({name: _IMPORT.findall(text) for name, text in texts.items()}).static_order())
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise ValueError(f"the modules of the page import each other in a circle: {circle}") from error
    return '"use strict";\n' + "\n".join(_plain(texts[name]) for name in order)


def _plain(module: str) -> str:
    """A module as a part of a script."""
    return _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", module)))
