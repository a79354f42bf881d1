resource "flux_bootstrap_git" "gone" {
  path    = "clusters/b"
  version = "v2.9.1"
}
