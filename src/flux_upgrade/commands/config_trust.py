"""Whether a config file is one that maintainers merged, and not that of a pull request, in any CI.

What the CI says of its event decides nothing: there are too many CIs, and too many ways to check out a pull request.
The commit that is checked out decides. It has to be on the default branch of the server, as the checkout has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from flux_upgrade.adapters.git.checkout import Checkout, find, head_of, remote_branch, remote_default
from flux_upgrade.adapters.git.remotes import repository_of
from flux_upgrade.adapters.local.files import read_if_readable
from flux_upgrade.commands.wiring import build_checkout
from flux_upgrade.config.environment import Ci, Environment
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.text import enumeration, one_line

_MAX_PAYLOAD = 32 << 20  # Bytes; GitHub sends at most 25 MB


def doubt(environment: Environment, path: str, text: str) -> str:
    """Why the config file ``path`` with the content ``text`` may be that of a pull request; empty: it is trusted.

    What cannot be told is a doubt.
    """
    if environment.ci is None or environment.trusts_config:
        return ""
    try:
        return next(_doubts(environment, environment.ci, path, text), "")
    except UsageError as error:  # there is no Git
        return error.message


def _doubts(environment: Environment, ci: Ci, path: str, text: str) -> Iterator[str]:
    place = find(path)
    head = head_of(place.root) if place.is_checkout else ""
    if not head:
        yield "it is in no checkout of a commit"
    checkout = build_checkout(environment, place.root)
    if checkout.refusal:
        yield checkout.refusal.partition(": ")[0]
    wanted, origin = environment.repository or ci.repository, next(iter(checkout.urls), "")
    if wanted and _name_of(origin) != _name_of(wanted):
        yield f"the checkout is not one of {one_line(_name_of(wanted))}"
    branches = _branches(environment, ci, place.root)
    if not branches:
        yield "the checkout does not show which branch is the default one"
    if not any(_is_on(checkout, head, remote_branch(place.root, branch)) for branch in branches):
        names = enumeration([one_line(branch) for branch in branches], "or")
        yield f"the checkout does not show that its commit is on {names}"
    committed = checkout.output("rev-parse", "--verify", "--quiet", f"HEAD:{place.prefix}")
    content = text.encode("utf-8", "surrogateescape")
    # Git may have written its line ends in another form.
    if committed not in {blob_id(each, committed) for each in (content, content.replace(b"\r\n", b"\n"))}:
        yield "it differs from the file in the commit"


def _branches(environment: Environment, ci: Ci, root: str) -> list[str]:
    """The default branch, and those that a flag or a variable names."""
    default = ci.default_branch or _of_payload(ci.event_path) or ci.scheduled_branch or remote_default(root)
    return list(dict.fromkeys(filter(None, (*environment.trusted_branches, default))))


def _of_payload(path: str) -> str:
    """The default branch in the payload of an event; empty if it has none, as that of a schedule may."""
    if not path:
        return ""
    try:
        payload = json.loads(read_if_readable(path, _MAX_PAYLOAD) or b"{}")
    except ValueError:
        return ""
    match payload:
        case {"repository": {"default_branch": str(branch)}}:
            return branch
    return ""


def _is_on(checkout: Checkout, head: str, branch_head: str) -> bool:
    """Whether ``head`` is ``branch_head`` or below it. A shallow history knows only some of what is."""
    if not branch_head or head == branch_head:
        return bool(branch_head)
    return checkout.run("merge-base", "--is-ancestor", head, branch_head).status == 0


def _name_of(repository: str) -> str:
    try:
        return repository_of(repository).removesuffix(".git").lower()
    except UsageError:
        return ""
