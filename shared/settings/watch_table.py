"""The settings of the watch, as a part of the table `SETTINGS`."""

from shared.settings.kinds import addresses, file, whole
from shared.settings.setting import Setting, SettingSource

MAX_WATCH_MINUTES = 7 * 24 * 60
WATCH = "THROUGHLINE_WATCH"

WATCH_SETTINGS: tuple[Setting, ...] = (
    Setting(
        name=WATCH,
        default="",
        meaning="File of rules, TOML, by which `watch` announces changes; empty: the sweeper does not watch",
        source=SettingSource.SHELL,
        parse=file,
        bounds="a path; at most 1 MiB",
    ),
    Setting(
        name="THROUGHLINE_WATCH_POLICY",
        default="",
        meaning="File of rules, TOML, whose policies are gates: `watch` announces one that breaks",
        source=SettingSource.SHELL,
        parse=file,
        bounds="a path; at most 1 MiB",
    ),
    Setting(
        name="THROUGHLINE_WATCH_MINUTES",
        default="15",
        meaning="How long after one look at all lineage the next is due",
        source=SettingSource.SHELL,
        parse=whole(MAX_WATCH_MINUTES),
        bounds=f"minutes, from 1 to {MAX_WATCH_MINUTES:,}",
    ),
    Setting(
        name="THROUGHLINE_WATCH_WEBHOOKS",
        default="",
        meaning="Addresses of webhooks by channel, as team=https://…, separated by spaces or line ends",
        source=SettingSource.SHELL,
        parse=addresses,
    ),
    Setting(
        name="THROUGHLINE_WATCH_SECRET",
        default="",
        meaning="Secret that signs requests to webhooks; empty: they are not signed",
        source=SettingSource.SHELL,
    ),
)
