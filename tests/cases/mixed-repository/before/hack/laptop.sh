#!/bin/sh
# A cluster on a laptop.
set -eu
kind create cluster
flux install --version=v2.8.7
