resource "flux_bootstrap_git" "other" {
  path    = "clusters/b"
  version = "v2.8"
}

resource "flux_bootstrap_git" "escaped" {
  path    = "clusters/c"
  version = "v2\u002e8.7"
}
