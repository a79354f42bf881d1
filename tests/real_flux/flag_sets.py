"""Flag sets of `flux install`: each flag with ordinary and hostile values, alone, by twos, and several at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple


class Values(NamedTuple):
    ordinary: Sequence[str]
    hostile: Sequence[str] = ()


_CONTROLLERS = ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")
_BOOLEANS = Values(("false", "true", "0", "1", "f", "T", "FALSE", "True"), ("yes", "", "2", " true", "nO"))
_SCALARS = (
    "",
    " ",
    "a b",
    "true",
    "null",
    "~",
    "1",
    "1e3",
    "0x1",
    "2001-01-01",
    "x: y",
    "a #b",
    "#a",
    "- a",
    "é",
    "日本",
)
_QUOTED = (
    "'a'",
    "a'b",
    'a"b',
    "{{ .Version }}",
    "${HOME}",
    "$(HOME)",
    "a\\b",
    "a\nb",
    "a\tb",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
)
_MARKUP = ("{a}", "[a]", "a,b", "|", ">", "<a>", "a&b", "`a`", "---", "...", "=", "a:", ":a", "x" * 80, "x" * 300)
_HOSTILE = (*_SCALARS, *_QUOTED, *_MARKUP)

FLAGS: Mapping[str, Values] = {
    "--namespace": Values(
        ("gitops", "flux", "default", "kube-system", "a-b-c", "x" * 63),
        (*_HOSTILE, "Flux", "x" * 64, "-a", "a-", "a.b", "on", "no", "12", "1_000", "flux-system,gitops"),
    ),
    "--components": Values(
        (
            ",".join(_CONTROLLERS),
            "source-controller",
            "source-controller,kustomize-controller",
            ",".join(reversed(_CONTROLLERS)),
            "source-controller,helm-controller",
            "source-controller,kustomize-controller,notification-controller",
        ),
        (
            *("", ",", "source-controller,", ",source-controller", " source-controller", "Source-Controller"),
            *("source-controller,source-controller", "source-controller, helm-controller", "source", "a,b"),
            *('"source-controller","helm-controller"', '"source-controller,helm-controller"', '"source-controller'),
            *("kustomize-controller", "notification-controller", "source-watcher", "image-reflector-controller"),
            *("source-controller;helm-controller", "source-controller\nhelm-controller", "'source-controller'", '""'),
        ),
    ),
    "--components-extra": Values(
        (
            "image-reflector-controller,image-automation-controller",
            "image-automation-controller",
            "source-watcher",
            "image-reflector-controller,image-automation-controller,source-watcher",
        ),
        (
            *("", ",", "image-reflector-controller,", "helm-controller", "unknown-controller", " source-watcher"),
            *('"source-watcher"', "source-watcher,source-watcher", "image-reflector-controller", '"a""b"', 'a"b'),
        ),
    ),
    "--registry": Values(
        ("registry.example.com/fluxcd", "registry.example.com:5000/flux/cd", "docker.io/fluxcd", "localhost:5000"),
        (
            *_HOSTILE,
            "ghcr.io/fluxcd/",
            "https://ghcr.io/fluxcd",
            "ghcr.io//fluxcd",
            "GHCR.io/fluxcd",
            "ghcr.io/fluxcd:1",
        ),
    ),
    "--image-pull-secret": Values(
        ("regcred", "registry-credentials", "a.b"), (*_HOSTILE, "Reg_Cred", "x" * 254, "on", "no", "012", "y")
    ),
    "--watch-all-namespaces": _BOOLEANS,
    "--network-policy": _BOOLEANS,
    "--log-level": Values(
        ("debug", "info", "error"), ("warn", "DEBUG", "", " info", "info ", "trace", "1", "debug,info", "${LEVEL}")
    ),
    "--cluster-domain": Values(
        ("cluster.local", "k8s.internal", "example"),
        (*_HOSTILE, "cluster.local.", ".", "K8S.local", "on", "svc..local"),
    ),
    "--toleration-keys": Values(
        ("dedicated", "node.kubernetes.io/dedicated-to-flux", "dedicated,team", "a/b,c/d,e"),
        (*_HOSTILE, "a,", ",a", "a,,b", "a, b", '"a,b"', '"a",b', '"a', 'a""b', "dedicated,dedicated", "on", "012"),
    ),
}
"""Each flag of `flux install` that says what is installed, but ``--version``."""

_RANDOM_SETS = 120
_SEED = 19


def all_sets() -> Iterator[tuple[str, ...]]:
    """Each argument list once."""
    yield from dict.fromkeys((*ordinary(), *_alone(), *_by_twos(), *_repeated(), *_several()))


def ordinary() -> Iterator[tuple[str, ...]]:
    """What people write: no flag, each ordinary value, and each two flags together."""
    yield ()
    for flag, values in FLAGS.items():
        yield from ((f"{flag}={value}",) for value in values.ordinary)
    for (one, first), (other, second) in combinations(FLAGS.items(), 2):
        yield f"{one}={first.ordinary[0]}", f"{other}={second.ordinary[0]}"
        yield f"{one}={first.ordinary[-1]}", f"{other}={second.ordinary[-1]}"


def _alone() -> Iterator[tuple[str, ...]]:
    for flag, values in FLAGS.items():
        yield from ((f"{flag}={value}",) for value in values.hostile)
    for flag in FLAGS:
        yield (flag,)  # without a value
        yield flag, FLAGS[flag].ordinary[0]  # after a space
    yield "-n", "gitops"
    yield ("-n=gitops",)
    yield ("-ngitops",)


def _by_twos() -> Iterator[tuple[str, ...]]:
    """What one value does to where another stands."""
    for (one, first), (other, second) in combinations(FLAGS.items(), 2):
        for pair in product(first.ordinary[:2], second.ordinary[1:3]):
            yield f"{one}={pair[0]}", f"{other}={pair[1]}"


def _repeated() -> Iterator[tuple[str, ...]]:
    for flag, values in FLAGS.items():
        yield tuple(f"{flag}={value}" for value in values.ordinary[:2])
        yield tuple(f"{flag}={value}" for value in (*values.ordinary[:1], ""))


def _several() -> Iterator[tuple[str, ...]]:
    chance = random.Random(_SEED)  # noqa: S311  (no secret)
    for _ in range(_RANDOM_SETS):
        chosen = chance.sample(sorted(FLAGS), chance.randint(3, len(FLAGS)))
        yield tuple(f"{flag}={chance.choice(FLAGS[flag].ordinary)}" for flag in chosen)
