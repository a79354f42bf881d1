resource "flux_bootstrap_git" "this" {
  version = "v2.8.7"
  path    = "clusters/a"
}
