resource "helm_release" "flux" {
  repository       = "https://fluxcd-community.github.io/helm-charts"
  chart            = "flux2"
  version          = "2.16.4"
  name             = "flux2"
  namespace        = "flux-system"
  create_namespace = true
}

resource "helm_release" "by_oci" {
  name    = "flux2"
  chart   = "oci://ghcr.io/fluxcd-community/charts/flux2"
  version = var.chart_version
}

resource "helm_release" "flux_operator" {
  name       = "flux-operator"
  namespace  = "flux-system"
  repository = "oci://ghcr.io/controlplaneio-fluxcd/charts"
  chart      = "flux-operator"
}

resource "helm_release" "flux_instance" {
  depends_on = [helm_release.flux_operator]

  name       = "flux"
  namespace  = "flux-system"
  repository = "oci://ghcr.io/controlplaneio-fluxcd/charts"
  chart      = "flux-instance"

  set {
    name  = "instance.sync.path"
    value = "clusters/a"
  }

  set {
    name  = "instance.distribution.version"
    value = "2.8.x"
  }
}

resource "helm_release" "of_provider_3" {
  name       = "flux"
  repository = "oci://ghcr.io/controlplaneio-fluxcd/charts"
  chart      = "flux-instance"
  version    = "0.40.0"

  set = [
    { name = "instance.distribution.version", value = "v2.8.7" },
    { name = "instance.distribution.registry", value = "ghcr.io/fluxcd" },
  ]
}

resource "helm_release" "variable" {
  name   = "flux"
  chart  = "flux-instance"
  values = [file("${path.module}/values.yaml")]

  set {
    name  = "instance.distribution.version"
    value = var.flux_version
  }
}

resource "helm_release" "values" {
  chart  = "flux-instance"
  values = [yamlencode({ instance = { distribution = { version = "2.x" } } })]
}
