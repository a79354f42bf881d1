locals {
  name         = "a"
  flux_version = "v2.8.7"
}
