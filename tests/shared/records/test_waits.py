"""When calls may still take effect: who waits, and what is written once more."""

from datetime import UTC, datetime, timedelta

from shared.records.waits import LONGEST_WAIT, NEVER, NOTHING_BEGUN

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LONG, SHORT, CALL = timedelta(minutes=18), timedelta(minutes=1), timedelta(minutes=2)


def test_nothing_is_waited_for_at_first() -> None:
    assert not NOTHING_BEGUN.is_open(NOW)
    assert NOTHING_BEGUN.repetition is None


def test_others_wait_for_a_write_but_not_as_long_as_it_may_take() -> None:
    open_landing = NOTHING_BEGUN.begun(NOW, LONG)
    assert open_landing.is_open(NOW + LONGEST_WAIT - SHORT)
    assert not open_landing.is_open(NOW + LONGEST_WAIT)
    short = NOTHING_BEGUN.begun(NOW, SHORT)
    assert not short.is_open(NOW + SHORT)


def test_a_write_after_an_interrupted_one_is_repeated_once_when_that_is_over() -> None:
    later_moment = NOW + LONGEST_WAIT
    written_landing = NOTHING_BEGUN.begun(NOW, LONG).begun(later_moment, LONG).answered()
    assert written_landing.repetition == NOW + LONG
    assert not written_landing.must_repeat(later_moment)
    end_moment = NOW + LONG
    assert written_landing.must_repeat(end_moment)
    repeated = written_landing.begun(end_moment, LONG).answered()
    assert repeated == NOTHING_BEGUN


def test_an_answered_write_is_over() -> None:
    assert NOTHING_BEGUN.begun(NOW, LONG).answered() == NOTHING_BEGUN


def test_a_lost_try_makes_only_other_writes_within_its_time_be_repeated() -> None:
    late = NOW + CALL
    written_landing = NOTHING_BEGUN.begun(NOW, LONG).answered(late)
    assert not written_landing.is_open(NOW)
    assert written_landing.repetition is None
    assert written_landing.begun(NOW + SHORT, LONG).answered().repetition == late
    assert written_landing.begun(late, LONG).answered() == NOTHING_BEGUN


def test_a_call_without_an_answer_is_waited_for() -> None:
    open_landing = NOTHING_BEGUN.begun(NOW, LONG).unanswered(NOW + SHORT, CALL)
    assert open_landing.is_open(NOW + SHORT + CALL - timedelta(seconds=1))
    assert open_landing.lands == open_landing.until == NOW + SHORT + CALL
    assert open_landing.begun(NOW + SHORT + CALL, LONG).again == NEVER, "it is over: nothing is repeated"
