variable "flux_version" {
  default = "v2.0.0"
}
