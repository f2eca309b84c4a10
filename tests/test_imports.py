"""What imports what, what importing costs, and that no module uses another's private names."""

import ast
import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import agents
import nim_env

NIM_ENV, AGENTS = Path(nim_env.__file__).parent, Path(agents.__file__).parent
FILES = {
    ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for package in (NIM_ENV, AGENTS)
    for file in package.rglob("*.py")
}


def parse(module):
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def imports_of(module):
    """The modules that a module imports, or names of modules."""
    found = set()
    for node in ast.walk(parse(module)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "a relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def graph():
    """The modules of the two packages that each of them imports; a package is its ``__init__.py``."""
    edges = {}
    for module in FILES:
        names = {name for name in imports_of(module) if name.split(".")[0] in ("nim_env", "agents")}
        edges[module] = {name if name in FILES else name.rpartition(".")[0] for name in names}
    return edges


def test_packages_do_not_import_each_other():
    for module, imported in graph().items():
        assert {name.split(".")[0] for name in imported} <= {module.split(".")[0]}, module


GAME = {"rules", "theory", "board", "encodings"}
MAY_IMPORT = {  # each part of nim_env: the modules of the game are one part, and so is each folder
    "_internal": set(),
    "game": {"_internal"},
    "solver": {"_internal", "game", "policies"},
    "policies": {"_internal", "game"},
    "rendering": {"_internal", "game", "policies", "evaluation"},  # evaluation for the map alone
    "envs": {"_internal", "game", "policies", "rendering"},
    "evaluation": {"_internal", "game", "solver", "policies", "diagnosis"},
    "diagnosis": {"game", "policies"},  # a package in evaluation
    "testing": {"_internal", "game", "policies", "evaluation", "diagnosis"},
    "sb3": {"_internal", "game", "policies", "envs", "evaluation"},
    "rllib": {"game"},
    "pgx": {"_internal", "game", "rendering"},
    "openspiel": {"game", "policies"},
    "text": {"_internal", "game", "policies", "evaluation"},
    "check": {"_internal", "game", "policies", "evaluation", "diagnosis", "rendering", "sb3"},
    "__main__": {"check"},
}


def part_of(module):
    """The part of nim_env that a module belongs to."""
    if module.startswith("nim_env.evaluation.diagnosis"):
        return "diagnosis"
    name = module.split(".")[1]
    return "game" if name in GAME else name


def test_each_part_imports_what_it_may():
    for module, imported in graph().items():
        if not module.startswith("nim_env."):
            continue
        parts = {part_of(name) for name in imported if name != "nim_env"} - {part_of(module)}
        assert parts <= MAY_IMPORT[part_of(module)], module


def test_imports_run_one_way():
    list(graphlib.TopologicalSorter(graph()).static_order())  # an error if there is a circle
    for module in ("nim_env.rules", "nim_env._internal.checks"):
        outside = {name.split(".")[0] for name in imports_of(module)} - sys.stdlib_module_names
        assert outside <= {"numpy", "nim_env"}
    inside = {"nim_env._internal", "nim_env._internal.checks", "nim_env._internal.limits"}
    assert graph()["nim_env.rules"] <= inside


@pytest.mark.parametrize("module", FILES)
def test_no_private_names_of_other_modules(module):
    """Neither imported nor accessed as attributes of modules; modules themselves may have an underscore."""
    tree, modules = parse(module), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("nim_env", "agents"):
            for name in node.names:
                is_module = f"{node.module}.{name.name}" in FILES
                assert is_module or not name.name.startswith("_"), name.name
                if is_module:
                    modules.add(name.asname or name.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert not node.attr.startswith("_"), ast.unparse(node)


LAZY = "pygame matplotlib torch scipy pandas tqdm rich PIL stable_baselines3 jax unittest.mock "
LAZY += " ".join(
    f"nim_env.{module}" for module in ("openspiel", "pgx", "sb3", "rllib", "text", "rendering.animation")
)


def test_importing_is_light_and_makes_everything_public_available():
    names = [*nim_env.__all__, *(f"evaluation.{name}" for name in nim_env.evaluation.__all__)]
    names += ["encodings.checked_encoding", "policies.batched", "envs.NimEnv", "envs.NimVectorEnv"]
    code = "import sys, nim_env; " + "; ".join(f"nim_env.{name}" for name in names)
    code += f"; import agents, nim_env.check.command; print([name for name in {LAZY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("torch", "nim_env.sb3", "sb3"),
        ("jax", "nim_env.pgx", "jax"),
        ("pyspiel", "nim_env.openspiel", "openspiel"),
    ],
)
def test_a_missing_package_names_the_install_command(monkeypatch, package, module, extra):
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith(module)]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(gym.error.DependencyNotInstalled, match=rf"pip install \"nim-env\[{extra}\]\""):
        importlib.import_module(module)


def test_packages_are_typed():
    assert all((package / "py.typed").exists() for package in (NIM_ENV, AGENTS))
