"""The queries of TPC-DS from Spark's own jar of tests, which Ivy downloads from Maven Central once."""

import hashlib
import subprocess
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

from throughline.local.toolchain.interpreter import own
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3

_ARTIFACT = f"spark-sql_{SPARK_3.scala}"
_DIGEST = "efda0266eecff9e3219844ee618afe42453f599a146d0139535217ba17be9c67"
"""SHA-256 of the jar."""
_FOLDERS = {"tpcds": "v14", "tpcds-v2.7.0": "v27"}
"""The jar's folders of queries, by the version of TPC-DS; that of 2.7 has those that differ from 1.4."""


def queries() -> dict[str, str]:
    """Return the texts by name, such as `v14_q23a`. Raises RuntimeError when the jar can't be downloaded."""
    jar = install_once("tpcds", (Path(__file__),), _fetch) / f"{_ARTIFACT}.jar"
    with zipfile.ZipFile(jar) as content:
        return {
            f"{_FOLDERS[path.parts[0]]}_{path.stem}": content.read(str(path)).decode().strip().rstrip(";")
            for path in sorted(map(Path, content.namelist()))
            if path.parts[0] in _FOLDERS and path.match("q*.sql")
        }


def _fetch(folder: Path) -> None:
    """Download the jar into the folder, by a file of dependencies: Ivy's command line can't name a classifier."""
    (folder / "ivy.xml").write_text(_dependencies())
    java = find_java(JavaNeed(platform=SPARK_3)).path / "bin" / "java"
    ivy = [str(java), "-cp", str(own().spark_home / "jars" / "*"), "org.apache.ivy.Main", "-cache", str(folder / "ivy")]
    options = ["-ivy", str(folder / "ivy.xml"), "-types", "jar", "-confs", "default"]
    command = [*ivy, *options, "-retrieve", f"{folder}/[artifact].[ext]"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    jar = folder / f"{_ARTIFACT}.jar"
    if outcome.returncode or not jar.exists():
        raise RuntimeError(
            f"Spark's jar of tests did not come from Maven Central: {(outcome.stderr or outcome.stdout)[-800:]}"
        )
    if hashlib.sha256(jar.read_bytes()).hexdigest() != _DIGEST:
        raise RuntimeError(f"The download of {jar.name} from Maven Central has the wrong SHA-256: not used")


def _dependencies() -> str:
    name, version = quoteattr(_ARTIFACT), quoteattr(SPARK_3.spark)
    return f"""
        <ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
          <info organisation="throughline" module="tpcds"/>
          <configurations><conf name="default"/></configurations>
          <dependencies>
            <dependency org="org.apache.spark" name={name} rev={version} transitive="false" conf="default->master,*">
              <artifact name={name} type="jar" ext="jar" m:classifier="tests"/>
            </dependency>
          </dependencies>
        </ivy-module>
        """.strip()
