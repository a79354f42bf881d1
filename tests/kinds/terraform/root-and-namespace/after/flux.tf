resource "flux_bootstrap_git" "this" {
  namespace = "gitops"
  version   = "v2.9.4"
}
