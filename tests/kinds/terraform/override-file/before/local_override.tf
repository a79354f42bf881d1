resource "flux_bootstrap_git" "this" {
  version = "v2.9.1"
}
