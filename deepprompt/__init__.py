"""Build agent prompts that stay the same, byte for byte, from turn to turn.

A public name is imported from its module when it is first used, so that a process pays only for what it needs.
Type checkers and editors read the same names in `__init__.pyi`, which `scripts/write_stub.py` writes from `_NAMES`.
Most errors live in `deepprompt.errors`; result types live in the modules that return them.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.2.0"

_NAMES = {
    "batch.template": ("RequestTemplate",),
    "catalog": ("bundled", "from_folder", "from_package"),
    "checks.blame.blame": ("blame",),
    "checks.cache.simulate": ("simulate",),
    "checks.explain": ("explain",),
    "checks.lint.linter": ("lint",),
    "checks.perturb.perturb": ("perturb",),
    "checks.segments": ("read_request",),
    "counters": ("count_tokens",),
    "errors": ("DeepPromptError", "PresetError"),
    "fleet.readers": ("read_records",),
    "fleet.report": ("report",),
    "prompt": ("DYNAMIC_CONTEXT_BOUNDARY", "Note", "Pace", "Part", "Prompt"),
    "providers.strict": ("strict_schema",),
    "providers.strict_limits": ("strict_problems",),
    "providers.usage": ("Usage", "read_usage"),
    "request.request": ("Request", "build_cached_content", "build_request"),
    "session.ledger": ("Ledger",),
    "session.session": ("Session",),
    "session.stream": ("StreamedResponse",),
    "session.tail": ("Tail",),
    "session.tiers": ("Tiers",),
    "session.watch": ("Watch",),
    "sources.claude_md": ("load_claude_md",),
    "sources.code": ("load_repository",),
    "sources.git.snapshot": ("GitSnapshot", "read_git"),
    "sources.instructions": ("InstructionFile", "load_instruction_files"),
    "sources.plan.plan": ("plan_instructions",),
    "sources.project": ("ProjectContext", "discover_project_context"),
    "sources.skills": ("load_skills",),
    "sources.surroundings": ("Surroundings", "gather"),
    "systems.agents": (
        "AgentDefinition", "agent_prompt", "assemble_subagent_prompt", "attach", "compose_subagent_prompt", "reminder",
        "reminders_for",
    ),
    "systems.audit": ("AuditLog",),
    "systems.budget": ("validate_budget",),
    "systems.builder": ("BASE_PROMPT_V1", "SystemPromptBuilder", "inject_recalled"),
    "systems.context": ("render_project_context",),
    "systems.edits": ("apply_edits", "parse_edits"),
    "systems.preset": (
        "McpServer", "PromptAssemblyConfig", "PromptVars", "SlashCommand", "SystemPromptConfig",
        "assemble_system_prompt", "compose_system_prompt",
    ),
    "systems.presets": ("Preset", "load_preset"),
    "systems.tagged": (
        "AgentConfig", "Responsibility", "Task", "TaskStep", "build_system_prompt", "compose_tagged_prompt",
    ),
    "systems.template": ("PromptAssembler",),
    "systems.tiers": (
        "Tier", "TieredContext", "UrlContent", "assemble_messages", "commit_prompt", "compaction_prompt",
        "compose_messages", "edit_reminder", "tiered_system_prompt",
    ),
    "systems.tools": ("tool_definitions",),
    "tokens": ("estimate_tokens",),
    "tools": ("fingerprint",),
    "words": ("Lifetime", "Marks", "OnChange", "Order", "StrictProvider", "Target"),
}  # fmt: skip
"""The public names by the module, below this package, that defines them."""

_MODULES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
