"""What Git and the server say to a push or a fetch, put into our own words. Pure.

Git is run with LC_ALL=C, so that its words are these; the server's own lines begin with ``remote:``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from flux_upgrade.adapters.git import remotes
from flux_upgrade.adapters.http import origins
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    RepositoryUnfit,
    UsageError,
)
from flux_upgrade.model.text import one_line

_URL = re.compile(r"https?://[^\s\"'<>]+")
_NUMBER = re.compile(r"/(?:merge_requests|pulls?)/([0-9]{1,9})/?$")
_PULL_REF = re.compile(r"refs/pull/([0-9]{1,9})/head")
_REJECTED = re.compile(r"^!\t[^\t]*\t\[(?:remote )?rejected\](?: \((.*)\))?$", re.MULTILINE)
_OVERTAKEN = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    "failed to lock",
    "force-push",  # AGit of Gitea and Forgejo: the topic's commit is not an ancestor
    "new commit is same",  # and here another run has pushed it
)
_DENIED = (
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "Permission denied",
    "Host key verification failed",
    "access denied",
    "returned error: 401",
    "returned error: 403",
    "You are not allowed",
    "read-only",
    "read only",
    "terminal prompts disabled",
)
_MISSING = ("not found", "does not exist", "does not appear to be a git repository", "returned error: 404")
_TRANSPORT = re.compile(r"transport '([^']*)' not allowed")
_NO_OPTIONS = "does not support push options"
_REDIRECTED = re.compile(r"returned error: 30[1278]|unable to update url base from redirection")


@dataclass(frozen=True)
class PushAnswer:
    number: int = 0
    url: str = ""  # of the merge request; without a number, of the page that opens one
    lines: str = ""  # the server's own lines, on one


def parsed_answer(out: str, err: str, url: str) -> PushAnswer:
    """Number and address of the merge request, from the output of ``git push --porcelain`` to ``url``.

    Only addresses on the remote's own host are believed.
    """
    lines = remote_lines(err)
    host = remotes.parse(url).host
    links = [link.rstrip(".,;:)]") for link in _URL.findall("\n".join(lines))]
    links = [link for link in links if _host(link) == host]
    for link in links:
        if found := _NUMBER.search(link):
            return PushAnswer(int(found[1]), one_line(link, 500), one_line(" / ".join(lines)))
    ref = _PULL_REF.search(out)
    number = int(ref[1]) if ref else 0
    web = remotes.web_url(url)
    link = f"{web}/pulls/{number}" if number and web else next(iter(links), "")
    return PushAnswer(number, one_line(link, 500), one_line(" / ".join(lines)))


def remote_lines(err: str) -> list[str]:
    """What the server said, without progress, frames and blanks."""
    lines = (line.removeprefix("remote:").strip() for line in err.splitlines() if line.startswith("remote:"))
    return [line for line in lines if any(c.isalnum() for c in line) and not line.endswith(("done.", "%)"))]


def refused(out: str, err: str, url: str) -> FluxUpgradeError:
    """The error for a push or fetch that failed. ``out``: of ``git push --porcelain``, else empty."""
    if reasons := [rejected[1] or "" for rejected in _REJECTED.finditer(out)]:
        # Where it is all or nothing, one ref is the cause.
        return _rejection(next((each for each in reasons if not each.startswith("atomic")), reasons[0]), err)
    if _NO_OPTIONS in err:
        return ForbiddenByForge(
            f"{remotes.masked(url)} does not accept push options, which a merge request needs",
            hint="set `forge: git` in the config file to push only the branch",
        )
    return _unreachable(err, url)


def _rejection(reason: str, err: str) -> FluxUpgradeError:
    if any(words in f"{reason}\n{err}" for words in _OVERTAKEN) and "hook declined" not in reason:
        return Overtaken(
            f"another user or run changed the branch in the meantime ({one_line(reason)})",
            hint="run flux-upgrade again (nothing was overwritten)",
        )
    reply = one_line(" / ".join(remote_lines(err)))
    return ForbiddenByForge(
        f"the server rejected the push ({one_line(reason)})" + (f": {reply}" if reply else ""),
        hint="give your user write access to this branch: check protected branches, push rules and server hooks",
    )


def _unreachable(err: str, url: str) -> FluxUpgradeError:
    where = remotes.masked(url)
    if transport := _TRANSPORT.search(err):
        return UsageError(
            f"{where} is reached by `{one_line(transport[1])}`, which is not allowed",
            hint="set the remote to its https or ssh URL, and check GIT_ALLOW_PROTOCOL and `url.*.insteadOf`",
        )
    if _REDIRECTED.search(err):
        return ForgeUnavailable(
            f"{where} redirects to another address, which is not followed with a token",
            hint="set the remote to the address that it redirects to",
        )
    if any(words in err for words in _DENIED):
        return ForbiddenByForge(
            f"{where} denies access: {_error_line(err, url, _DENIED)}",
            hint="check that the token or key is valid and can write to this repository",
        )
    if any(words in err for words in _MISSING):
        return RepositoryUnfit(
            f"{where} does not exist, or your token or key cannot read it: {_error_line(err, url, _MISSING)}",
            hint="check the remote's URL and the permissions of the token or key",
        )
    return ForgeUnavailable(
        f"{where} failed: {_error_line(err, url, ())}",
        hint="check the network and the proxy, then run flux-upgrade again",
    )


def _error_line(err: str, url: str, words: tuple[str, ...]) -> str:
    """The line with one of ``words``, or the first that is an error's; the address in it masked."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "ssh:"))]
    wanted = [line for line in lines if any(word in line for word in words)]
    line = next(iter(wanted or errors or lines), "git failed without a message")
    plain = line.replace(url, remotes.masked(url)).removeprefix("fatal: ").removeprefix("remote: ")
    return one_line(re.sub(r"//[^/\s@]*@", "//", plain))


def _host(link: str) -> str:
    try:
        # A browser may read such an address in another way.
        return "" if origins.odd_authority(link) else urlsplit(link).hostname or ""
    except ValueError:
        return ""
