"""The objects of a checkout that another user owns, in a repository whose configuration is ours.

Git runs programs that a configuration names: helpers, filters, monitors. Of theirs, nothing is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from flux_upgrade.adapters.local.files import MAX_FILE, read_if_readable

_OIDS = re.compile(rb"^[0-9a-f]{40,64}$", re.MULTILINE)
_SHA256_DIGITS = 64
_CONFIG = "[core]\nrepositoryFormatVersion = 1\nbare = true\n"
_SHA256 = "[extensions]\nobjectFormat = sha256\n"
_PARTIAL = '[remote "borrowed"]\npromisor = true\n'
_NO_BRANCH = "refs/heads/none"


@contextmanager
def borrowed(shared: str, branch: str, oid: str) -> Iterator[str]:
    """A bare repository, for one call of Git, whose HEAD is ``branch`` (empty: none) at ``oid`` (empty: nothing yet).

    ``shared``: the folder with the objects, of which some may be missing, as it says.
    """
    from tempfile import TemporaryDirectory  # late: a run seldom reads what another user owns

    objects = os.path.join(shared, "objects")
    edge = read_if_readable(os.path.join(shared, "shallow"), MAX_FILE)
    packs: list[str] = []
    with suppress(OSError):
        packs = os.listdir(os.path.join(objects, "pack"))
    is_partial = any(name.endswith(".promisor") for name in packs)
    files = {
        "config": _CONFIG + _SHA256 * (len(oid) == _SHA256_DIGITS) + _PARTIAL * is_partial,
        "HEAD": oid if oid and not branch else f"ref: {branch or _NO_BRANCH}",
        "packed-refs": f"{oid} {branch}" if oid and branch else "",
        "shallow": "\n".join(each.decode() for each in _OIDS.findall(edge)),
    }
    with TemporaryDirectory(prefix="flux-upgrade-") as folder:
        os.mkdir(os.path.join(folder, "refs"))
        os.symlink(os.path.realpath(objects), os.path.join(folder, "objects"))
        for name, text in files.items():
            if text:
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(f"{text}\n")
        yield folder
