"""How many examples Hypothesis tries, here for all tests: `dev` by default, `ci` where the variable CI is set.

`--hypothesis-profile=nightly` chooses another one. `ci` tries the same examples each time, so that a pull request
fails for what it changes; the others try new ones. Nothing depends on the speed of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

_EXAMPLES = {"dev": 25, "ci": 100, "nightly": 400}


def register() -> None:
    """Register the profiles, and load the default. Call it before `--hypothesis-profile` is looked at."""
    for name, count in _EXAMPLES.items():
        settings.register_profile(
            name,
            max_examples=count,
            deadline=None,
            derandomize=name == "ci",
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("ci" if os.environ.get("CI") else "dev")  # noqa: TID251  (a switch of the tests)


def many_examples(test: Callable[..., Any]) -> Callable[..., Any]:
    """Four times the examples, each of which takes microseconds: on few addresses do two parsers disagree."""
    return settings(max_examples=4 * settings().max_examples)(test)
