"""Channels without a network: telemetry, which an alert reads, and a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shared.http_errors import TAKEN, Answer, NotNow
from shared.telemetry.port import ANNOUNCEMENT, Telemetry
from shared.watching.messages import Message, encoded
from shared.watching.rendering import lines

_TAIL = 4 * 1024 * 1024
"""Bytes at the end of the file in which a message is looked for that may be there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryChannel:
    """A log line of the kind `announcement` for each message. An alert of Azure sends mail by its action group."""

    waits: ClassVar[bool] = False
    telemetry: Telemetry

    def send(self, message: Message) -> Answer:
        """As the port says."""
        self.telemetry.report(
            ANNOUNCEMENT,
            state=str(message.severity),
            topic=str(message.topic),
            message=message.id,
            subject=message.subject.qualified_name,
            owners=", ".join(message.owners),
            text="; ".join(lines(message)),
        )
        return TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChannel:
    """A file with a line of JSON for each message, in the form of the channel `webhook`."""

    waits: ClassVar[bool] = False
    path: Path

    def send(self, message: Message) -> Answer:
        """As the port says. A message that is already among the last lines is not written again."""
        line = encoded(message) + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                end = file.seek(0, 2)
                file.seek(max(0, end - _TAIL))
                last = file.read()
                if f'"id":"{message.id}"'.encode() in last:
                    return TAKEN
                torn = b"\n" if last and not last.endswith(b"\n") else b""  # a line that a full disk cut off
                file.write(torn + line)
        except OSError as error:
            return NotNow(why=f"{self.path} can't be written: {error.strerror or error}")
        return TAKEN
