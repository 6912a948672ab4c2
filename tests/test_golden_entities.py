"""The form of golden entities: no fact is lost, and none is repeated."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.golden import FOLDERS
from tests.support.golden_entities import ENTITIES, Document, condensed, expanded, merge_patch, patched, text_of

FILES = sorted(ENTITIES.glob("*.json"))
KEYS = st.sampled_from("abcd")
VALUES = st.recursive(
    st.integers(0, 3) | st.booleans() | st.text("xy", max_size=2),
    lambda members: st.lists(members, max_size=2) | st.dictionaries(KEYS, members, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(documents=st.dictionaries(st.sampled_from(("spark35", "spark35-plan", "spark41")), DOCUMENTS, min_size=1))
def test_every_capture_gets_its_own_document_back(documents: dict[str, Document]) -> None:
    stored = json.loads(text_of(condensed(documents)))
    assert {capture: text_of(expanded(stored, capture=capture)) for capture in documents} == {
        capture: text_of(document) for capture, document in documents.items()
    }


@pytest.mark.parametrize(
    ("source", "target", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_patch_has_what_differs(source: Document, target: Document, patch: Document) -> None:
    assert merge_patch(source, target) == patch
    assert patched(source, patch) == target


def test_captures_with_the_same_difference_share_it() -> None:
    entities = {"processes": {"p": {"type": "t", "name": "n"}}}
    older = {"processes": {"p": {"type": "t", "name": "m"}}}
    assert condensed({"v1": older, "v2": older, "v3": entities, "v4": entities}) == {
        "entities": entities,
        "differences": [{"captures": ["v1", "v2"], "patch": {"processes": {"p": {"name": "m"}}}}],
    }


@pytest.mark.parametrize("document", [{"a": None}, {"a": {"b": None}}, {"a": [{"b": None}]}])
def test_a_null_is_refused(document: Document) -> None:
    with pytest.raises(ValueError, match="has a null"):
        condensed({"v1": document})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_has_the_fewest_differences(file: Path) -> None:
    """It is what its own captures condense to: no empty difference, no repeated one, no capture without events."""
    content = json.loads(file.read_text())
    captures = [folder.parent.name for folder in FOLDERS.values() if folder.name == file.stem]
    assert captures, f"no events are kept of {file.stem}: delete {file}"
    assert file.read_text() == text_of(
        condensed({capture: expanded(content, capture=capture) for capture in captures})
    ), "pytest tests/test_golden.py --rewrite-golden writes it"
