"""Recording: a loopback proxy before a provider, and hooks for clients that record without one."""
