"""A test for each journey of a sample, or for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_parts import require_shared, shared
from robot.installations import INSTALLATIONS, OWN_ARTIFACT
from robot.journeys import journeys

# At most 60 CPU seconds on a laptop, and 120 by pull request and by tag.
_SAMPLES = {"journey": (18, INSTALLATIONS), "hosted": (10, INSTALLATIONS), "tagged": (6, (OWN_ARTIFACT,))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    source = shared("conformance", "releases")
    for name, (most, installations) in _SAMPLES.items():
        if name in metafunc.fixturenames:
            is_whole = metafunc.config.getoption("--all-journeys")
            # Without the data, the fixture `releases` says what is missing.
            ways = journeys(source, None if is_whole else most, installations) if source.exists() else [None]
            metafunc.parametrize(name, ways, ids=map(str, ways))


@pytest.fixture
def releases() -> Path:
    return require_shared("conformance", "releases")
