"""Forwarding: runs that have ended leave for other catalogs and stores, each once and merged.

    a fold     mark|forward|{run}|… in `publishqueue`: lineage of a run has changed   shared/applications/processor.py
    ten quiet minutes later, in a round of the sweeper, under a lease:
    plan       marks → rules → an entry in the outbox of each target                 rounds.py, rules.py, outbox.py
    deliver    entry → header and record → event → target → what the target has      rounds.py, content.py, event.py
    a target   one event as a request: OpenLineage, Event Hubs, a folder              http_target.py

`rules.py` and `event.py` are pure. `content.py` reads headers and records of applications. Entries hold no content: a
run that changes while its target is away is sent once, as it is then.
"""
