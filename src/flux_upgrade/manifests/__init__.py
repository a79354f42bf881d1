"""What ``flux install --export`` knows: pure, text in, text out."""
