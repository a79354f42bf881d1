resource "flux_bootstrap_git" "this" {
  namespace = "gitops"
  version   = "v2.8.7"
}
