"""The walls of the house: what imports what, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agents
import nim_env

NIM_ENV = Path(nim_env.__file__).parent
AGENTS = Path(agents.__file__).parent
LAYERS = ["rules", "theory", "policies", "solver", "evaluation"]  # each imports from those before it alone


def imports_of(file):
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file.name}: a relative import hides what it imports"
            found |= {f"{node.module}.{name.name}" for name in node.names} | {node.module}
    return found


@pytest.mark.parametrize("file", sorted(AGENTS.rglob("*.py")), ids=lambda file: file.name)
def test_agents_never_import_nim_env(file):
    assert not {name for name in imports_of(file) if name.split(".")[0] == "nim_env"}


@pytest.mark.parametrize("file", sorted(NIM_ENV.rglob("*.py")), ids=lambda file: file.name)
def test_nim_env_never_imports_agents(file):
    assert not {name for name in imports_of(file) if name.split(".")[0] == "agents"}


def test_the_rules_stand_alone():
    ours = {name for name in imports_of(NIM_ENV / "rules.py") if name.split(".")[0] == "nim_env"}
    others = {name.split(".")[0] for name in imports_of(NIM_ENV / "rules.py")} - set(sys.stdlib_module_names)
    assert not ours
    assert others == {"numpy"}


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way(layer):
    ours = {name.split(".")[1] for name in imports_of(NIM_ENV / f"{layer}.py") if name.startswith("nim_env.")}
    assert ours <= set(LAYERS[: LAYERS.index(layer)])


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("nim_env", "agents"),
        ("agents", "nim_env"),
        ("nim_env, agents", "pygame matplotlib torch scipy pandas tqdm rich PIL nicegui"),
    ],
)
def test_importing_is_light(module, unwanted):
    code = f"import sys, {module}; print([name for name in {unwanted.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_progress_bar_names_the_install_command(monkeypatch):
    import gymnasium as gym

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    env = gym.make("Nim-v0")
    agent = agents.QLearningAgent(env.observation_space, env.action_space)
    with pytest.raises(gym.error.DependencyNotInstalled, match=r"pip install tqdm"):
        agents.train(agent, env, 1, progress=True)
    assert len(agents.train(agent, env, 1).rewards) == 1


@pytest.mark.parametrize(
    "name", ["aec_env.env", "gym_env.NimEnv", "evaluation.mastery", "theory.grundy", "solver.solve"]
)
def test_public_modules_are_there_after_the_import(name):
    subprocess.run([sys.executable, "-c", f"import nim_env; nim_env.{name}"], check=True)


@pytest.mark.parametrize("package", [NIM_ENV, AGENTS])
def test_packages_are_typed(package):
    assert (package / "py.typed").exists()
