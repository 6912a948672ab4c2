"""The keys of host.json and function.json, which are checked because the host silently ignores unknown ones.

Their schemas are in no package registry; the keys are listed here, from the references at
https://learn.microsoft.com/azure/azure-functions/functions-host-json and of each binding. Microsoft's own worker code
loads the folders in tests/local/host/test_index.py.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FUNCTIONS = sorted(ROOT.glob("*_function/function.json"))
SAMPLING = (
    "isEnabled maxTelemetryItemsPerSecond evaluationInterval initialSamplingPercentage "
    "samplingPercentageIncreaseTimeout samplingPercentageDecreaseTimeout minSamplingPercentage "
    "maxSamplingPercentage movingAverageRatio excludedTypes includedTypes"
)
HOST = {
    "": "version functionTimeout logging extensionBundle extensions retry concurrency healthMonitor singleton "
    "telemetryMode watchDirectories watchFiles aggregator customHandler functions managedDependency sendGrid",
    "logging": "fileLoggingMode logLevel applicationInsights console",
    "logging.console": "isEnabled DisableColors",
    "logging.applicationInsights": "samplingSettings enableLiveMetrics enableDependencyTracking "
    "enablePerformanceCountersCollection liveMetricsInitializationDelay httpAutoCollectionOptions "
    "snapshotConfiguration",
    "logging.applicationInsights.samplingSettings": SAMPLING,
    "extensionBundle": "id version",
    "extensions": "blobs http queues",
    "extensions.blobs": "maxDegreeOfParallelism poisonBlobThreshold",
    "extensions.http": "routePrefix maxConcurrentRequests maxOutstandingRequests dynamicThrottlesEnabled hsts "
    "customHeaders enableChunkedRequestBinding",
    "extensions.queues": "maxPollingInterval visibilityTimeout batchSize maxDequeueCount newBatchThreshold "
    "messageEncoding",
}
FREE_FORM = {"logging.logLevel"}
"""Objects whose keys are names of the app's choice."""

FUNCTION = "scriptFile entryPoint bindings disabled excluded configurationSource retry generatedBy"
BINDINGS = {
    "httpTrigger": "authLevel methods route webHookType dataType",
    "http": "",
    "blobTrigger": "path connection source dataType",
    "timerTrigger": "schedule runOnStartup useMonitor",
}
KEYS_OF_EVERY_BINDING = "name type direction"
VALUES = {
    "direction": {"in", "out", "inout"},
    "authLevel": {"anonymous", "function", "admin"},
    "source": {"EventGrid", "LogsAndContainerScan"},
    "dataType": {"string", "binary", "stream"},
}


def unknown_in_host(value: Any, place: str = "") -> Iterator[str]:
    """Yield keys of host.json that the host does not know."""
    if not isinstance(value, Mapping) or place in FREE_FORM:
        return
    known_keys = HOST.get(place, "").split()
    for key, inside in value.items():
        name = f"{place}.{key}".lstrip(".")
        if key not in known_keys:
            yield name
        else:
            yield from unknown_in_host(inside, name)


def unknown_in_function(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield keys, kinds and values of a function.json that the host does not know."""
    yield from sorted(set(config) - set(FUNCTION.split()))
    for binding in config["bindings"]:
        kind = binding["type"]
        if kind not in BINDINGS:
            yield f"bindings.{kind}"
            continue
        known_keys = {*KEYS_OF_EVERY_BINDING.split(), *BINDINGS[kind].split()}
        for key, value in binding.items():
            if key not in known_keys or (key in VALUES and value not in VALUES[key]):
                yield f"{kind}.{key}"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_host_knows_every_key_of_host_json() -> None:
    assert list(unknown_in_host(read(ROOT / "host.json"))) == []


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.parent.name)
def test_the_host_knows_every_key_of_a_function(path: Path) -> None:
    assert list(unknown_in_function(read(path))) == []


PLANTED_IN_HOST = {
    "functionTimeout": "functionTimeOut",
    "maxDegreeOfParallelism": "maxDegreeOfParalellism",
    "excludedTypes": "excludeTypes",
    "routePrefix": "routeprefix",
    "blobs": "blob",
}


@pytest.mark.parametrize("right", PLANTED_IN_HOST)
def test_a_wrong_key_in_host_json_is_found(right: str) -> None:
    source = (ROOT / "host.json").read_text()
    planted = json.loads(source.replace(f'"{right}"', f'"{PLANTED_IN_HOST[right]}"', 1))
    assert [place.rpartition(".")[2] for place in unknown_in_host(planted)] == [PLANTED_IN_HOST[right]]


PLANTED_IN_FUNCTION = {
    "authLevel": ("receiver_function", '"authLevel"', '"authlevel"', "httpTrigger.authlevel"),
    "its value": ("receiver_function", '"function"', '"functions"', "httpTrigger.authLevel"),
    "a binding": ("parser_function", '"blobTrigger"', '"blobtrigger"', "bindings.blobtrigger"),
    "connection": ("parser_function", '"connection"', '"connections"', "blobTrigger.connections"),
    "schedule": ("sweeper_function", '"schedule"', '"scheduled"', "timerTrigger.scheduled"),
    "scriptFile": ("receiver_function", '"scriptFile"', '"script"', "script"),
}


@pytest.mark.parametrize(("folder", "old", "new", "place"), PLANTED_IN_FUNCTION.values(), ids=PLANTED_IN_FUNCTION)
def test_a_wrong_key_in_a_function_is_found(folder: str, old: str, new: str, place: str) -> None:
    source = (ROOT / folder / "function.json").read_text()
    assert old in source
    assert list(unknown_in_function(json.loads(source.replace(old, new, 1)))) == [place]
