"""A kubeconfig leads to a cluster as with kubectl, and what is wrong with either is one clear error."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster_stand_in.server import TOKEN, ApiServer, write_kubeconfig

import flux_upgrade
from adapters.loopback import Answer, Loopback, closed_port
from cluster.api_servers import Server
from cluster.driving import PRIVATE, TIMING, Driven, desired
from flux_upgrade.adapters.kubernetes.connect import connect
from flux_upgrade.bootstrap.cluster.install import bootstrap_cluster
from flux_upgrade.model.errors import ClusterUnavailable, FluxUpgradeError, UsageError
from flux_upgrade.model.kubernetes_objects import CRD, DEPLOYMENT, Kind, ObjectReference
from flux_upgrade.model.timing import Timing

NAMESPACE = ObjectReference(Kind("", "Namespace"), "", "flux-system")


def changed(path: Path, **more: Any) -> Path:
    """A kubeconfig with other values at its top."""
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **more}))
    return path


def version(kubeconfig: Path | str, context: str = "") -> str:
    cluster = connect(str(kubeconfig), context, TIMING)
    try:
        return cluster.version()
    finally:
        cluster.close()


def test_both_servers_tell_what_they_are(driven: Driven) -> None:
    cluster = driven.connect()
    assert cluster.name in ("stand-in", "real")
    assert cluster.version().startswith("v1.")
    assert cluster.get(ObjectReference(CRD, "", "missing.example.com")) is None
    assert cluster.get(ObjectReference(Kind("example.com", "Widget"), "a", "b")) is None
    assert cluster.list(Kind("example.com", "Widget")) == ()
    assert cluster.list(DEPLOYMENT, "nowhere") == ()
    assert list(cluster.changes(ObjectReference(Kind("example.com", "Widget"), "a", "b"), "0", 1.0)) == []
    cluster.close()


def test_a_watch_reports_a_deletion(driven: Driven) -> None:
    cluster = driven.connect()
    account = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default"},
        "data": {"a": "b"},
    }
    if driven.server.stand_in is not None:
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}, "test")
    made = cluster.apply(account, "test")
    assert made is not None
    changes = cluster.changes(
        ObjectReference(Kind("", "ConfigMap"), "default", "x"), made["metadata"]["resourceVersion"], 10.0
    )
    cluster.apply({**account, "data": {"c": "d"}}, "test")
    first = next(changes)
    assert first is not None
    assert first["data"] == {"c": "d"}, "what a manager no longer wants goes"
    driven.api.ask("DELETE", "api/v1/namespaces/default/configmaps/x")
    assert next(changes) is None
    cluster.close()


def test_changes_are_watched_not_polled(stand_in: Driven) -> None:
    def never(seconds: float) -> None:
        raise AssertionError(f"slept for {seconds} s")

    cluster = stand_in.connect()
    run = stand_in.run()
    bootstrap_cluster(cluster, desired(), run._replace(timing=Timing(time.time, never, run.timing.jitter)))
    cluster.close()


def test_many_objects_are_listed_in_pages(tmp_path: Path) -> None:
    pages = {
        "/api/v1": Answer(b'{"resources": [{"name": "pods", "kind": "Pod", "namespaced": true}]}'),
        "/api/v1/namespaces/a/pods?limit=500": Answer(b'{"metadata": {"continue": "x="}, "items": [{"a": 1}]}'),
        "/api/v1/namespaces/a/pods?limit=500&continue=x%3D": Answer(b'{"metadata": {}, "items": [{"a": 2}]}'),
    }
    with Loopback(pages) as server:
        cluster = connect(str(write_kubeconfig(tmp_path / "c", server.url)), "", TIMING)
        assert cluster.list(Kind("", "Pod"), "a") == ({"a": 1}, {"a": 2})
        cluster.close()


def test_a_kind_that_only_another_version_of_its_group_has(tmp_path: Path) -> None:
    """OCIRepository was v1beta2 when GitRepository was v1 already."""
    group = {
        "preferredVersion": {"groupVersion": "s.io/v1"},
        "versions": [{"groupVersion": "s.io/v1"}, {"groupVersion": "s.io/v1beta2"}],
    }

    def kinds(plural: str, kind: str) -> Answer:
        return Answer(json.dumps({"resources": [{"name": plural, "kind": kind, "namespaced": True}]}).encode())

    routes = {
        "/apis/s.io": Answer(json.dumps(group).encode()),
        "/apis/s.io/v1": kinds("gits", "Git"),
        "/apis/s.io/v1beta2": kinds("ocis", "Oci"),
        "/apis/s.io/v1beta2/namespaces/a/ocis/b": Answer(b'{"found": true}'),
    }
    with Loopback(routes) as server:
        cluster = connect(str(write_kubeconfig(tmp_path / "c", server.url)), "", TIMING)
        assert cluster.get(ObjectReference(Kind("s.io", "Oci"), "a", "b")) == {"found": True}
        cluster.close()


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        (None, "", "no kubeconfig found"),
        ("", "", "is empty or not a kubeconfig"),
        ("token: 'private-9d\nx: [", "", "is not valid YAML"),
        ("contexts: [{name: a}]\n", "", "has no current context"),
        ("current-context: a\ncontexts: [{name: b}]\n", "", "has no context 'a'"),
        ("current-context: a\ncontexts: [{name: a}, {name: b}]\n", "c", "has no context 'c'"),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: []\n",
            "",
            "the context 'a' cannot be used",
        ),
        ("current-context: a\ncontexts: [{name: a}]\n", "", "the context 'a' cannot be used"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(tmp_path: Path, text: str | None, context: str, why: str) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError) as caught:
        version(path, context)
    assert why in caught.value.message
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert "private-9d" not in caught.value.message


def test_several_files_are_one(stand_in: Driven, tmp_path: Path) -> None:
    """As ``KUBECONFIG`` has them; those that are missing are passed over."""
    there = stand_in.server.kubeconfig
    other = tmp_path / "other"
    other.write_text(
        "current-context: elsewhere\ncontexts: [{name: elsewhere, context: {cluster: e}}]\nclusters: []\nusers: []\n"
    )
    assert version(f"{tmp_path}/missing:{there}:{other}") == "v1.34.1"
    assert version(f"{other}:{there}", "stand-in") == "v1.34.1"


def plugin(folder: Path, script: str) -> dict[str, Any]:
    program = folder / "plugin"
    program.write_text(f"#!/bin/sh\necho ran >> {folder}/runs\n{script}\n")
    program.chmod(0o755)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never"}
    return {"users": [{"name": "admin", "user": {"exec": command}}]}


def credential(**status: str) -> str:
    exec_credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": TOKEN, **status},
    }
    return f"cat <<'E'\n{json.dumps(exec_credential)}\nE"


def test_a_credential_plugin_is_run_once(stand_in: Driven, tmp_path: Path) -> None:
    kubeconfig = changed(
        stand_in.server.kubeconfig, **plugin(tmp_path, credential(expirationTimestamp="2100-01-01T00:00:00Z"))
    )
    cluster = connect(str(kubeconfig), "", TIMING)
    cluster.version()
    cluster.version()
    cluster.close()
    assert (tmp_path / "runs").read_text() == "ran\n"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'please log in' >&2; exit 1", "process returned 1. please log in"),
        ("echo nonsense", "failed to decode process output"),
        (credential().replace("token", "unknown"), "missing token"),
    ],
)
def test_a_credential_plugin_that_fails(
    stand_in: Driven, tmp_path: Path, capfd: pytest.CaptureFixture[str], script: str, why: str
) -> None:
    kubeconfig = changed(stand_in.server.kubeconfig, **plugin(tmp_path, script))
    with pytest.raises(ClusterUnavailable) as caught:
        version(kubeconfig)
    assert "no credentials for the context 'stand-in'" in caught.value.message
    assert why in caught.value.message
    assert capfd.readouterr() == ("", "")


def test_a_credential_plugin_that_fails_later(stand_in: Driven, tmp_path: Path) -> None:
    """Its token expires at once, so that it is run for each request."""
    once = f"if [ $(wc -l < {tmp_path}/runs) -gt 3 ]; then exit 1; fi\n"
    kubeconfig = changed(
        stand_in.server.kubeconfig, **plugin(tmp_path, once + credential(expirationTimestamp="2020-01-01T00:00:00Z"))
    )
    cluster = connect(str(kubeconfig), "", TIMING)
    cluster.version()
    with pytest.raises(ClusterUnavailable, match="no credentials"):
        [cluster.version() for _ in range(5)]
    cluster.close()


@pytest.mark.parametrize(
    "host", ["http://203.0.113.7:8080", "http://cluster.example.com", "http://203.0.113.7\\@localhost"]
)
def test_a_token_is_not_sent_unencrypted(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match="does not use https"):
        connect(str(write_kubeconfig(tmp_path / "c", host)), "", TIMING)


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with Loopback({"/version": Answer(b"{}")}) as other:
        away = Answer(b"", 307, {"Location": f"{other.url}/version"})
        with Loopback({"/version": away}) as server, pytest.raises(ClusterUnavailable, match="307"):
            version(write_kubeconfig(tmp_path / "c", server.url))
        assert not other.seen


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match=r"'away' is unreachable: .*refused") as caught:
        version(write_kubeconfig(tmp_path / "c", f"http://127.0.0.1:{closed_port()}", context="away"))
    assert "kubectl --context" in caught.value.hint


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
def test_something_else_answers(tmp_path: Path, body: bytes) -> None:
    with (
        Loopback({"/version": Answer(body)}) as server,
        pytest.raises(ClusterUnavailable, match="is not a Kubernetes API"),
    ):
        version(write_kubeconfig(tmp_path / "c", server.url))


def test_another_token(stand_in: Driven, tmp_path: Path) -> None:
    server = stand_in.server.stand_in
    assert server is not None
    with pytest.raises(ClusterUnavailable, match="does not tell its version") as caught:
        version(write_kubeconfig(tmp_path / "other", server.url, token="expired-1b"))
    assert "log in again" in caught.value.hint
    assert "expired-1b" not in caught.value.message


@pytest.mark.cluster
def test_an_authority_that_is_not_known(real_server: Server, tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match="is not trusted"):
        version(write_kubeconfig(tmp_path / "c", real_server.api.url))


def test_nothing_secret_is_logged(stand_in: Driven, caplog: pytest.LogCaptureFixture) -> None:
    cluster = stand_in.connect()
    with caplog.at_level(logging.DEBUG):
        bootstrap_cluster(cluster, desired(), stand_in.run())
    cluster.close()
    assert TOKEN not in caplog.text
    assert PRIVATE not in caplog.text


SOURCE = str(Path(flux_upgrade.__file__).parent.parent)
WITHOUT_CLIENT = f"""
import sys
sys.path.insert(0, {SOURCE!r})
sys.modules["kubernetes"] = None
from flux_upgrade.adapters.kubernetes.connect import connect
from flux_upgrade.model.errors import ClusterUnfit
try:
    connect(sys.argv[1], "", None)
except ClusterUnfit as error:
    print(error.hint)
"""
NOT_YET = f"""
import sys
sys.path.insert(0, {SOURCE!r})
import flux_upgrade.bootstrap.cluster.install, flux_upgrade.adapters.kubernetes.connect, flux_upgrade.adapters.local.kustomize
print([name for name in ("kubernetes", "urllib3", "aiohttp", "yaml.cyaml") if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("program", "output"), [(WITHOUT_CLIENT, "run `pip install 'flux-upgrade[cluster]'`"), (NOT_YET, "[]")]
)
def test_the_client_is_an_extra_and_imported_late(tmp_path: Path, program: str, output: str) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "c", "http://127.0.0.1:1")
    command = [sys.executable, "-c", program, str(kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  (ours)
    assert done.stdout.strip() == output


def test_every_trouble_is_one_of_ours(tmp_path: Path) -> None:
    """Half an answer, and a connection that ends."""
    with ApiServer().running() as server:
        kubeconfig = write_kubeconfig(tmp_path / "c", server.url)

        def hang_up(method: str, path: str) -> None:
            raise ConnectionAbortedError(method + path)

        server.faults.append(hang_up)
        with pytest.raises(FluxUpgradeError, match="is unreachable"):
            version(kubeconfig)
