"""Build the prompts of agent runtimes so that they are right, byte for byte, turn after turn.

Every public name is imported from the module that defines it when it is first used, so that a process pays
only for what it needs.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# As type checkers know it. The module of that name is not imported: `python -m deepprompt` looks for it in the current
# folder first, which may be a stranger's, until __main__ runs.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from deepprompt.catalog import Catalog as Catalog
    from deepprompt.catalog import bundled as bundled
    from deepprompt.catalog import from_folder as from_folder
    from deepprompt.catalog import from_package as from_package
    from deepprompt.checks.blame.blame import Blame as Blame
    from deepprompt.checks.blame.blame import blame as blame
    from deepprompt.checks.cache.simulate import Simulation as Simulation
    from deepprompt.checks.cache.simulate import simulate as simulate
    from deepprompt.checks.explain import Explanation as Explanation
    from deepprompt.checks.explain import explain as explain
    from deepprompt.checks.lint.findings import Finding as Finding
    from deepprompt.checks.lint.linter import lint as lint
    from deepprompt.checks.perturb.perturb import Stability as Stability
    from deepprompt.checks.perturb.perturb import perturb as perturb
    from deepprompt.checks.segments import read_request as read_request
    from deepprompt.counters import Counter as Counter
    from deepprompt.counters import calibrate as calibrate
    from deepprompt.counters import count_tokens as count_tokens
    from deepprompt.counters import counter_for as counter_for
    from deepprompt.errors import AssetError as AssetError
    from deepprompt.errors import AuditError as AuditError
    from deepprompt.errors import BudgetError as BudgetError
    from deepprompt.errors import CallError as CallError
    from deepprompt.errors import DeepPromptError as DeepPromptError
    from deepprompt.errors import EncodingError as EncodingError
    from deepprompt.errors import IncludeNotFoundError as IncludeNotFoundError
    from deepprompt.errors import MessageError as MessageError
    from deepprompt.errors import NestedTokenError as NestedTokenError
    from deepprompt.errors import PaceError as PaceError
    from deepprompt.errors import PathEscapeError as PathEscapeError
    from deepprompt.errors import PromptAssemblyError as PromptAssemblyError
    from deepprompt.errors import SessionError as SessionError
    from deepprompt.errors import SkillError as SkillError
    from deepprompt.errors import SourceError as SourceError
    from deepprompt.errors import ToolError as ToolError
    from deepprompt.errors import UnknownPartError as UnknownPartError
    from deepprompt.errors import UnresolvedTokenError as UnresolvedTokenError
    from deepprompt.errors import UsageError as UsageError
    from deepprompt.errors import VariableError as VariableError
    from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as DYNAMIC_CONTEXT_BOUNDARY
    from deepprompt.prompt import Note as Note
    from deepprompt.prompt import Pace as Pace
    from deepprompt.prompt import Part as Part
    from deepprompt.prompt import Prompt as Prompt
    from deepprompt.providers.facts import Facts as Facts
    from deepprompt.providers.facts import bundled_facts as bundled_facts
    from deepprompt.providers.facts import load_facts as load_facts
    from deepprompt.providers.segments import Segment as Segment
    from deepprompt.providers.usage import Usage as Usage
    from deepprompt.providers.usage import read_usage as read_usage
    from deepprompt.request.request import Request as Request
    from deepprompt.request.request import build_cached_content as build_cached_content
    from deepprompt.request.request import build_request as build_request
    from deepprompt.session.notices import Change as Change
    from deepprompt.session.session import Derived as Derived
    from deepprompt.session.session import EpochSwitch as EpochSwitch
    from deepprompt.session.session import Session as Session
    from deepprompt.session.verdict import Verdict as Verdict
    from deepprompt.sources.claude_md import load_claude_md as load_claude_md
    from deepprompt.sources.git.snapshot import GitSnapshot as GitSnapshot
    from deepprompt.sources.git.snapshot import read_git as read_git
    from deepprompt.sources.instructions import InstructionFile as InstructionFile
    from deepprompt.sources.instructions import load_instruction_files as load_instruction_files
    from deepprompt.sources.project import ProjectContext as ProjectContext
    from deepprompt.sources.project import discover_project_context as discover_project_context
    from deepprompt.sources.project import render_project_context as render_project_context
    from deepprompt.sources.skills import SkillStore as SkillStore
    from deepprompt.sources.skills import load_skills as load_skills
    from deepprompt.systems.agents import AgentDefinition as AgentDefinition
    from deepprompt.systems.agents import agent_names as agent_names
    from deepprompt.systems.agents import agent_prompt as agent_prompt
    from deepprompt.systems.agents import assemble_subagent_prompt as assemble_subagent_prompt
    from deepprompt.systems.agents import compose_subagent_prompt as compose_subagent_prompt
    from deepprompt.systems.agents import reminder as reminder
    from deepprompt.systems.agents import reminder_names as reminder_names
    from deepprompt.systems.audit import AuditLog as AuditLog
    from deepprompt.systems.audit import read_log as read_log
    from deepprompt.systems.builder import BASE_PROMPT_V1 as BASE_PROMPT_V1
    from deepprompt.systems.builder import SystemPromptBuilder as SystemPromptBuilder
    from deepprompt.systems.builder import inject_recalled as inject_recalled
    from deepprompt.systems.preset import McpServer as McpServer
    from deepprompt.systems.preset import PromptAssemblyConfig as PromptAssemblyConfig
    from deepprompt.systems.preset import PromptVars as PromptVars
    from deepprompt.systems.preset import SlashCommand as SlashCommand
    from deepprompt.systems.preset import SystemPromptConfig as SystemPromptConfig
    from deepprompt.systems.preset import assemble_system_prompt as assemble_system_prompt
    from deepprompt.systems.preset import compose_system_prompt as compose_system_prompt
    from deepprompt.systems.tagged import AgentConfig as AgentConfig
    from deepprompt.systems.tagged import Responsibility as Responsibility
    from deepprompt.systems.tagged import Task as Task
    from deepprompt.systems.tagged import TaskStep as TaskStep
    from deepprompt.systems.tagged import build_system_prompt as build_system_prompt
    from deepprompt.systems.tagged import compose_tagged_prompt as compose_tagged_prompt
    from deepprompt.systems.template import AssembledPrompt as AssembledPrompt
    from deepprompt.systems.template import PromptAssembler as PromptAssembler
    from deepprompt.systems.tiers import Tier as Tier
    from deepprompt.systems.tiers import TieredContext as TieredContext
    from deepprompt.systems.tiers import UrlContent as UrlContent
    from deepprompt.systems.tiers import assemble_messages as assemble_messages
    from deepprompt.systems.tiers import compose_messages as compose_messages
    from deepprompt.systems.tiers import tiered_system_prompt as tiered_system_prompt
    from deepprompt.systems.toolset import tool_definitions as tool_definitions
    from deepprompt.tokens import estimate_tokens as estimate_tokens
    from deepprompt.tools import Fingerprint as Fingerprint
    from deepprompt.tools import fingerprint as fingerprint

_MODULES = {
    "AgentConfig": "deepprompt.systems.tagged",
    "AgentDefinition": "deepprompt.systems.agents",
    "AssembledPrompt": "deepprompt.systems.template",
    "AssetError": "deepprompt.errors",
    "AuditError": "deepprompt.errors",
    "AuditLog": "deepprompt.systems.audit",
    "BASE_PROMPT_V1": "deepprompt.systems.builder",
    "Blame": "deepprompt.checks.blame.blame",
    "BudgetError": "deepprompt.errors",
    "CallError": "deepprompt.errors",
    "Catalog": "deepprompt.catalog",
    "Change": "deepprompt.session.notices",
    "Counter": "deepprompt.counters",
    "DYNAMIC_CONTEXT_BOUNDARY": "deepprompt.prompt",
    "DeepPromptError": "deepprompt.errors",
    "Derived": "deepprompt.session.session",
    "EncodingError": "deepprompt.errors",
    "EpochSwitch": "deepprompt.session.session",
    "Explanation": "deepprompt.checks.explain",
    "Facts": "deepprompt.providers.facts",
    "Finding": "deepprompt.checks.lint.findings",
    "Fingerprint": "deepprompt.tools",
    "GitSnapshot": "deepprompt.sources.git.snapshot",
    "IncludeNotFoundError": "deepprompt.errors",
    "InstructionFile": "deepprompt.sources.instructions",
    "McpServer": "deepprompt.systems.preset",
    "MessageError": "deepprompt.errors",
    "NestedTokenError": "deepprompt.errors",
    "Note": "deepprompt.prompt",
    "Pace": "deepprompt.prompt",
    "PaceError": "deepprompt.errors",
    "Part": "deepprompt.prompt",
    "PathEscapeError": "deepprompt.errors",
    "ProjectContext": "deepprompt.sources.project",
    "Prompt": "deepprompt.prompt",
    "PromptAssembler": "deepprompt.systems.template",
    "PromptAssemblyConfig": "deepprompt.systems.preset",
    "PromptAssemblyError": "deepprompt.errors",
    "PromptVars": "deepprompt.systems.preset",
    "Request": "deepprompt.request.request",
    "Responsibility": "deepprompt.systems.tagged",
    "Segment": "deepprompt.providers.segments",
    "Session": "deepprompt.session.session",
    "SessionError": "deepprompt.errors",
    "Simulation": "deepprompt.checks.cache.simulate",
    "SkillError": "deepprompt.errors",
    "SkillStore": "deepprompt.sources.skills",
    "SlashCommand": "deepprompt.systems.preset",
    "SourceError": "deepprompt.errors",
    "Stability": "deepprompt.checks.perturb.perturb",
    "SystemPromptBuilder": "deepprompt.systems.builder",
    "SystemPromptConfig": "deepprompt.systems.preset",
    "Task": "deepprompt.systems.tagged",
    "TaskStep": "deepprompt.systems.tagged",
    "Tier": "deepprompt.systems.tiers",
    "TieredContext": "deepprompt.systems.tiers",
    "ToolError": "deepprompt.errors",
    "UnknownPartError": "deepprompt.errors",
    "UnresolvedTokenError": "deepprompt.errors",
    "UrlContent": "deepprompt.systems.tiers",
    "Usage": "deepprompt.providers.usage",
    "UsageError": "deepprompt.errors",
    "VariableError": "deepprompt.errors",
    "Verdict": "deepprompt.session.verdict",
    "agent_names": "deepprompt.systems.agents",
    "agent_prompt": "deepprompt.systems.agents",
    "assemble_messages": "deepprompt.systems.tiers",
    "assemble_subagent_prompt": "deepprompt.systems.agents",
    "assemble_system_prompt": "deepprompt.systems.preset",
    "blame": "deepprompt.checks.blame.blame",
    "build_cached_content": "deepprompt.request.request",
    "build_request": "deepprompt.request.request",
    "build_system_prompt": "deepprompt.systems.tagged",
    "bundled": "deepprompt.catalog",
    "bundled_facts": "deepprompt.providers.facts",
    "calibrate": "deepprompt.counters",
    "compose_messages": "deepprompt.systems.tiers",
    "compose_subagent_prompt": "deepprompt.systems.agents",
    "compose_system_prompt": "deepprompt.systems.preset",
    "compose_tagged_prompt": "deepprompt.systems.tagged",
    "count_tokens": "deepprompt.counters",
    "counter_for": "deepprompt.counters",
    "discover_project_context": "deepprompt.sources.project",
    "estimate_tokens": "deepprompt.tokens",
    "explain": "deepprompt.checks.explain",
    "fingerprint": "deepprompt.tools",
    "from_folder": "deepprompt.catalog",
    "from_package": "deepprompt.catalog",
    "inject_recalled": "deepprompt.systems.builder",
    "lint": "deepprompt.checks.lint.linter",
    "load_claude_md": "deepprompt.sources.claude_md",
    "load_facts": "deepprompt.providers.facts",
    "load_instruction_files": "deepprompt.sources.instructions",
    "load_skills": "deepprompt.sources.skills",
    "perturb": "deepprompt.checks.perturb.perturb",
    "read_git": "deepprompt.sources.git.snapshot",
    "read_log": "deepprompt.systems.audit",
    "read_request": "deepprompt.checks.segments",
    "read_usage": "deepprompt.providers.usage",
    "reminder": "deepprompt.systems.agents",
    "reminder_names": "deepprompt.systems.agents",
    "render_project_context": "deepprompt.sources.project",
    "simulate": "deepprompt.checks.cache.simulate",
    "tiered_system_prompt": "deepprompt.systems.tiers",
    "tool_definitions": "deepprompt.systems.toolset",
}

__all__ = sorted(_MODULES)


if not TYPE_CHECKING:  # to a type checker a name that is not listed above is a mistake

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES} - {"TYPE_CHECKING"})
