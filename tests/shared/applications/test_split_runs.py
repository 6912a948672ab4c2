"""Split runs: the events of one run that name several applications are brought to its home, and stay there."""

from shared.events.dead_letters import dead_letters
from shared.openlineage.decoding import decode
from shared.records.states import State
from shared.storage_layout import APPLICATIONS, EVENTS, digest_of, stored
from shared.sweeping.closing import ClosingOptions
from shared.telemetry.port import RUN, Act, Acts
from tests.support.applications import NOT_CLOSING, Applications
from tests.support.events import event, run_id


def copy(time: str, source: str = "/a", *, kind: str = "COMPLETE", application: str = "app") -> bytes:
    return event("run", kind, time, inputs=[source], outputs=["/b"], application=application)


def split_run(closing: ClosingOptions = NOT_CLOSING) -> Applications:
    """A run whose first event names `app`, and whose end `other`."""
    world = Applications(closing=closing)
    world.process(copy("10:00:00", kind="START"), copy("10:00:05", source="/c", application="other"))
    world.sweep(minutes=11)
    return world


def test_an_end_that_comes_where_a_run_was_before_is_brought_to_its_home_at_once() -> None:
    world = split_run()
    world.process(copy("10:00:07", source="/d", application="other"))
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b")]
    assert world.application("other").state.contents == {}


def test_an_end_without_its_row_is_brought_there_too() -> None:
    world = split_run()
    another = event("another", "COMPLETE", "10:00:07", application="other")
    (end, _) = world.receive(copy("10:00:07", source="/d", application="other"), another)
    world.memory.delete(APPLICATIONS, run_id("other"), end.row_key)
    world.storage.calls.clear()
    world.deliver(end, worker=world.new_worker())
    assert world.record("other", "another")
    assert world.storage.calls["partition"] == 6, "`other` is not read again for its sake"
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b")]


def test_a_run_comes_back_when_an_earlier_event_names_its_first_application() -> None:
    world = split_run()
    world.process(copy("09:00:00", source="/d", application="other"))
    world.sweep(minutes=11)
    assert world.application("app").state.contents == {}
    record = world.record("other", "run")
    assert record
    assert (record.home, len(record.events)) == ("", 3)
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b")]


def test_what_waits_where_a_run_was_before_comes_to_its_home_with_its_end() -> None:
    world = split_run()
    events = world.receive(
        copy("10:00:06", "/d", kind="RUNNING", application="other"), copy("10:00:07", "/e", application="other")
    )
    arrivals = [row.received for row in world.application("other").unfolded.values()]
    assert world.deliver(*events, worker=world.new_worker()) == [False, True]
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b"), ("/e", "/b")]
    record = world.record("app", "run")
    assert record
    assert record.arrived == max(filter(None, arrivals))


def test_a_run_that_is_brought_to_its_home_has_arrived_when_its_last_event_did() -> None:
    world = Applications()
    world.process(copy("10:00:00", kind="START"), copy("10:00:05", application="other"))
    record = world.record("other", "run")
    acts: list[Act] = []
    world.sweep(minutes=11, telemetry=Acts(acts.append))
    record_at_home = world.record("app", "run")
    assert record
    assert record_at_home
    assert record_at_home.arrived == record.arrived
    reports = [(act.runs, act.facts["state"], act.facts["events"]) for act in acts if act.kind is RUN]
    assert reports == [((run_id("run"),), "contributed", 2)], "where it is at home"


def test_a_part_that_arrived_before_the_rest_makes_a_run_no_older() -> None:
    world = Applications()
    world.process(copy("10:00:01", "/c", kind="RUNNING", application="other"))
    world.process(copy("10:00:00", kind="START"), copy("10:00:05"))
    record = world.record("app", "run")
    world.sweep(minutes=11)
    record_with_all = world.record("app", "run")
    assert record
    assert record_with_all
    assert len(record_with_all.events) == len(record.events) + 1
    assert record_with_all.arrived == record.arrived


def test_an_end_that_comes_again_changes_only_what_lacks_it() -> None:
    world = split_run()
    world.process(copy("10:00:06", "/d", application="third"))
    world.sweep(minutes=11)
    body = copy("10:00:05", "/c", application="other")
    end = stored(decode(body), digest_of(body))
    world.storage.calls.clear()
    assert world.deliver(end, worker=world.new_worker()) == [True]
    assert world.storage.calls == {"partition": 1, "read": 1}, "its record has it"
    previous = {name: world.application(name).state.version for name in ("app", "other", "third")}
    world.receive(body)
    assert world.deliver(end, worker=world.new_worker()) == [False]
    versions = {name: world.application(name).state.version for name in ("app", "other", "third")}
    assert versions == previous | {"other": previous["other"] + 1}, "where it was received again"
    assert not world.application("other").unfolded
    assert world.edges() == [("/a", "/b"), ("/c", "/b"), ("/d", "/b")]


def test_a_closed_run_stays_at_its_home_whatever_comes_later() -> None:
    world = split_run(ClosingOptions())
    world.empty_queue()
    world.sweep(minutes=3 * 24 * 60)
    world.process(copy("09:00:00", "/d", application="other"))
    world.sweep(minutes=20)
    assert world.edges() == [("/a", "/b"), ("/c", "/b")]
    record = world.record("app", "run")
    assert record
    assert (record.home, len(record.archived), len(record.late)) == ("", 2, 1)


def test_of_a_split_run_that_is_unreadable_each_event_is_a_dead_letter() -> None:
    world = Applications()
    events = world.receive(copy("10:00:00", kind="START"), copy("10:00:05", application="other"))
    for stored_event in events:
        world.memory.delete(APPLICATIONS, stored_event.application, stored_event.row_key)
        world.memory.delete_blob(EVENTS, stored_event.blob)
        world.memory.put_new(EVENTS, stored_event.blob, b"damaged")
    world.deliver(*events)
    assert world.sweep(minutes=11).failed == 0
    assert {letter.digest for letter in dead_letters(world.memory)} == {stored_event.digest for stored_event in events}
    record = world.record("app", "run")
    assert record
    assert (record.verdict, record.reason) == (State.DEAD, "none of its events can be used")
