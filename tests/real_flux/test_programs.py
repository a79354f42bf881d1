"""The controllers that are built are those of the release."""

from __future__ import annotations

import io
import re
import tarfile

import pytest

from real_flux.programs import CONTROLLERS, FLUX
from real_parts import require_shared


@pytest.mark.real_part("shared data")
def test_the_table_has_the_versions_that_the_release_names() -> None:
    archive = require_shared("conformance", "releases", FLUX, "manifests.tar.gz").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        texts = [found.read().decode() for each in files if (found := files.extractfile(each)) is not None]
    named = dict(re.findall(r"image: fluxcd/([a-z-]+):(v[0-9.]+)", "".join(texts)))
    assert {name: named[name] for name in CONTROLLERS} == CONTROLLERS
