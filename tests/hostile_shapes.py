"""Files that people with the wrong intentions write: something small, many times. One row each."""

from __future__ import annotations

from typing import NamedTuple

_MARKS = (
    "# flux-instance FluxInstance flux-manifests OCIRepository flux2 HelmRepository shoot-flux flux-operator eksctl.io/"
    " fluxcd/flux-cli fluxcd.io/install.sh fluxcd/flux2 flux install source-controller microsoft.flux weaveworks/flux"
    " source.toolkit.fluxcd.io/v1beta2 version: v1 source.toolkit.fluxcd.io\n"
)
"""Every kind of version reference looks at a file with these."""
_GIT = "apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: GitRepository\nmetadata: {name: p@}\n"
_ONE = _MARKS + _GIT
_KUSTOMIZATION = _MARKS + "resources: [y.yaml]\n"
_OF_FLUX = "clusters/production/flux-system/kustomization.yaml"
_ON_FLUX = "resources: [gotk-components.yaml]\n"
_WORKFLOW = _MARKS + "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n"
_SH, _YAML, _TF = "hack/x.sh", "clusters/production/x.yaml", "infra/x.tf"


class Shape(NamedTuple):
    path: str
    begin: str
    again: str  # `@` stands for how many there are before it
    end: str = ""
    config: str = ""  # How the config file begins; empty: there is none
    config_again: str = ""  # As `again`, for the config file

    def text(self, count: int) -> str:
        return self.begin + _repeated(self.again, count) + self.end

    def files(self, count: int) -> dict[str, str]:
        config = self.config + _repeated(self.config_again, count)
        return {self.path: self.text(count), **({".github/flux-upgrade.yaml": config} if config else {})}


def _repeated(text: str, count: int) -> str:
    return "".join(text.replace("@", str(each)) for each in range(count))


