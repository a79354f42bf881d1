resource "flux_bootstrap_git" "this" {
  path     = "clusters/ci"
  interval = "5m"
}
