provider "flux" {
  version = ">=1.9"
}
