"""A stand-in for GitHub on loopback: stateful, over real Git repositories, with faults on demand.

    with StandIn(folder) as hub:
        fleet = hub.create_repository("acme/fleet", {"clusters/a.yaml": b"..."})
        token = hub.token("actions", {"contents": "write", "pull-requests": "write"})
        ...                                    # a program talks to hub.api_url with token.value
        assert [call.path for call in hub.writes] == ["/repos/acme/fleet/git/refs"]
        fleet.people.merge(1, "squash")        # what people do
        hub.clock.advance(days=1)
        hub.fail(FAULTS["502"].after_the_work(), to("POST", "/pulls"))

- ``hub.url`` is the browser's address, ``hub.api_url`` and ``hub.graphql_url`` are those of GitHub
  Enterprise Server; ``hub.url`` itself serves the API too, as api.github.com does.
- A repository's ``git`` is the folder of its bare Git repository, ``settings`` what its owner set,
  ``pulls``, ``issues``, ``statuses`` what there is, ``people`` what people do to it.
- ``hub.calls`` is the log, ``hub.reads`` and ``hub.writes`` parts of it; ``hub.before_call`` is called
  with each call's number and the request, before anything is done, outside of any lock; ``hub.after_call``
  with each line of the log (Git's, too), once all is done and nothing is answered yet.
- ``hub.organizations`` and ``hub.people`` are the accounts; ``hub.host_keys`` what ``/meta`` tells;
  a repository's ``deploy_keys``, ``team_permissions``, ``actions.secrets`` and ``environments`` what
  it was given, ``add_environment`` makes one of these.
- ``rules.RULES`` and ``rules_hosting.RULES`` list what no schema tells, each with its source.

GraphQL needs graphql-core, secrets PyNaCl; all else the standard library and ``git``.
"""

from __future__ import annotations

from github_stand_in.exchange import Call, Fault, Request, Response
from github_stand_in.faults import FAULTS, HEAVY, to
from github_stand_in.hub import StandIn
from github_stand_in.model import Clock, Rule, Settings, Token
from github_stand_in.repository import Repository

__all__ = [
    "FAULTS",
    "HEAVY",
    "Call",
    "Clock",
    "Fault",
    "Repository",
    "Request",
    "Response",
    "Rule",
    "Settings",
    "StandIn",
    "Token",
    "to",
]