SHAPES = {
    "aliases of a list": Shape(_YAML, _ONE + "a: &a [x,x,x,x,x,x,x,x,x,x]\n", "b@: [*a,*a,*a]\n"),
    "aliases of aliases": Shape(_YAML, _ONE + "a0: &a0 [x]\n", "b@: &b@ [*a0]\nc@: [*b@,*b@]\n"),
    "merge keys": Shape(_YAML, _ONE + "a: &a {b: c, d: e}\n", "f@: {<<: *a}\n"),
    "one merge key after the other": Shape(_YAML, _ONE + "a: &a {b: c}\nf:\n", "  <<: *a\n"),
    "a merge key of a merge key": Shape(_YAML, _ONE + "z: &a0 {b: c}\n", "y@: &a0\n  <<: *a0\n  k@: x\n"),
    "keys that are given twice": Shape(_YAML, _ONE, "k: v\n"),
    "keys": Shape(_YAML, _ONE, "k@: source.toolkit.fluxcd.io/v1beta2\n"),
    "documents": Shape(_YAML, _ONE, "---\na: b\n"),
    "empty documents": Shape(_YAML, _ONE, "---\n"),
    "documents that are no YAML": Shape(_YAML, _ONE, "---\napiVersion: source.toolkit.fluxcd.io/v1beta2\na: {{ b\n"),
    "resources": Shape(_YAML, _MARKS, "---\n" + _GIT),
    "resources with a field that moves": Shape(
        _YAML,
        _MARKS,
        "---\napiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata: {name: p@}\n"
        "spec:\n  interval: 1m\n  chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: a},"
        " valuesFile: a.yaml}}\n",
    ),
    "resources in a list": Shape(
        _YAML,
        "apiVersion: v1\nkind: List\nitems:\n",
        "- {apiVersion: source.toolkit.fluxcd.io/v1beta2, kind: Bucket}\n",
    ),
    "Kustomizations of their own directory": Shape(
        _YAML,
        "",
        "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k@, namespace: x}\n"
        "spec: {path: ./clusters/production, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    ),
    "comments": Shape(_YAML, _ONE, "# source.toolkit.fluxcd.io/v1beta2\n"),
    "a long comment": Shape(_YAML, _ONE + "# ", "source.toolkit.fluxcd.io/v1beta2 ", "\n"),
    "a long line": Shape(_YAML, _ONE + "a: [", "source.toolkit.fluxcd.io/v1beta2, ", "]\n"),
    "a long line of prose": Shape("docs/x.md", "", "see source.toolkit.fluxcd.io/v1beta2 ", "\n"),
    "lines of prose": Shape("docs/x.md", "", "apiVersion: source.toolkit.fluxcd.io/v1beta2\n"),
    "braces in a template": Shape(_YAML, _ONE + "a: ", "{{", "\n"),
    "braces in a template of a chart": Shape("x.yaml.gotmpl", _MARKS + "chart: flux2\nversion: ", "{{", "\n" + _GIT),
    "tabs in a quoted patch": Shape(
        "kustomization.yaml",
        _KUSTOMIZATION + 'patches:\n- patch: "apiVersion: source.toolkit.fluxcd.io/v1beta2\\nkind: Bucket',
        "\t",
        'x"\n',
    ),
    "line breaks in a quoted patch": Shape(
        "kustomization.yaml",
        _KUSTOMIZATION + 'patches:\n- patch: "apiVersion: source.toolkit.fluxcd.io/v1beta2\\nkind: Bucket',
        "\n\t ",
        'x"\n',
    ),
    "patches": Shape(
        "kustomization.yaml",
        _KUSTOMIZATION + "patches:\n",
        "- {target: {kind: Bucket}, patch: '[{op: add, path: /spec/a, value: b}]'}\n",
    ),
    "texts that are resources": Shape(
        _YAML,
        _MARKS + "extraObjects:\n",
        "- |\n  apiVersion: source.toolkit.fluxcd.io/v1beta2\n  kind: Bucket\n  metadata: {name: a}\n",
    ),
    "resources of a kustomization": Shape("kustomization.yaml", _MARKS + "resources:\n", "- r@.yaml\n"),
    "patches of Flux's manifest": Shape(
        _OF_FLUX,
        _ON_FLUX + "patches:\n",
        "- {target: {kind: Deployment}, patch: '[{op: add, path: /spec/a, value: b}]'}\n",
    ),
    "blocks of Terraform": Shape(_TF, "", 'resource "flux_bootstrap_git" "a@" {\n  version = var.a@\n}\n'),
    "variables of Terraform": Shape(
        _TF, 'resource "flux_bootstrap_git" "a" {\n  version = var.a\n}\n', 'variable "a@" {\n  default = 1\n}\n'
    ),
    "locals of Terraform that refer to each other": Shape(
        _TF,
        'resource "flux_bootstrap_git" "a" {\n  version = local.a1\n}\n',
        "locals {\n  a@ = local.a1\n  a1 = local.a@\n}\n",
    ),
    "calls of a module of Terraform": Shape(
        _TF,
        'variable "v" {}\nresource "flux_bootstrap_git" "a" {\n  version = var.v\n}\n',
        'module "m@" {\n  source = "./../infra"\n  v = var.v\n}\n',
    ),
    "Helm releases of Terraform": Shape(
        _TF,
        'locals {\n  v = "2.8.x"\n}\n',
        'resource "helm_release" "a@" {\n  chart = "flux-instance"\n  values = [local.v]\n'
        '  set {\n    name = "instance.distribution.version"\n    value = local.v\n  }\n}\n',
    ),
    "Kubernetes objects of Terraform": Shape(
        _TF,
        "",
        'resource "kubectl_manifest" "a@" {\n  yaml_body = <<E\napiVersion: fluxcd.controlplane.io/v1\n'
        "kind: FluxInstance\nspec: {distribution: {version: 2.8.x, registry: ghcr.io/fluxcd}}\nE\n}\n",
    ),
    "HelmReleases with values in one ConfigMap": Shape(
        _YAML,
        "kind: ConfigMap\nmetadata: {name: v}\ndata:\n  values.yaml: '{instance: {distribution: {version: 2.8.x}}}'\n",
        "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r@}\nspec:\n"
        "  chartRef: {kind: OCIRepository, name: flux-instance}\n  valuesFrom: [{kind: ConfigMap, name: v}]\n",
    ),
    "ConfigMaps of one name, with a HelmRelease each": Shape(
        _YAML,
        "",
        "---\nkind: ConfigMap\nmetadata: {name: v@}\ndata: {values.yaml: 'a: b'}\n"
        "---\nkind: ConfigMap\nmetadata: {name: v}\ndata: {values.yaml: 'a: b'}\n"
        "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r@}\nspec:\n"
        "  chartRef: {kind: OCIRepository, name: flux-instance}\n"
        "  valuesFrom: [{kind: ConfigMap, name: v}, {kind: ConfigMap, name: v@}]\n",
    ),
    "values of a HelmRelease": Shape(
        _YAML,
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\nspec:\n"
        "  chartRef: {kind: OCIRepository, name: flux-instance}\n  valuesFrom:\n",
        "  - {kind: ConfigMap, name: v@}\n",
    ),
    "generators of a kustomization": Shape(
        "clusters/production/kustomization.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\nspec:\n"
        "  chartRef: {kind: OCIRepository, name: flux-instance}\n  valuesFrom: [{kind: ConfigMap, name: v}]\n"
        "---\nresources: [kustomization.yaml]\nconfigMapGenerator:\n",
        "- {name: v, behavior: merge, files: [x@.yaml]}\n",
    ),
    "dependencies of a chart": Shape(
        "charts/x/Chart.yaml", "dependencies:\n", "- {name: flux-instance, alias: a@}\n- {name: flux-operator}\n"
    ),
    "Applications with values": Shape(
        _YAML,
        "",
        "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a@}\n"
        "spec: {source: {chart: flux-instance, helm: {values: 'a: b', valueFiles: [x.yaml, y.yaml]}}}\n",
    ),
    "braces of Terraform": Shape(_TF, 'resource "flux_bootstrap_git" "a" {\n', "a = {}\n", "}\n"),
    "members of Terraform in JSON": Shape(
        "x.tf.json", '{"resource": {"flux_bootstrap_git": {"a": {"b": 1', ', "k@": "flux"', "}}}}"
    ),
    "commands": Shape(_SH, "", "V@=v2.8.8\nflux install --version=${V@}\n"),
    "variables of the Flux CLI": Shape(_SH, "", "V@=v2.8.8\ncurl https://fluxcd.io/install.sh | FLUX_VERSION=$V@ sh\n"),
    "comments for Renovate": Shape(_SH, "", "# renovate: depName=fluxcd/flux2\nV@=v2.8.8\n"),
    "tools in one line": Shape(_SH, "arkade get ", "arkade get flux ", "\n"),
    "computed includes": Shape(_SH, _MARKS, "source $(a)/}} x.sh\n"),
    "checksums": Shape(_SH, "# renovate: depName=fluxcd/flux2\nV=v2.8.8\n", "a" * 64 + " "),
    "commands in one line": Shape(_SH, "flux install ", "flux install --version ", "\n"),
    "addresses in one line": Shape(_SH, "", "https://github.com/fluxcd/flux2/releases/download/v2.8.8/install.yaml "),
    "archives in one line": Shape(
        _SH, "", "https://github.com/fluxcd/flux2/releases/download/v2.8.8/flux_2.8.8_linux_amd64.tar.gz "
    ),
    "directories of releases": Shape(
        _SH, "V=v2.8.8\nX=flux_\n", "U@=https://github.com/fluxcd/flux2/releases/download/$V\n"
    ),
    "commands of a Dockerfile": Shape(
        "Dockerfile",
        "",
        "ARG V@=2.8.8\nADD https://github.com/fluxcd/flux2/releases/download/v$V@/flux_${V@}_linux_amd64.tar.gz /\n",
    ),
    "files of a generator": Shape(
        "kustomization.yaml",
        "configMapGenerator:\n- name: a\n  files:\n",
        "  - a@=https://github.com/fluxcd/flux2/releases/download/v2.8.8/install.yaml\n",
    ),
    "braces in an address": Shape(_SH, "curl https://github.com/fluxcd/flux2/", "{{", "\n"),
    "steps of a workflow": Shape(".github/workflows/x.yaml", _WORKFLOW, "    - uses: fluxcd/flux2/action@main\n"),
    "steps with ControlPlane's actions": Shape(
        ".github/workflows/x.yaml",
        _WORKFLOW,
        "    - {uses: controlplaneio-fluxcd/distribution/actions/update@main, with: {path: a@, version: 2.8.8}}\n"
        "    - {uses: controlplaneio-fluxcd/flux-operator/actions/setup@main, with: {version: v0.48.@}}\n",
    ),
    "images of the flux-operator's CLI": Shape(
        _YAML, _ONE + "b:\n", "- {image: ghcr.io/controlplaneio-fluxcd/flux-operator-cli:v@, c: &c@ {d: [e]}, f: *c@}\n"
    ),
    "downloads of the flux-operator's CLI": Shape(
        _SH, "curl ", "https://github.com/controlplaneio-fluxcd/flux-operator/releases/download/v0.48.0/flux-operator_ "
    ),
    "the flux-operator's CLI for tasks of mise": Shape(
        "mise.toml", "", '[tasks.t@.tools]\n"aqua:controlplaneio-fluxcd/flux-operator" = "0.48.0"\n'
    ),
    "ControlPlane's images in a kustomization": Shape(
        _OF_FLUX,
        _ON_FLUX + "images:\n",
        "- {name: ghcr.io/fluxcd/source-controller, newName: ghcr.io/controlplaneio-fluxcd/a@/source-controller}\n",
    ),
    "arguments of a Dockerfile": Shape("Dockerfile", "", "ARG A@=v2.8.8\nFROM ghcr.io/fluxcd/flux-cli:${A@}\n"),
    "releases of a helmfile": Shape("helmfile.yaml", "releases:\n", "- {name: a@, chart: x/flux2, version: 2.1.0}\n"),
    "releases of a helmfile that inherit": Shape(
        "helmfile.yaml",
        "x: &i [" + "{template: t}," * 100 + "]\ntemplates: {t: {values: [" + '{instance: "{{ x }}"},' * 100 + "]}}\n"
        "releases:\n",
        "- {name: a@, chart: x/flux-instance, inherit: *i}\n",
    ),
    "values of a release": Shape(
        "helmfile.yaml",
        "releases:\n- name: a\n  chart: x/flux-instance\n  values:\n",
        "  - v@/{{ .x }}/{{ .y }}a{{ .z }}.yaml\n",
    ),
    "releases with values set": Shape(
        "helmfile.yaml",
        "x: &v [" + "{name: instance.a, value: b}," * 20 + "]\nreleases:\n",
        "- {name: a@, chart: x/flux-instance, set: *v}\n",
    ),
    "releases that refer to a chart": Shape(
        _YAML,
        "# flux-instance\n",
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a, namespace: n@}\n"
        "spec: {url: oci://x/flux-instance}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: r@}\nspec: {chartRef: {kind: OCIRepository, name: a},"
        " values: {instance: {distribution: {version: 2.8.8}}}}\n",
    ),
    "inputs of a ResourceSet": Shape(
        _YAML,
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: a}\nspec:\n"
        "  resources:\n  - apiVersion: fluxcd.controlplane.io/v1\n    kind: FluxInstance\n    metadata: {name: flux}\n"
        "    spec: {distribution: {version: << inputs.v >>, registry: ghcr.io/fluxcd}}\n  inputs:\n",
        "  - {v: 2.8.8}\n",
    ),
    "versions of one's own": Shape(
        "a.txt", "", "flux v2.8.@\n", config="also:\n- {files: ['**'], match: '(?<version>v.*)'}\n"
    ),
    "empty versions of one's own": Shape("a.txt", "", "é", config="also:\n- {files: ['**'], match: '(?<version>)'}\n"),
    "entries for versions of one's own": Shape(
        "a.txt", "", "a@: v2.8.8\n", config="also:\n", config_again="- {files: ['**'], match: 'a@: (?<version>v.*)'}\n"
    ),
    "entries for one version": Shape(
        "a.txt",
        "a: v2.8.8\n",
        "#\n",
        config="also:\n",
        config_again="- {files: ['*.txt'], match: 'a: (?<version>v.*)', cluster: c@}\n",
    ),
    "rules for Renovate": Shape(
        "renovate.json", '{"packageRules": [{}', ',{"matchPackageNames": ["fluxcd/flux2"]}', "]}"
    ),
}
