resource "helm_release" "flux" {
  name       = "flux"
  # repository = "https://weaveworks.github.io/flux"
  repository = "https://charts.fluxcd.io"
  chart      = "flux"
}
