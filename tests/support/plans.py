"""Hand-written plans in the form of throughline-plan.jar."""

import base64
import gzip
import json
from typing import Any

from shared.model import OPAQUE
from shared.openlineage.run import MergedDataset
from shared.openlineage.run_facets import PlanFacet

Json = dict[str, Any]


def column(number: int, name: str, kind: str = "string") -> Json:
    """An attribute."""
    return {"k": "AttributeReference", "x": [number, 0], "t": kind, "name": name}


def alias(number: int, name: str, child: Json) -> Json:
    """Return a named expression."""
    return {"k": "Alias", "x": [number, 0], "name": name, "child": child}


def call(function: str, *children: Json) -> Json:
    """Return a function of these arguments."""
    return {"k": function, "children": list(children)}


LITERAL: Json = {"k": "Literal", "t": "int"}


class PlanBuilder:
    """Collects plans; each method adds one and returns its reference."""

    def __init__(self) -> None:
        self.plans: list[Json] = [{}]
        self.frames: list[Json] = []

    def add(self, kind: str, **fields: object) -> Json:
        """A plan of this class."""
        self.plans.append({"k": kind, **fields})
        return {"ref": len(self.plans) - 1}

    def table(self, path: str, *columns: Json) -> Json:
        """A relation of files."""
        return self.add(
            "LogicalRelation", relation={"k": "HadoopFsRelation", "location": files(path)}, output=[*columns]
        )

    def project(self, child: Json, *expressions: Json) -> Json:
        """SELECT."""
        return self.add("Project", projectList=[*expressions], child=child)

    def writing(self, query: Json, path: str = "file:/out") -> Json:
        """Return the document of a write of files."""
        self.plans[0] = {"k": "InsertIntoHadoopFsRelationCommand", "outputPath": path, "query": query}
        return self.document()

    def document(self) -> Json:
        """All of it."""
        return {"root": {"ref": 0}, "plans": self.plans, "frames": self.frames, "jvm": ["j"]}


def files(path: str) -> Json:
    """An index of files."""
    return {"k": "InMemoryFileIndex", "paths": [path]}


def facet(document: object) -> PlanFacet:
    """Return the facet with a document, which is written as the jar does, or with its text."""
    text = document if isinstance(document, str) else json.dumps(document, separators=(",", ":"))
    packed_plan = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return PlanFacet(format=1, plan=packed_plan)


def edges_of(output: MergedDataset) -> set[str]:
    """Return edges as texts: `a>out` a value, `a~out` a value that code may pass on, `a?out` a condition, `a?` a
    condition on all rows; a mask ends in `*`.
    """
    edges = set()
    for name, fields in output.fields:
        for source in fields[0].input_fields or ():
            for step in source.transformations or ():
                sign = "?" if step.type != "DIRECT" else "~" if step.subtype == OPAQUE else ">"
                edges.add(f"{source.field}{sign}{name}{'*' if step.masking else ''}")
    return edges | {f"{source.field}?" for source in output.rows}
