#!/bin/sh
true \
  a \
  b
flux install --version v2.8.8
