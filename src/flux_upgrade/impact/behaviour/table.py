"""What releases of Flux 2 changed without a schema that says so, as far as a tree shows whom it concerns.

Read from the announcements, release notes and changelogs of Flux 2.0 to 2.9, each rule with its source. What
is not here, and why: breaks of Flux 0 (a summary of 255 characters, the SSH user in the URL, SOPS keys);
what the schema itself refuses; what only the content of a Secret shows, where nearly every one is fine
(kubeconfigs with files, keys of Google's buckets); deprecated keys of TLS Secrets, which are still read.
"""

from __future__ import annotations

from flux_upgrade.impact.behaviour import rules
from flux_upgrade.impact.behaviour.rules import BreakRule, Span

_HELM = ("HelmRelease",)
_OCI = ("OCIRepository", "ImageRepository")
_AUTOMATION = ("ImageUpdateAutomation",)

BREAK_RULES = (
    BreakRule(
        "kustomize-components",
        (Span("v2.2.0"),),
        ("Kustomization",),
        "kustomize applies components after generators; before, it applied them first.",
        "https://fluxcd.io/blog/2023/12/flux-v2.2.0/",
        rules.lists("spec", "components"),
        hint="Compare what kustomize 5.0 and 5.3 build, where there are generators.",
    ),
    BreakRule(
        "helm-history",
        (Span("v2.2.0"),),
        _HELM,
        "Helm keeps 5 revisions of a release unless told otherwise; before, it kept 10.",
        "https://github.com/fluxcd/helm-controller/blob/v0.37.0/CHANGELOG.md",
        rules.any_release,
        keep="maxHistory: 10",
        kept_by=(("spec", "maxHistory"),),
    ),
    BreakRule(
        "helm-dropped-fields",
        (Span("v2.3.0", "v2.8.0"),),
        ("HelmRelease", "HelmChart"),
        "The fields valuesFile, patchesStrategicMerge and patchesJson6902 are read no longer.",
        "https://fluxcd.io/blog/2024/05/flux-v2.3.0/",
        rules.dropped_fields,
        hint="Use valuesFiles, and patches, before the upgrade: earlier releases read these, too.",
        takes_patches=True,
        until={"v1beta1": "v2.7.0", "v1beta2": "v2.8.0", "v2beta1": "v2.7.0", "v2beta2": "v2.8.0"},
    ),
    BreakRule(
        "helm-chart-digest",
        (Span("v2.3.0"),),
        _HELM,
        (
            "The version of a chart from an OCIRepository ends with the digest of its artifact. A chart that "
            "uses its version as a label fails: a label takes no +."
        ),
        "https://github.com/fluxcd/helm-controller/pull/1212",
        rules.says(r"OCIRepository\Z", "spec", "chartRef", "kind"),
        hint="From Flux 2.6 on, helm-controller's feature gate DisableChartDigestTracking=true leaves the digest out.",
        gate="DisableChartDigestTracking",
        takes_patches=True,
    ),
    BreakRule(
        "registry-provider",
        (Span("v2.6.0"),),
        (*_OCI, "HelmRepository"),
        "A registry that is none of its provider's is refused; before, it was read without logging in.",
        "https://github.com/fluxcd/pkg/pull/919",
        rules.foreign_provider,
        keep="provider: generic",
        kept_by=(("spec", "secretRef"), ("spec", "serviceAccountName")),
    ),
    BreakRule(
        "registry-service-account",
        (Span("v2.6.0", "v2.10.0"),),
        _OCI,
        (
            "A service account beside a cloud's provider is the one that logs in, which a feature gate has "
            "to allow; before, it was looked at for its pull secrets alone."
        ),
        "https://fluxcd.io/blog/2025/05/flux-v2.6.0/",
        rules.service_account,
        hint="Leave out one of the two, or set the controller's ObjectLevelWorkloadIdentity=true.",
        kept_by=(("spec", "secretRef"),),
        gate="ObjectLevelWorkloadIdentity",
    ),
    BreakRule(
        "image-autologin",
        (Span("v2.7.0"),),
        ("ImageRepository",),
        "An ImageRepository says by itself which cloud it logs in to: the controller's flags are gone.",
        "https://github.com/fluxcd/image-reflector-controller/pull/786",
        rules.without_provider,
        hint="Remove --aws-autologin-for-ecr and the like: the controller does not start with them.",
        kept_by=(("spec", "provider"), ("spec", "secretRef"), ("spec", "serviceAccountName")),
    ),
    BreakRule(
        "image-template",
        (Span("v2.7.0"),),
        _AUTOMATION,
        "Commit messages have no .Updated and no .Changed.ImageResult any more: a template with them stalls.",
        "https://fluxcd.io/blog/2025/09/flux-v2.7.0/",
        rules.outdated_template,
        hint="Use .Changed.Changes, .Changed.Objects or .Changed.FileChanges, which 2.3 brought.",
        is_refused=True,
        takes_patches=True,
    ),
    BreakRule(
        "helm-wait",
        (Span("v2.8.0"),),
        _HELM,
        (
            "Helm 4 waits until kstatus calls every resource ready, custom resources included; before, Helm "
            "waited for those that it knew."
        ),
        "https://fluxcd.io/blog/2026/02/flux-v2.8.0/",
        rules.waits_for_resources,
        keep="waitStrategy: {name: legacy}",
        keep_since="v2.8.0",
        hint=(
            "Releases that are installed from now on are applied server-side, unless install has "
            "serverSideApply: false; those that there are stay as they are. helm-controller's feature gate "
            "UseHelm3Defaults keeps all of it."
        ),
        kept_by=(("spec", "waitStrategy"),),
        gate="UseHelm3Defaults",
    ),
    BreakRule(
        "helm-post-render",
        # 2.8.6 took back what Helm 4 had brought: github.com/fluxcd/helm-controller/issues/1469.
        (Span("v2.8.0", "v2.8.6"), Span("v2.9.0")),
        _HELM,
        "Post-renderers are given Helm's hooks, too; before, they were given the templates alone.",
        "https://fluxcd.io/blog/2026/06/flux-v2.9.0/",
        rules.lists("spec", "postRenderers"),
        keep="postRenderStrategy: nohooks",
        keep_since="v2.9.0",
        kept_by=(("spec", "postRenderStrategy"),),
        gate="UseHelm3Defaults",
        takes_patches=True,
    ),
    BreakRule(
        "gcr-receiver",
        (Span("v2.9.0"),),
        ("Receiver",),
        "A Receiver of type gcr takes no request unless its Secret has the keys email and audience.",
        "https://github.com/fluxcd/notification-controller/security/advisories/GHSA-h9cx-xjg6-5v2w",
        rules.says(r"gcr\Z", "spec", "type"),
        hint="They are those of the push subscription: its service account, and the audience of its token.",
        takes_patches=True,
    ),
    BreakRule(
        "strict-substitutions",
        (Span("v2.9.0"),),
        ("Kustomization",),
        "A variable without a value and without a default fails its Kustomization; before, it became empty.",
        "https://github.com/fluxcd/kustomize-controller/pull/1671",
        rules.variables_substituted,
        hint=(
            "Give each of them a value or a default; what is none of Flux's is written $${name}, or stands "
            "in a resource with the annotation kustomize.toolkit.fluxcd.io/substitute: disabled. With the "
            "feature gate StrictPostBuildSubstitutions=false, kustomize-controller does as before."
        ),
        gate="StrictPostBuildSubstitutions",
        takes_patches=True,
    ),
    BreakRule(
        "image-refspec",
        (Span("v2.9.4"),),
        _AUTOMATION,
        "A refspec that begins with + or : is refused: it would overwrite or delete what it leads to.",
        "https://github.com/fluxcd/flux2/releases/tag/v2.9.4",
        rules.says("[+:]", "spec", "git", "push", "refspec"),
        is_refused=True,
        takes_patches=True,
    ),
    BreakRule(
        "event-source",
        (Span("v2.9.4"),),
        _HELM,
        (
            "The network policy allow-webhooks lets other namespaces in at port 9292 alone: their events no "
            "longer reach notification-controller."
        ),
        "https://github.com/fluxcd/flux2/security/advisories/GHSA-mwcp-qpcg-fr7c",
        rules.events_across_namespaces,
        hint=(
            "Let the namespace in at port 9090 by a NetworkPolicy of its own. Where Flux is installed "
            "without network policies, nothing changes."
        ),
    ),
)
"""In the order of the releases that began them."""
