"""Speed, measured as ratios inside one run. Nothing here is a test: machines are noisy."""
