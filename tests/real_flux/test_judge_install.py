"""`flux install --export` of the real CLI and `flux-upgrade render`: the same bytes, or both refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bootstrap.cli_runs import Done, Laptop
from error_names import error_names
from real_flux import differences
from real_flux.flag_sets import all_sets, ordinary
from real_flux.programs import FLUX, IS_OLDEST, OLDER, run_flux
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

COMMAND = "flux install --export"


def differing(version: str, sets: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The first flag that one of the two refuses; raises AssertionError for other bytes."""
    laptop = Laptop(require_shared("conformance", "releases"))
    exports = partial(run_flux, "install", "--export", f"--version={version}", version=version)
    with ThreadPoolExecutor() as threads:  # each waits for a process
        for flags, theirs in zip(sets, threads.map(lambda flags: exports(*flags), sets), strict=True):
            ours = laptop.run("render", f"--version={version}", f"--release-source={laptop.source}", *flags)
            assert (ours.code, error_names(ours.err)) in ((0, set()), (2, {"usage"})), (flags, ours.err)
            if theirs.returncode == 0 and ours.code == 0:
                assert ours.out.encode() == theirs.stdout, flags
            elif (theirs.returncode == 0) != (ours.code == 0):
                yield f"`{_refused(ours)}`" if ours.code else f"only Flux refuses {flags}"


def _refused(ours: Done) -> str:
    flag = re.search(r"--[a-z-]+|component(?= )", ours.err)
    assert flag is not None, ours.err
    return "--components" if flag[0] == "component" else flag[0]


def test_each_flag_set_prints_the_same_bytes_or_is_refused_by_both(*, update_golden: bool) -> None:
    sets = list(all_sets())
    found = list(differing(FLUX, sets))
    differences.assert_known(COMMAND, len(sets), found, update=update_golden)


@pytest.mark.parametrize("version", OLDER)
def test_an_older_release_prints_the_same_bytes(version: str) -> None:
    """What people write. The CLI of 2.0 does not know all controllers and flags of today, as its release."""
    sets = list(ordinary())
    if IS_OLDEST:
        sets = [flags for flags in sets if not any("source-watcher" in each for each in flags)]
    assert not list(differing(version, sets))
