"""Write tests/data/token_counts.json: how many tokens the reference tokenizers count in tests/support/token_corpus.py.

They are OpenAI's tiktoken, its vocabularies in the folder that TIKTOKEN_CACHE_DIR names, and Hugging Face's tokenizers
with DeepSeek's own tokenizer.json, of which added tokens are left out: what looks like a special token in a prompt is
text. Run it as `python scripts/write_token_counts.py TOKENIZER_JSON`; no test needs any of this.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))


def main(tokenizer_json: str) -> None:
    """Count every text with every reference, and write the counts."""
    texts: dict[str, str] = import_module("tests.support.token_corpus").TEXTS
    tiktoken: Any = import_module("tiktoken")
    plain = json.loads(Path(tokenizer_json).read_text("utf-8")) | {"added_tokens": []}
    deepseek: Any = import_module("tokenizers").Tokenizer.from_str(json.dumps(plain))
    counts: dict[str, dict[str, int]] = {}
    for name in ("cl100k_base", "o200k_base"):
        encoding = tiktoken.get_encoding(name)
        counts[name] = {key: len(encoding.encode_ordinary(text)) for key, text in texts.items()}
    counts["deepseek_v3"] = {
        key: len(deepseek.encode(text, add_special_tokens=False).ids) for key, text in texts.items()
    }
    path = ROOT / "tests" / "data" / "token_counts.json"
    path.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
