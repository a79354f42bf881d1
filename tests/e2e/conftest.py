from __future__ import annotations

import os

import pytest

from e2e import image
from real_parts import missing


@pytest.fixture(scope="session")
def action_image() -> image.Image:
    """The image of the action, built from the working tree."""
    if lacking := image.missing_programs():
        missing(f"there is no {' and no '.join(lacking)} on PATH")
    if os.geteuid() != 0:
        missing("images are built by root")
    return image.build()
