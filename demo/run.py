"""``make demo``: from a schedule to a merged pull request, and from nothing to the first upgrade; offline.

    python demo/run.py [FOLDER]

Small repositories are on a stand-in for GitHub. The Action runs there as a runner would run it,
and people do what people do. Pull requests, job summaries, logs and reports are kept in FOLDER
(``build/demo``). The releases were written for this (``written_release``), and a day passes in
a moment; the program, Git, every call over HTTP and every line of the output are real. A step
that ends otherwise than it should is a Surprise, and ends the demo with exit code 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import fleet
from acts import Demo
from bootstrap_act import BootstrapDemo
from content_act import ContentDemo
from github_stand_in import Clock, StandIn
from stage import ROOT, Surprise, say, title

DEFAULT_FOLDER = ROOT / "build" / "demo"


def emptied(arguments: Sequence[str]) -> Path:
    """The folder for what is kept: the one that was asked for, if it is empty, else our own, anew."""
    if not arguments:
        shutil.rmtree(DEFAULT_FOLDER, ignore_errors=True)
    folder = Path(arguments[0]).resolve() if arguments else DEFAULT_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Surprise(f"{folder} is not empty")
    return folder


def main() -> int:
    """Perform, with the stand-in and a clone in a temporary folder."""
    say("The releases were written for this demo: the shape of Flux's, in small. GitHub is a stand-in.")
    try:
        folder = emptied(sys.argv[1:])
        with (
            tempfile.TemporaryDirectory(prefix="flux-upgrade-demo-") as work,
            StandIn(Path(work, "hub"), Clock(fleet.BEGINNING)) as hub,
        ):
            Demo(hub, Path(work), folder).perform()
        with (
            tempfile.TemporaryDirectory(prefix="flux-upgrade-demo-") as work,
            StandIn(Path(work, "hub"), Clock(fleet.BEGINNING)) as hub,
        ):
            ContentDemo(hub, Path(work), folder).perform()
        with (
            tempfile.TemporaryDirectory(prefix="flux-upgrade-demo-") as work,
            StandIn(Path(work, "hub"), Clock(fleet.BEGINNING)) as hub,
        ):
            BootstrapDemo(hub, folder).perform()
    except Surprise as surprise:
        sys.stderr.write(f"demo: {surprise}\n")
        return 1
    title("That was the demo")
    say(f"To look at, in {folder}:")
    for each in sorted(folder.iterdir()):
        say(f"  {each.name}/  {', '.join(sorted(file.name for file in each.iterdir()))}")
    say("\nIn your own repository begin with: flux-upgrade plan")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
