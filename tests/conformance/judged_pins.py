"""The version references in the real files of pins.tar.xz, judged by hand, each with the reason."""

from __future__ import annotations

from flux_upgrade.pins.pin import Pin

FLOATS = "the CLI of the newest release: the action's own version, or commit, decides nothing"
ALERT = "an Alert about FluxInstances, which installs nothing"

JUDGED: dict[str, tuple[str, str]] = {
    # File: (line, kind, role, standing and release of its one pin, or nothing; what it is.)
    "ffa0bd0caf055eec": ("34 workflow cli floating -", FLOATS),
    "61579aba9da0e334": ("", "the action stands in comments only, and flux2 in a path of its own"),
    "6e36f475b3601445": ("18 workflow cli floating -", FLOATS),
    "fd14a1c009e0900f": ("4 tool-versions cli exact v0.31.5", "the fourth of eleven tools"),
    "b397b2cfaafd7b6c": ("8 kustomize-remote-base installs exact v2.9.4", "what bootstraps by hand, beside 998b"),
    "998b1de7b7ec041e": (
        "12 flux-manifests installs exact v2.9.4",
        "the artifact, and a Kustomization that patches it",
    ),
    "64c9768e464edeaf": ("", ALERT + "; they stand in a comment at that"),
    "1b5d8c9c1fa9e642": (
        "8 kustomize-remote-base installs exact v2.9.4",
        "what bootstraps; a comment names flux-manifests",
    ),
    "f84f3fd187dc7aec": ("9 flux-instance installs exact v2.9.4", "in double quotes, without v, for prod"),
    "df3f0058ccf69e84": ("9 flux-instance installs exact v2.8.8", "the same for test"),
    "b5432374ed91a680": (
        "7 kustomize-remote-base installs exact v2.9.0",
        "what bootstraps; a comment names flux-manifests",
    ),
    "3e5889048bd90a87": ("", ALERT),
    "57c2580b682b1162": ("59 workflow cli floating -", FLOATS),
    "8f151e89b373778c": ("", "a Kustomization that waits for a FluxInstance in another file"),
    "9f532ee2cb6f62da": ("6 kustomize-remote-base installs exact v2.7.5", "what bootstraps"),
    "8c374dde14a20ea3": ("", ALERT),
    "79f4036df2f789b1": ("16 workflow cli floating -", FLOATS),
    "af92d582fd3e417d": (
        "12 flux-manifests installs exact v2.9.4",
        "the artifact, and a Kustomization that patches it",
    ),
    "3fa409fd9bdef0db": ("12 flux-manifests installs exact v2.8.1", "the same for bootstrapping, left behind"),
    "039d553d41078af3": ("", ALERT),
    "941a32ea1e071434": ("", ALERT),
    "6b13c2c707a03f57": ("5 kustomize-remote-base installs exact v2.4.0", "what bootstraps, beside 33e5"),
    "33e5ead31f0ee8b6": ("12 flux-manifests installs exact v2.4.0", "the artifact, in an OCIRepository v1beta2"),
    "04a5bf81951618aa": (
        "8 terraform installs floating -",
        "embedded_manifests: the provider decides, and nothing says which",
    ),
    "2398f774d12ee210": ("1 tool-versions cli exact v0.38.3", "the only tool"),
    "cdf5e3fe1268e5bc": ("", ALERT),
    "3483e4f400fa4a4d": ("15 workflow cli floating -", FLOATS + "; its job writes gotk-components.yaml"),
    "d7249611dd39a71d": ("17 terraform installs exact v2.9.4", "flux_bootstrap_git, version, for the folder flux"),
    "3e5972329f734d02": ("", ALERT),
    "7c81452dc2aa2d15": (
        "30 commands cli exact v2.9.3",
        "a variable of the workflow, in the address from which curl gets the CLI, and nowhere else",
    ),
    "f09e8f15b0ddc1c8": ("15 workflow cli floating -", FLOATS + "; kubectl applies a folder of its own"),
    "7a6ad33703df0637": ("5 kustomize-remote-base installs exact v2.1.1", "what f09e applies"),
    "ecf2e39f09c28777": (
        "4 kustomize-remote-base reported unknown -",
        "a CronJob from Flux's repository, at a commit; no Flux",
    ),
    "f7241b519e61127e": ("5 kustomize-remote-base installs exact v2.2.2", "what bootstraps hegira"),
    "bcbc28a77ccc35cf": ("11 flux-manifests installs exact v2.2.2", "hegira's artifact"),
    "a0e09974050defa5": ("5 kustomize-remote-base installs exact v2.2.2", "what bootstraps helios"),
    "4ad4e349112a62d7": ("11 flux-manifests installs exact v2.2.2", "helios's artifact"),
    "e1c4bf670b507e9c": ("34 workflow cli floating -", FLOATS),
    "4937d854370b8af8": (
        "86 other-installers reported unknown -",
        "the chart in a Crossplane Composition; flux2-sync beside it holds no Flux",
    ),
}

