"""What is unknown has a reason, and is never taken for what is empty."""

from __future__ import annotations

from flux_upgrade.model.unknown import Unknown, known_or


def test_the_default_takes_the_place_of_what_is_unknown_alone() -> None:
    assert known_or(Unknown("the checkout is shallow"), ()) == ()
    assert known_or((1,), ()) == (1,)
    assert known_or((), (1,)) == ()
    assert known_or(None, 1) is None


def test_it_is_printed_as_its_reason() -> None:
    unknown = Unknown("the checkout is shallow")
    assert f"{unknown}" == unknown.reason
