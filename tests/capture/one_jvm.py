"""Run scripts one after the other in one JVM, each with properties and arguments of its own; given to spark-submit.

The argument is a JSON file, a list of runs: `script`, `arguments`, `properties`, `outcome` (the file that gets
`{"problem": TEXT or null}` at the run's end) and `receiver`, which is told the end by a request DELETE.
"""

import json
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from pyspark import SparkContext
from pyspark.sql import SparkSession


def run(jvm: Any, script: str, arguments: list[str], properties: dict[str, str]) -> str | None:
    """Run the script once; return the problem. No session, file system or module of a jar is left of the run before."""
    for name, value in properties.items():
        jvm.java.lang.System.setProperty(name, value)  # where a new context looks first
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()  # they keep the configuration that they were made with
    path, modules = list(sys.path), set(sys.modules)
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))  # as spark-submit does
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:  # noqa: BLE001 - whatever a script raises: the caller reports it
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    finally:
        if SparkContext._active_spark_context:
            SparkSession.builder.getOrCreate().stop()
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if "/userFiles-" in str(getattr(sys.modules[name], "__file__", "")):  # deleted with the application
                del sys.modules[name]
    return None


def main(path: Path) -> None:
    """Do all runs of the file."""
    SparkContext._ensure_initialized()
    for details in json.loads(path.read_text()):
        problem = run(SparkContext._jvm, details["script"], details["arguments"], details["properties"])
        urlopen(Request(details["receiver"], method="DELETE")).close()  # noqa: S310 - an HTTP address on loopback
        Path(details["outcome"]).write_text(json.dumps({"problem": problem}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
