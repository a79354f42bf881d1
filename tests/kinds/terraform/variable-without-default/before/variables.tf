variable "flux_version" {
  type = string
}
