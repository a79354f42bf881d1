data "http" "flux" {
  url = "https://github.com/fluxcd/flux2/releases/download/v2.8.7/install.yaml"
}

data "http" "newest" {
  url = "https://github.com/fluxcd/flux2/releases/latest/download/install.yaml"
}

data "http" "any" {
  url = "https://github.com/fluxcd/flux2/releases/download/${var.flux_version}/install.yaml"
}

data "http" "notes" {
  url = "https://github.com/fluxcd/flux2/releases/tag/v2.8.7"
}
