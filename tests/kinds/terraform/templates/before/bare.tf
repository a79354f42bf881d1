resource "flux_bootstrap_git" "bare" {
  path    = "clusters/a"
  version = {{ flux_version }}
}
