"""The reason, in one sentence, why a Spark job failed or did not end, from its output and log."""

import contextlib
import re
import signal
import time
from pathlib import Path

import psutil

from throughline.local.toolchain.certificates import certificate_advice

_DUMPED = "JNI global ref"  # the last line of a thread dump
_SECONDS_FOR_A_DUMP = 5.0
_WAITS_FOR_LISTENERS = re.compile(r"LiveListenerBus\.stop\b|AsyncEventQueue\.stop\b")
_IVY_NOISE = re.compile(r"^:: .*\n", re.MULTILINE)
_NO_NETWORK = re.compile(
    r"Host \S+ not found|UnknownHostException|Server access error|"
    r"Network is unreachable|Connection refused|[Tt]imed out",
)
_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s;#]+)#([^\s;]+);([^\s:]+)")
_LAST_ERROR = re.compile(r"^(?:: |Caused by: )?(?:\w+\.)*(\w*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)


def without_noise(output: str) -> str:
    """Return a job's output without Ivy's reports of downloads."""
    return _IVY_NOISE.sub("", output)


def explain_failure(name: str, log: str, output: str, path: Path) -> str:
    """Return in one sentence why a job failed: packages that could not be downloaded, else the last error.

    `log` is the standard error of spark-submit, `output` its standard output, which has a Python job's traceback.
    """
    missing = sorted({":".join(coordinates) for coordinates in _UNRESOLVED.findall(log)})
    if missing:
        packages = " and ".join(missing)
        if _NO_NETWORK.search(log):
            return (
                f"Spark could not download {packages} from Maven Central: check the network "
                f"(downloads are kept in ~/.ivy2).{certificate_advice(log)} Log: {path}"
            )
        return f"Maven Central has no {packages}: check the version. Log: {path}"
    errors = _LAST_ERROR.findall(output) or _LAST_ERROR.findall(log)
    reason = errors[-1] if errors else "its log does not say why"
    return f"The job {name} failed: {reason}. Log: {path}"


def explain_endless(name: str, seconds: float, pid: int, output: Path, log: Path) -> str:
    """Return in one sentence that a job did not end, and where to look; the job must still run.

    First SIGQUIT makes its Java print its threads to `output` and continue. One cause is known: Spark's stop() waits
    for its listeners, and the OpenLineage listener waits for a job that it had Delta start.
    """
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended by itself
            if process.name() == "java":
                process.send_signal(signal.SIGQUIT)
    deadline = time.monotonic() + _SECONDS_FOR_A_DUMP
    while _DUMPED not in (threads := output.read_text(errors="replace")) and time.monotonic() < deadline:
        time.sleep(0.1)
    reason = (
        "it waits for its listeners, so let it wait for them before it stops Spark, as examples/customer_merge.py does"
        if _WAITS_FOR_LISTENERS.search(threads)
        else f"its threads are at the end of {output}"
    )
    return f"The job {name} did not end within {seconds:g} s and was stopped: {reason}. Log: {log}"
