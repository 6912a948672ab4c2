"""This machine: Python, and what the local world needs beside it."""

import sys
from collections.abc import Iterator

from cli.checks.findings import Finding, bad, good
from local.java import NoJavaError, find_java
from local.node import NodeError, find_node

_PYTHON = (3, 11)


def check_machine(*, local: bool) -> Iterator[Finding]:
    """Python; with `local` also Java and Node.js, which a deployment in Azure does not need here."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield good("python", version) if sys.version_info[:2] >= _PYTHON else bad("python-old", "python", version)
    if not local:
        return
    try:
        java = find_java()
        yield good("java", f"{java.version}, from {java.source}")
    except NoJavaError as error:
        yield bad("java-missing", "java", str(error))
    try:
        yield good("node", str(find_node().node))
    except NodeError as error:
        yield bad("node-missing", "node", str(error))
