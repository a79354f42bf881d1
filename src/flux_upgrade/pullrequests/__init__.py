"""What is proposed, as branches and pull requests."""
