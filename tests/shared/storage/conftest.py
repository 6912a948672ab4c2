"""The storages that hold the contract of the port."""

import random

import pytest

from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from tests.faults.fault_injection import Faults, Faulty
from tests.faults.scheduler import Scheduler
from tests.support.azurite import on_azurite


@pytest.fixture(params=["memory", "fault wrapper", "azurite"])
def storage(request: pytest.FixtureRequest) -> Storage:
    match request.param:
        case "memory":
            return MemoryStorage()
        case "fault wrapper":
            faults = Faults(scheduler=Scheduler(), chance=random.Random(0))
            wrapper: Storage = Faulty(MemoryStorage(), "storage", faults)
            return wrapper
        case _:
            return on_azurite(request.getfixturevalue("azurite").connection_string)
