variable "flux_version" {
  description = "Release of Flux."
  type        = string
  default     = "v2.8.7"
}
