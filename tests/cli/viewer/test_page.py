"""The page's file: one HTML with a strict policy, the same bytes for the same lineage, names as data only."""

import base64
import gzip
import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest

from shared.lineage.document import decoded
from shared.serving.view import FOLDER, joined, page
from tests.support.lineage import document, edge, process, random_document

SCRIPT_INJECTION = "</script><script>alert(1)</script>"


def part(html: str, pattern: str) -> str:
    match = re.search(pattern, html, re.DOTALL)
    assert match
    return match.group(1)


def test_the_page_contains_its_document_and_loads_no_resources() -> None:
    history = random_document(1)
    html = page(history, "asset=a&column=b").decode()
    data = part(html, r'<script type="text/plain" id="data"[^>]*>([^<]*)</script>')
    assert decoded(gzip.decompress(base64.b64decode(data))) == history
    assert part(html, r'data-start="([^"]*)"') == "asset=a&amp;column=b"
    assert not re.findall(r'(?:src|href)="', html)
    assert page(history) == page(history)


def test_the_policy_allows_the_pages_own_script_and_styles_only() -> None:
    html = page(random_document(1)).decode()
    policy = part(html, r'http-equiv="Content-Security-Policy" content="([^"]*)"').replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    script, styles = part(html, r"<script>(.*?)</script>"), part(html, r"<style>(.*?)</style>")
    for text in (script, styles):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy


def test_markup_in_names_is_not_executed() -> None:
    html = page(
        document(
            process(
                SCRIPT_INJECTION,
                SCRIPT_INJECTION,
                "clean",
                edge(f"{SCRIPT_INJECTION}.{SCRIPT_INJECTION}", f"clean.{SCRIPT_INJECTION}"),
            )
        ),
        SCRIPT_INJECTION,
    ).decode()
    assert "alert(1)" not in html.replace(part(html, r'data-start="([^"]*)"'), "")
    assert html.count("</script>") == 3


def test_no_two_modules_declare_the_same_name() -> None:
    """They share one scope in the page."""
    names = Counter(
        name
        for path in FOLDER.glob("*.js")
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+)", path.read_text(), re.MULTILINE
        )
    )
    assert [name for name, number in names.items() if number > 1] == []


def test_every_module_is_in_the_script_exactly_once() -> None:
    script = joined(FOLDER)
    declarations = re.compile(r"^(?:export )?((?:async )?(?:const|function|class) \w+\b)", re.MULTILINE)
    for path in FOLDER.glob("*.js"):
        declaration = declarations.search(path.read_text())
        assert declaration
        assert len(re.findall(rf"^{re.escape(declaration[1])}\b", script, re.MULTILINE)) == 1, path.name
    assert "/**" not in script
    assert not re.search(r"^ *//", script, re.MULTILINE)
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import { a } from "./other.js";\nexport const b = 1;\n')
    (tmp_path / "other.js").write_text('import { b } from "./main.js";\nexport const a = 1;\n')
    with pytest.raises(ValueError, match=r"main.js → other.js → main.js"):
        joined(tmp_path)
