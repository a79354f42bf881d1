variable "offline" {
  default = true
}
