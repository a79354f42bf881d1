resource "flux_bootstrap_git" "this" {
  embedded_manifests = false
  path               = "clusters/production"
  version            = "v2.8.8"
}
