"""A range allows the versions that Masterminds/semver allows, and anything else is one clear error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.semver_range import Constraint

LISTED = (
    "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 2.0.0-rc.1 2.0.0 2.5.1 2.6.0 2.6.4 2.7.0-rc.2 2.7.0 2.7.5 2.8.0-rc.1 "
    "2.8.0 2.8.3 2.8.8 2.9.0-rc.1 2.9.0 2.9.4 2.10.0 3.0.0-rc.1 3.0.0 3.1.0"
)
VERSIONS = LISTED.split()

TWO = "2.0.0 2.5.1 2.6.0 2.6.4 2.7.0 2.7.5 2.8.0 2.8.3 2.8.8 2.9.0 2.9.4 2.10.0"
STABLE = f"0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 {TWO} 3.0.0 3.1.0"
EIGHT = "2.8.0 2.8.3 2.8.8"
SIX_TO_EIGHT = f"2.6.0 2.6.4 2.7.0 2.7.5 {EIGHT}"
FROM_SIX = f"{SIX_TO_EIGHT} 2.9.0 2.9.4 2.10.0"

# A range → which of VERSIONS it allows: what Masterminds/semver v3.5.0 said of each pair.
TABLE = {
    # a part of a version
    "*": STABLE,
    "x": STABLE,
    "X": STABLE,
    "2": TWO,
    "v2": TWO,
    "2.x": TWO,
    "2.X": TWO,
    "2.*": TWO,
    "2.x.x": TWO,
    "2.8": EIGHT,
    "2.8.x": EIGHT,
    "v2.8.*": EIGHT,
    "2.8.3": "2.8.3",
    "v2.8.3": "2.8.3",
    "=2.8.3": "2.8.3",
    "= 2.8": EIGHT,
    # patches
    "~2": TWO,
    "~2.8": EIGHT,
    "~2.8.x": EIGHT,
    "~2.8.3": "2.8.3 2.8.8",
    "~v2.8.3": "2.8.3 2.8.8",
    "~>2.8": EIGHT,
    "~> 2.8.3": "2.8.3 2.8.8",
    "~0.3": "0.3.0 0.3.9",
    "~*": STABLE,
    # the same major; below 1 the same minor
    "^2": TWO,
    "^2.x": TWO,
    "^2.8": f"{EIGHT} 2.9.0 2.9.4 2.10.0",
    "^2.8.3": "2.8.3 2.8.8 2.9.0 2.9.4 2.10.0",
    "^0.3": "0.3.0 0.3.9",
    "^0.3.9": "0.3.9",
    "^0": "0.2.9 0.3.0 0.3.9 0.41.2",
    "^0.0": "",
    "^0.0.3": "",
    # comparisons
    ">2.8.3": "2.8.8 2.9.0 2.9.4 2.10.0 3.0.0 3.1.0",
    ">2.8": "2.9.0 2.9.4 2.10.0 3.0.0 3.1.0",
    ">2": "3.0.0 3.1.0",
    ">=2.9": "2.9.0 2.9.4 2.10.0 3.0.0 3.1.0",
    "=>2.10": "2.10.0 3.0.0 3.1.0",
    ">=*": STABLE,
    "<2": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0",
    "<0.3.9": "0.2.9 0.3.0",
    "<=2.0": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 2.0.0",
    "<=2.0.x": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 2.0.0",
    "<=2.5.0": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 2.0.0",
    "=<1": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0",
    "!=2.7.0": STABLE.replace(" 2.7.0", ""),
    "!=2.7.x": STABLE.replace(" 2.7.0 2.7.5", ""),
    "!=2": "0.2.9 0.3.0 0.3.9 0.41.2 1.0.0 3.0.0 3.1.0",
    # and
    ">=2.6 <2.9": SIX_TO_EIGHT,
    ">=2.6, <2.9": SIX_TO_EIGHT,
    ">=2.6,<2.9": SIX_TO_EIGHT,
    " >= 2.6 , < 2.9 ": SIX_TO_EIGHT,
    ">=2.6 <3": FROM_SIX,
    "2.x !=2.7.0": TWO.replace(" 2.7.0", ""),
    "2.x, !=2.7.x, <2.10": TWO.replace(" 2.7.0 2.7.5", "").replace(" 2.10.0", ""),
    ">=2.9 <2.8": "",
    "2.8 2.9": "",
    # or
    "2.6.x || 2.8.x": f"2.6.0 2.6.4 {EIGHT}",
    "2.6.x||~2.8.3": "2.6.0 2.6.4 2.8.3 2.8.8",
    "<1 || >=2.9 <3 || 3.1.0": "0.2.9 0.3.0 0.3.9 0.41.2 2.9.0 2.9.4 2.10.0 3.1.0",
    # from - to
    "2.6 - 2.8": SIX_TO_EIGHT,
    "v2.6.4 - v2.8.3": "2.6.4 2.7.0 2.7.5 2.8.0 2.8.3",
    "2 - 2": TWO,
    "2.6 - 2.8 !=2.7.0": SIX_TO_EIGHT.replace(" 2.7.0", ""),
    "2.6 - 2.6.x || 2.9 - 3": "2.6.0 2.6.4 2.9.0 2.9.4 2.10.0 3.0.0 3.1.0",
    # prereleases, only where a comparison of the same group has one
    ">=2.8.0-0": f"2.8.0-rc.1 {EIGHT} 2.9.0-rc.1 2.9.0 2.9.4 2.10.0 3.0.0-rc.1 3.0.0 3.1.0",
    ">2.8.0-rc.1 <2.9": f"{EIGHT} 2.9.0-rc.1",
    "~2.8.0-0": f"2.8.0-rc.1 {EIGHT}",
    "~2.8-0": f"2.8.0-rc.1 {EIGHT}",
    "2.x-0": "2.0.0-rc.1 2.0.0 2.5.1 2.6.0 2.6.4 2.7.0-rc.2 2.7.0 2.7.5 2.8.0-rc.1 "
    f"{EIGHT} 2.9.0-rc.1 2.9.0 2.9.4 2.10.0",
    "^2.9.0-rc.1": "2.9.0-rc.1 2.9.0 2.9.4 2.10.0",
    "2.9.0-rc.1": "2.9.0-rc.1",
    "2.6.x || >=3.0.0-0": "2.6.0 2.6.4 3.0.0-rc.1 3.0.0 3.1.0",
    ">=2.8.0-alpha <2.8.0-rc.1": "",
    # build metadata has no precedence
    "2.8.3+build.5": "2.8.3",
}

BAD = {
    "": "the range is empty",
    "  ": "the range is empty",
    "latest": "range 'latest': 'latest' is not a version",
    "2.8.3.1": "range '2.8.3.1': '2.8.3.1' is not a version",
    "2.x.3": "range '2.x.3': '2.x.3' is not a version",
    "2.08": "range '2.08': '2.08' is not a version",
    "2|3": "range '2|3': '2|3' is not a version",
    ">=2.6<2.9": "range '>=2.6<2.9': '2.6<2.9' is not a version",
    ">=": "range '>=': '>=' is not a version",
    "2.x -": "range '2.x -': '-' is not a version",
    "~2.6 - 2.8": "range '~2.6 - 2.8': '-' is not a version",
    "==2.8": "range '==2.8': '==' is not an operator",
    "~=2.8": "range '~=2.8': '~=' is not an operator",
    "2.x ||": "range '2.x ||': one side of || is empty",
    "|| 2.x": "range '|| 2.x': one side of || is empty",
    ">=2.6,": "range '>=2.6,': one side of a comma is empty",
    ">=2.6,,<2.9": "range '>=2.6,,<2.9': one side of a comma is empty",
    "^*": "range '^*': '^*' compares with a wildcard",
    "!=x": "range '!=x': '!=x' compares with a wildcard",
    "2.8.0-": "range '2.8.0-': '2.8.0-' is not a version",
    "2.8.0-01": "range '2.8.0-01': '2.8.0-01' is not a version",
    "2.\N{SUPERSCRIPT TWO}": "range '2.\N{SUPERSCRIPT TWO}': '2.\N{SUPERSCRIPT TWO}' is not a version",
    "9" * 600: "the range is longer than 512 characters",
    "2.x\x1b[31m": "range '2.x\\x1b[31m': '2.x\\x1b[31m' is not a version",
}


def version(text: str) -> Version:
    found = Version.parse(f"v{text}")
    assert found is not None
    return found


@pytest.mark.parametrize("text", TABLE)
def test_a_range_allows_what_masterminds_allows(text: str) -> None:
    constraint = Constraint(text)
    assert [each for each in VERSIONS if constraint.allows(version(each))] == TABLE[text].split()


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_range_is_one_clear_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Constraint(text)
    assert caught.value.message == BAD[text]
    assert "~2.8" in caught.value.hint


@given(st.text(alphabet="0129xX*v.,|-+<>=!~^ rc\n", max_size=40))
def test_any_text_is_a_range_or_a_usage_error(text: str) -> None:
    try:
        constraint = Constraint(text)
    except UsageError:
        return
    for each in VERSIONS:
        constraint.allows(version(each))


@given(st.sampled_from(sorted(TABLE)), st.sampled_from(sorted(TABLE)), st.sampled_from(VERSIONS))
def test_or_joins_two_ranges(one: str, other: str, text: str) -> None:
    each = version(text)
    assert Constraint(f"{one} || {other}").allows(each) == (
        Constraint(one).allows(each) or Constraint(other).allows(each)
    )


def test_ranges_are_equal_by_their_text() -> None:
    assert Constraint("2.x") == Constraint("2.x")
    assert len({Constraint("2.x"), Constraint("2.x"), Constraint("2")}) == 2
    assert f"{Constraint('2.x')} {Constraint('2.x')!r}" == "2.x Constraint('2.x')"