CLUSTERS: dict[str, dict[str, tuple[str, ...]]] = {
    # Repository: cluster: its pins, the one that leads first. Workflows are a set of their own.
    "MTRNord/cluster": {"flux-cli": ("ffa0bd0caf055eec",)},
    "X-McKay/fluxter": {"flux-cli": ("6e36f475b3601445", "fd14a1c009e0900f")},
    "Zariel/home-ops": {"k8s": ("998b1de7b7ec041e", "b397b2cfaafd7b6c")},
    "angelnu/k8s-gitops": {
        "bootstrap/flux": ("1b5d8c9c1fa9e642",),
        "clusters/prod/config": ("f84f3fd187dc7aec",),
        "clusters/test/config": ("df3f0058ccf69e84",),
    },
    "auricom/home-ops": {"kubernetes/bootstrap/flux": ("b5432374ed91a680",)},
    "budimanjojo/home-cluster": {"cluster/base": ("9f532ee2cb6f62da",), "flux-cli": ("57c2580b682b1162",)},
    "fluxcd/flux2-monitoring-example": {"flux-cli": ("79f4036df2f789b1",)},
    "h3mmy/bloopySphere": {
        "cluster/base": ("af92d582fd3e417d",),
        "k8s/clusters/bloopysphere/bootstrap": ("3fa409fd9bdef0db",),
    },
    "kitos9112/k8s-home": {"cluster": ("33e5ead31f0ee8b6", "6b13c2c707a03f57")},
    "m1xxos/homelab": {"flux_bootstrap_git.cluster": ("04a5bf81951618aa",)},
    "makkes/wego-base": {"flux-cli": ("2398f774d12ee210",)},
    "netsoc/gitops": {"flux-cli": ("3483e4f400fa4a4d",)},
    "nint8835/ops": {"flux": ("d7249611dd39a71d",)},
    "rathix/fleet-infra": {"flux-cli": ("7c81452dc2aa2d15",)},
    "sparhomenko/homelab": {"root": ("7a6ad33703df0637",), "flux-cli": ("f09e8f15b0ddc1c8",)},
    "truxnell/home-cluster": {
        "kubernetes/hegira/flux/config": ("bcbc28a77ccc35cf", "f7241b519e61127e"),
        "kubernetes/helios/flux/config": ("4ad4e349112a62d7", "a0e09974050defa5"),
    },
    "xunholy/k8s-gitops": {"flux-cli": ("e1c4bf670b507e9c",)},
}

NOT_VENDORED = {
    # Kustomizations on a release of Flux that were given the name gotk-components.yaml: recognised, and left alone.
    "3ca72dcd16f2b65d.yaml": "5 kustomize-remote-base installs unknown v2.2.3",
    "4cb155a476f34285.yaml": "4 kustomize-remote-base installs unknown v2.3.0",
    "e123e9b0ff711bae.yaml": "4 kustomize-remote-base installs unknown v2.2.3",
    "edda297211e9092d.yaml": "7 kustomize-remote-base installs unknown v2.2.3",
}


def brief(pin: Pin) -> str:
    """A pin, as it is written here."""
    return f"{pin.line} {pin.kind} {pin.role} {pin.state} {pin.version or '-'}"
