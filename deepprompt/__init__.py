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
    from deepprompt.audit import AuditLog as AuditLog
    from deepprompt.audit import read_log as read_log
    from deepprompt.catalog import Catalog as Catalog
    from deepprompt.catalog import bundled as bundled
    from deepprompt.catalog import from_folder as from_folder
    from deepprompt.catalog import from_package as from_package
    from deepprompt.checks.blame import Blame as Blame
    from deepprompt.checks.blame import blame as blame
    from deepprompt.checks.cache import Simulation as Simulation
    from deepprompt.checks.cache import simulate as simulate
    from deepprompt.checks.counters import Counter as Counter
    from deepprompt.checks.counters import calibrate as calibrate
    from deepprompt.checks.counters import count_tokens as count_tokens
    from deepprompt.checks.counters import counter_for as counter_for
    from deepprompt.checks.explain import Explanation as Explanation
    from deepprompt.checks.explain import explain as explain
    from deepprompt.checks.findings import Finding as Finding
    from deepprompt.checks.lint import lint as lint
    from deepprompt.checks.perturb import Stability as Stability
    from deepprompt.checks.perturb import perturb as perturb
    from deepprompt.checks.segments import Segment as Segment
    from deepprompt.checks.segments import read_request as read_request
    from deepprompt.checks.tokens import estimate_tokens as estimate_tokens
    from deepprompt.checks.verdict import Verdict as Verdict
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
    from deepprompt.prompt import Note as Note
    from deepprompt.prompt import Pace as Pace
    from deepprompt.prompt import Part as Part
    from deepprompt.prompt import Prompt as Prompt
    from deepprompt.session import Derived as Derived
    from deepprompt.session import EpochSwitch as EpochSwitch
    from deepprompt.session import Session as Session
    from deepprompt.sources.claude_md import load_claude_md as load_claude_md
    from deepprompt.sources.git import GitSnapshot as GitSnapshot
    from deepprompt.sources.git import read_git as read_git
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
    from deepprompt.systems.builder import BASE_PROMPT_V1 as BASE_PROMPT_V1
    from deepprompt.systems.builder import DYNAMIC_CONTEXT_BOUNDARY as DYNAMIC_CONTEXT_BOUNDARY
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
    from deepprompt.tools import Fingerprint as Fingerprint
    from deepprompt.tools import fingerprint as fingerprint
    from deepprompt.wire.facts import Facts as Facts
    from deepprompt.wire.facts import bundled_facts as bundled_facts
    from deepprompt.wire.facts import load_facts as load_facts
    from deepprompt.wire.notices import Change as Change
    from deepprompt.wire.request import Request as Request
    from deepprompt.wire.request import build_cached_content as build_cached_content
    from deepprompt.wire.request import build_request as build_request
    from deepprompt.wire.usage import Usage as Usage
    from deepprompt.wire.usage import read_usage as read_usage

_MODULES = {
    "AgentConfig": "deepprompt.systems.tagged",
    "AgentDefinition": "deepprompt.systems.agents",
    "AssembledPrompt": "deepprompt.systems.template",
    "AssetError": "deepprompt.errors",
    "AuditError": "deepprompt.errors",
    "AuditLog": "deepprompt.audit",
    "BASE_PROMPT_V1": "deepprompt.systems.builder",
    "Blame": "deepprompt.checks.blame",
    "BudgetError": "deepprompt.errors",
    "CallError": "deepprompt.errors",
    "Catalog": "deepprompt.catalog",
    "Change": "deepprompt.wire.notices",
    "Counter": "deepprompt.checks.counters",
    "DYNAMIC_CONTEXT_BOUNDARY": "deepprompt.systems.builder",
    "DeepPromptError": "deepprompt.errors",
    "Derived": "deepprompt.session",
    "EncodingError": "deepprompt.errors",
    "EpochSwitch": "deepprompt.session",
    "Explanation": "deepprompt.checks.explain",
    "Facts": "deepprompt.wire.facts",
    "Finding": "deepprompt.checks.findings",
    "Fingerprint": "deepprompt.tools",
    "GitSnapshot": "deepprompt.sources.git",
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
    "Request": "deepprompt.wire.request",
    "Responsibility": "deepprompt.systems.tagged",
    "Segment": "deepprompt.checks.segments",
    "Session": "deepprompt.session",
    "SessionError": "deepprompt.errors",
    "Simulation": "deepprompt.checks.cache",
    "SkillError": "deepprompt.errors",
    "SkillStore": "deepprompt.sources.skills",
    "SlashCommand": "deepprompt.systems.preset",
    "SourceError": "deepprompt.errors",
    "Stability": "deepprompt.checks.perturb",
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
    "Usage": "deepprompt.wire.usage",
    "UsageError": "deepprompt.errors",
    "VariableError": "deepprompt.errors",
    "Verdict": "deepprompt.checks.verdict",
    "agent_names": "deepprompt.systems.agents",
    "agent_prompt": "deepprompt.systems.agents",
    "assemble_messages": "deepprompt.systems.tiers",
    "assemble_subagent_prompt": "deepprompt.systems.agents",
    "assemble_system_prompt": "deepprompt.systems.preset",
    "blame": "deepprompt.checks.blame",
    "build_cached_content": "deepprompt.wire.request",
    "build_request": "deepprompt.wire.request",
    "build_system_prompt": "deepprompt.systems.tagged",
    "bundled": "deepprompt.catalog",
    "bundled_facts": "deepprompt.wire.facts",
    "calibrate": "deepprompt.checks.counters",
    "compose_messages": "deepprompt.systems.tiers",
    "compose_subagent_prompt": "deepprompt.systems.agents",
    "compose_system_prompt": "deepprompt.systems.preset",
    "compose_tagged_prompt": "deepprompt.systems.tagged",
    "count_tokens": "deepprompt.checks.counters",
    "counter_for": "deepprompt.checks.counters",
    "discover_project_context": "deepprompt.sources.project",
    "estimate_tokens": "deepprompt.checks.tokens",
    "explain": "deepprompt.checks.explain",
    "fingerprint": "deepprompt.tools",
    "from_folder": "deepprompt.catalog",
    "from_package": "deepprompt.catalog",
    "inject_recalled": "deepprompt.systems.builder",
    "lint": "deepprompt.checks.lint",
    "load_claude_md": "deepprompt.sources.claude_md",
    "load_facts": "deepprompt.wire.facts",
    "load_instruction_files": "deepprompt.sources.instructions",
    "load_skills": "deepprompt.sources.skills",
    "perturb": "deepprompt.checks.perturb",
    "read_git": "deepprompt.sources.git",
    "read_log": "deepprompt.audit",
    "read_request": "deepprompt.checks.segments",
    "read_usage": "deepprompt.wire.usage",
    "reminder": "deepprompt.systems.agents",
    "reminder_names": "deepprompt.systems.agents",
    "render_project_context": "deepprompt.sources.project",
    "simulate": "deepprompt.checks.cache",
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
