"""Git repositories, read without trusting them."""
