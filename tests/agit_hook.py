"""A ``proc-receive`` hook that does what Gitea and Forgejo do with ``refs/for/<base>``.

The topic's pull request is made, or moved; ``refs/topics`` holds its number as long as it is
open, and ``agit.txt`` the options of each push. The protocol is that of githooks(5).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def packets() -> Iterator[str]:
    """The lines up to the next flush."""
    while (size := int(sys.stdin.buffer.read(4), 16)) > 4:
        yield sys.stdin.buffer.read(size - 4).decode().rstrip("\n")


def say(*lines: str) -> None:
    for line in lines:
        payload = line.encode()
        sys.stdout.buffer.write(b"%04x" % (len(payload) + 4) + payload)


def flush() -> None:
    sys.stdout.buffer.write(b"0000")
    sys.stdout.buffer.flush()


def git(*words: str, stdin: str = "") -> str:
    command = ["git", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)  # noqa: S603  (ours)
    return done.stdout.strip()


def receive(new: str, ref: str, options: dict[str, str]) -> None:
    kept = "refs/topics/" + options["topic"].replace("/", "-")
    number = git("cat-file", "blob", kept)
    known = git("rev-parse", f"refs/pull/{number}/head") if number else ""
    if known == new:
        say(f"ng {ref} new commit is same with old commit\n")
        return
    if known and options.get("force-push") != "true" and git("rev-list", "--max-count=1", known, f"^{new}"):
        say(f"ng {ref} request `force-push` push option\n")
        return
    if not number:
        number = str(len(git("for-each-ref", "refs/pull").splitlines()) + 1)
        git("update-ref", kept, git("hash-object", "-w", "--stdin", stdin=number))
    pull = f"refs/pull/{number}/head"
    git("update-ref", pull, new)
    old = known or "0" * len(new)
    say(f"ok {ref}\n", f"option refname {pull}\n", f"option old-oid {old}\n", f"option new-oid {new}\n")
    say("option forced-update\n")


def main() -> None:
    list(packets())
    say("version=1\0push-options")
    flush()
    commands = [line.split() for line in packets()]
    options = dict(line.partition("=")[::2] for line in packets())
    with Path("agit.txt").open("a") as file:
        file.write(f"{options}\n")
    for _, new, ref in commands:
        receive(new, ref, options)
    flush()


if __name__ == "__main__":
    main()
