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

HEX = "9f3a7c21e8b04d56"
_MIXED = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"


def drawn(length: int, letters: str = _MIXED) -> str:
    """Return so many characters that look as if they were drawn by lot. No text here is a key of anybody's."""
    return (letters * (length // len(letters) + 1))[:length]


# What each kind of the table looks like. Written in two pieces, so that no scanner takes this file for a leak.
FORMATS = {
    "AWS key": "AKIA" + "QX7ZL2M4N6P8R3T5",
    "GitHub token": "ghp" + "_" + drawn(36),
    "GitLab token": "glpat" + "-" + drawn(20),
    "GitLab token, deploy": "gldt" + "-" + drawn(20),
    "GitLab token, runner": "glrt" + "-t1_" + drawn(24),
    "GitLab token, job": "glcbt" + "-64_" + drawn(20),
    "API key": "sk-" + "proj-" + drawn(60),
    "API key, Anthropic": "sk-" + "ant-api03-" + drawn(90),
    "API key, plain": "sk-" + drawn(48),
    "Stripe key": "sk" + "_live_" + drawn(24),
    "Stripe secret": "whsec" + "_" + drawn(32),
    "Slack token": "xoxb" + "-1234567890-" + drawn(24),
    "Slack token, app": "xapp" + "-1-A0B1C2D3E4F-1234567890123-" + drawn(64, HEX),
    "Slack webhook": "https://hooks.slack.com/" + "services/T0B1C2D3E/B0C1D2E3F/" + drawn(24),
    "Google key": "AIza" + drawn(35),
    "Google token": "ya29" + "." + drawn(60),
    "Google client secret": "GOCSPX" + "-" + drawn(28),
    "Google refresh token": "1//0" + drawn(60),
    "Hugging Face token": "hf" + "_" + drawn(34),
    "npm token": "npm" + "_" + drawn(36),
    "PyPI token": "pypi-" + "AgE" + drawn(60),
    "SendGrid key": "SG" + "." + drawn(22) + "." + drawn(43),
    "Twilio key": "SK" + drawn(32, HEX),
    "Azure key": "AccountKey" + "=" + drawn(86) + "==",
    "Azure key, bare": drawn(86) + "==",
    "DigitalOcean token": "dop_v1" + "_" + drawn(64, HEX),
    "Databricks token": "dapi" + drawn(32, HEX),
    "Cloudflare token": "CLOUDFLARE_API_TOKEN=" + drawn(40),
    "Telegram bot token": "712345678" + ":AA" + drawn(33),
    "Groq key": "gsk" + "_" + drawn(52),
    "xAI key": "xai" + "-" + drawn(80),
    "Replicate token": "r8" + "_" + drawn(37),
    "Docker token": "dckr_pat" + "_" + drawn(27),
    "Vault token": "hvs" + "." + drawn(95),
    "Shopify token": "shpat" + "_" + drawn(32, HEX),
    "JSON web token": "eyJ" + drawn(30) + ".eyJ" + drawn(40) + "." + drawn(30),
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + drawn(64) + "\n-----END RSA PRIVATE KEY-----",
    "password in an address": "https://u:" + drawn(12) + "@example.com",
    "token in an address": "https://" + drawn(40) + "@github.com/x",
}
