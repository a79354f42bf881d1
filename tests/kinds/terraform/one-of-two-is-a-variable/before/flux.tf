variable "flux_version" {
  type    = string
  default = "v2.8.7"
}

resource "flux_bootstrap_git" "a" {
  path    = "clusters/a"
  version = "v2.8.7"
}

resource "flux_bootstrap_git" "b" {
  path    = "clusters/b"
  version = var.flux_version
}
