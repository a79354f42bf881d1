resource "flux_bootstrap_git" "this" {
  version = "v2.9.4"
  path    = "clusters/a"
}
