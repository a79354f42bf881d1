resource "kubernetes_manifest" "sync" {
  manifest = {
    apiVersion = "kustomize.toolkit.fluxcd.io/v1beta2"
    kind       = "Kustomization"
    metadata = {
      name      = "flux-system"
      namespace = var.namespace
    }
  }
}
