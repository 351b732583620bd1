"""What keys of every kind look like."""

from __future__ import annotations

# What each kind looks like. None is anybody's: they are made of the alphabet, backwards, so that no kind has a word of
# another in it.
WORD = "zyxwvutsrqponmlkjihgfedcba9876543210ZYXWVUTSRQPONMLKJIHGFEDCBA"
KEYS = {
    "aws": ("AWS key", "AKIA" + WORD[26:].upper()[:16]),
    "aws-session": ("AWS key", "ASIA" + "Q7RZ2MXN4KP9TVWB"),
    "github-personal": ("GitHub token", "ghp_" + WORD[:36]),
    "github-oauth": ("GitHub token", "gho_" + WORD[:36]),
    "github-user": ("GitHub token", "ghu_" + WORD[:36]),
    "github-server": ("GitHub token", "ghs_" + WORD[:36]),
    "github-refresh": ("GitHub token", "ghr_" + WORD[:36]),
    "github-fine-grained": ("GitHub token", "github_pat_" + WORD[:22] + "_" + WORD[:59]),
    "gitlab": ("GitLab token", "glpat-" + WORD[:20]),
    "openai": ("API key", "sk-" + WORD[:48]),
    "openai-project": ("API key", "sk-proj-" + WORD[:20] + "_" + WORD[20:40] + "-" + WORD[:40]),
    "openai-service": ("API key", "sk-svcacct-" + WORD[:40]),
    "openai-admin": ("API key", "sk-admin-" + WORD[:40]),
    "anthropic": ("API key", "sk-ant-api03-" + WORD[:60] + "-" + WORD[:30]),
    "openrouter": ("API key", "sk-or-v1-" + "0123456789abcdef" * 4),
    "deepseek": ("API key", "sk-" + "0123456789abcdef" * 2),
    "stripe": ("Stripe key", "sk_live_" + WORD[:24]),
    "stripe-test": ("Stripe key", "rk_test_" + WORD[:24]),
    "slack-bot": ("Slack token", "xoxb-123456789012-1234567890123-" + WORD[:24]),
    "slack-user": ("Slack token", "xoxp-123456789012-" + WORD[:24]),
    "google": ("Google key", "AIza" + WORD[:35]),
    "google-oauth": ("Google token", "ya29." + WORD[:60]),
    "hugging-face": ("Hugging Face token", "hf_" + WORD[:34]),
    "npm": ("npm token", "npm_" + WORD[:36]),
    "pypi": ("PyPI token", "pypi-AgEIcHlwaS5vcmc" + WORD[:60]),
    "pypi-test": ("PyPI token", "pypi-AgENdGVzdC5weXBpLm9yZ" + WORD[:60]),
    "web-token": ("JSON web token", "eyJ" + WORD[:20] + ".eyJ" + WORD[:40] + "." + WORD[:43]),
    "web-token-unsigned": ("JSON web token", "eyJ" + WORD[:20] + ".eyJ" + WORD[:40]),
    "private-key": ("private key", f"-----BEGIN RSA PRIVATE KEY-----\n{WORD}\n{WORD}==\n-----END RSA PRIVATE KEY-----"),
    "private-key-of-openssh": ("private key", f"-----BEGIN OPENSSH PRIVATE KEY-----{WORD}-----END PRIVATE KEY-----"),
    "private-key-cut": ("private key", f"-----BEGIN PRIVATE KEY-----{WORD}"),
}  # fmt: skip
