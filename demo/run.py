"""``make demo``: from a schedule to a merged pull request, and from nothing to the first upgrade; offline.

    python demo/run.py [--full] [FOLDER]

Small repositories are on a stand-in for GitHub. The Action runs there as a runner would run it,
and people do what people do. Pull requests, job summaries, logs and reports are kept in FOLDER
(``build/demo``), and ``index.html`` shows them. The releases were written for this
(``written_release``), and a day passes in a moment; the program, Git, every call over HTTP and every
line of the output are real. A step that ends otherwise than it should is a Surprise, and ends the
demo with exit code 1. ``--full`` prints all of it, and adds the acts in clones.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))  # How GitHub shows a page is there.

import fleet  # noqa: E402 the path is set above
from acts import Demo  # noqa: E402
from album import Album  # noqa: E402
from bootstrap_act import BootstrapDemo  # noqa: E402
from clones_act import ClonesDemo  # noqa: E402
from content_act import ContentDemo  # noqa: E402
from github_stand_in import Clock, StandIn  # noqa: E402
from rings_act import RingsDemo  # noqa: E402
from stage import Stage, Surprise  # noqa: E402
from telling import Brief, Teller, Whole  # noqa: E402

DEFAULT_FOLDER = ROOT / "build" / "demo"
BRIEF = (Demo, ContentDemo, BootstrapDemo, RingsDemo)
FULL = (Demo, ClonesDemo, ContentDemo, BootstrapDemo, RingsDemo)


def emptied(given: Path | None) -> Path:
    """The folder for what is kept: the one that was asked for, if it is empty, else our own, anew."""
    if given is None:
        shutil.rmtree(DEFAULT_FOLDER, ignore_errors=True)
    folder = given.resolve() if given else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Surprise(f"{folder} is not empty")
    return folder


def perform(
    parts: Sequence[type[Demo | ClonesDemo | ContentDemo | BootstrapDemo | RingsDemo]], folder: Path, tell: Teller
) -> None:
    """Each part on a stage of its own, in a temporary folder."""
    for part in parts:
        with ExitStack() as stack:
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flux-upgrade-demo-")))
            hub = stack.enter_context(StandIn(work / "hub", Clock(fleet.BEGINNING)))
            part(Stage(hub, work, folder, tell)).perform()
    tell.end(folder)


def main() -> int:
    """Tell the demo in one of its two ways."""
    parser = argparse.ArgumentParser(description="Show upgrades and a bootstrap by pull request, offline.")
    parser.add_argument("folder", type=Path, nargs="?", help="an empty directory for what is kept (build/demo)")
    parser.add_argument("--full", action="store_true", help="print all texts, and add the acts in clones")
    options = parser.parse_args()
    try:
        folder = emptied(options.folder)
        perform(FULL if options.full else BRIEF, folder, Album(Whole() if options.full else Brief()))
    except Surprise as surprise:
        sys.stderr.write(f"demo: {surprise}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
