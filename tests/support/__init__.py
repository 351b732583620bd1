"""What tests share: folders and repositories to work in, corpora, strategies, servers. No tests."""
