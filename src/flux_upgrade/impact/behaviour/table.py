"""What releases of Flux 2 changed without a schema that says so, as far as a tree shows whom it concerns.

Read from the announcements, release notes and changelogs of Flux 2.0 to 2.9, each rule with its source. What
is not here, and why: breaks of Flux 0 (a summary of 255 characters, the SSH user in the URL, SOPS keys);
what the schema itself refuses; what only the content of a Secret shows, where nearly every one is fine
(kubeconfigs with files, keys of Google's buckets); deprecated keys of TLS Secrets, which are still read.
"""

from __future__ import annotations

from flux_upgrade.impact.behaviour import rules
from flux_upgrade.impact.behaviour.rules import BreakRule, Span
from flux_upgrade.impact.impact import Harm

_HELM = ("HelmRelease",)
_OCI = ("OCIRepository", "ImageRepository")
_AUTOMATION = ("ImageUpdateAutomation",)

BREAK_RULES = (
    BreakRule(
        "kustomize-components",
        (Span("v2.2.0"),),
        ("Kustomization",),
        "kustomize applies components after generators. Before, it applied them first.",
        "https://fluxcd.io/blog/2023/12/flux-v2.2.0/",
        rules.lists("spec", "components"),
        hint="If there are generators, compare the builds of kustomize 5.0 and 5.3.",
    ),
    BreakRule(
        "helm-history",
        (Span("v2.2.0"),),
        _HELM,
        "Helm keeps 5 revisions of a release by default. Before, it kept 10.",
        "https://github.com/fluxcd/helm-controller/blob/v0.37.0/CHANGELOG.md",
        rules.any_release,
        keep="maxHistory: 10",
        kept_by=(("spec", "maxHistory"),),
    ),
    BreakRule(
        "helm-dropped-fields",
        (Span("v2.3.0", "v2.8.0"),),
        ("HelmRelease", "HelmChart"),
        "Flux no longer reads the fields valuesFile, patchesStrategicMerge and patchesJson6902.",
        "https://fluxcd.io/blog/2024/05/flux-v2.3.0/",
        rules.dropped_fields,
        hint="Before the upgrade, replace them with valuesFiles and patches: earlier releases also read these.",
        takes_patches=True,
        until={"v1beta1": "v2.7.0", "v1beta2": "v2.8.0", "v2beta1": "v2.7.0", "v2beta2": "v2.8.0"},
    ),
    BreakRule(
        "helm-chart-digest",
        (Span("v2.3.0"),),
        _HELM,
        (
            "The version of a chart from an OCIRepository ends with the digest of its artifact. A chart that "
            "uses its version as a label fails, because labels cannot contain +."
        ),
        "https://github.com/fluxcd/helm-controller/pull/1212",
        rules.says(r"OCIRepository\Z", "spec", "chartRef", "kind"),
        hint="From Flux 2.6 on, the helm-controller feature gate DisableChartDigestTracking=true omits the digest.",
        gate="DisableChartDigestTracking",
        takes_patches=True,
        harm=Harm.MAY_BREAK,
    ),
    BreakRule(
        "registry-provider",
        (Span("v2.6.0"),),
        (*_OCI, "HelmRepository"),
        "A registry that does not belong to the provider is refused. Before, Flux read it without logging in.",
        "https://github.com/fluxcd/pkg/pull/919",
        rules.foreign_provider,
        keep="provider: generic",
        kept_by=(("spec", "secretRef"), ("spec", "serviceAccountName")),
        harm=Harm.BREAKS,
    ),
    BreakRule(
        "registry-service-account",
        (Span("v2.6.0", "v2.10.0"),),
        _OCI,
        (
            "With a cloud provider, the service account logs in to the registry, which requires a feature gate. "
            "Before, Flux used only its pull secrets."
        ),
        "https://fluxcd.io/blog/2025/05/flux-v2.6.0/",
        rules.service_account,
        hint="Remove one of the two, or set the controller's feature gate ObjectLevelWorkloadIdentity=true.",
        kept_by=(("spec", "secretRef"),),
        gate="ObjectLevelWorkloadIdentity",
        harm=Harm.BREAKS,
    ),
    BreakRule(
        "image-autologin",
        (Span("v2.7.0"),),
        ("ImageRepository",),
        "Each ImageRepository sets the cloud that it logs in to. The controller's autologin flags are removed.",
        "https://github.com/fluxcd/image-reflector-controller/pull/786",
        rules.without_provider,
        hint="Remove --aws-autologin-for-ecr and similar flags: the controller does not start with them.",
        kept_by=(("spec", "provider"), ("spec", "secretRef"), ("spec", "serviceAccountName")),
        harm=Harm.MAY_BREAK,
    ),
    BreakRule(
        "image-template",
        (Span("v2.7.0"),),
        _AUTOMATION,
        "Commit message templates no longer have .Updated and .Changed.ImageResult. A template with them stalls.",
        "https://fluxcd.io/blog/2025/09/flux-v2.7.0/",
        rules.outdated_template,
        hint="Use .Changed.Changes, .Changed.Objects or .Changed.FileChanges, available since Flux 2.3.",
        is_refused=True,
        takes_patches=True,
        harm=Harm.BREAKS,
    ),
    BreakRule(
        "helm-wait",
        (Span("v2.8.0"),),
        _HELM,
        (
            "Helm 4 waits until kstatus reports every resource ready, including custom resources. Before, Helm "
            "waited only for the kinds that it knew."
        ),
        "https://fluxcd.io/blog/2026/02/flux-v2.8.0/",
        rules.waits_for_resources,
        keep="waitStrategy: {name: legacy}",
        keep_since="v2.8.0",
        hint=(
            "New releases are applied server-side, unless install has serverSideApply: false. Existing releases "
            "stay as they are. The helm-controller feature gate UseHelm3Defaults keeps all the old behavior."
        ),
        kept_by=(("spec", "waitStrategy"),),
        gate="UseHelm3Defaults",
    ),
    BreakRule(
        "helm-post-render",
        # 2.8.6 took back what Helm 4 had brought: github.com/fluxcd/helm-controller/issues/1469.
        (Span("v2.8.0", "v2.8.6"), Span("v2.9.0")),
        _HELM,
        "Post-renderers also receive Helm's hooks. Before, they received only the templates.",
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
        "A Receiver of type gcr rejects every request unless its Secret has the keys email and audience.",
        "https://github.com/fluxcd/notification-controller/security/advisories/GHSA-h9cx-xjg6-5v2w",
        rules.says(r"gcr\Z", "spec", "type"),
        hint="Set them to the service account of the push subscription and the audience of its token.",
        takes_patches=True,
        harm=Harm.MAY_BREAK,
    ),
    BreakRule(
        "strict-substitutions",
        (Span("v2.9.0"),),
        ("Kustomization",),
        "A variable with neither a value nor a default fails its Kustomization. Before, it became empty.",
        "https://github.com/fluxcd/kustomize-controller/pull/1671",
        rules.variables_substituted,
        hint=(
            "Give each variable a value or a default. Write a variable that Flux must not replace as $${name}, or "
            "annotate its resource with kustomize.toolkit.fluxcd.io/substitute: disabled. The kustomize-controller "
            "feature gate StrictPostBuildSubstitutions=false keeps the old behavior."
        ),
        gate="StrictPostBuildSubstitutions",
        takes_patches=True,
        harm=Harm.MAY_BREAK,
    ),
    BreakRule(
        "image-refspec",
        (Span("v2.9.4"),),
        _AUTOMATION,
        "A refspec that begins with + or : is refused, because it would overwrite or delete its target.",
        "https://github.com/fluxcd/flux2/releases/tag/v2.9.4",
        rules.says("[+:]", "spec", "git", "push", "refspec"),
        is_refused=True,
        takes_patches=True,
        harm=Harm.BREAKS,
    ),
    BreakRule(
        "event-source",
        (Span("v2.9.4"),),
        _HELM,
        (
            "The network policy allow-webhooks admits other namespaces only on port 9292. Their events no longer "
            "reach notification-controller."
        ),
        "https://github.com/fluxcd/flux2/security/advisories/GHSA-mwcp-qpcg-fr7c",
        rules.events_across_namespaces,
        hint=(
            "Add a NetworkPolicy that admits the namespace on port 9090. Nothing changes if Flux is installed "
            "without network policies."
        ),
        harm=Harm.MAY_BREAK,
    ),
)
"""In the order of the releases that began them."""
