"""Names of mutants for mutmut, drawn at random: 500 of those that change more than a message.

    mutmut run "nim_env.theory.x_grundy__mutmut_1"  # makes the folder mutants
    mutmut run $(python tests/fuzz/sample_mutants.py)
    mutmut results

mutmut's settings are in pyproject.toml: the modules that it mutates and the tests that it runs.
"""

import argparse
import ast
import random
from pathlib import Path

MESSAGE_FUNCTIONS = ("_shortened", "_formatted", "_in_batch", "__str__", "__repr__")


class WithoutMessages(ast.NodeTransformer):
    """Removes what only messages show: arguments of exceptions, and the names that checks put into them."""

    def visit_Raise(self, node):
        return ast.Raise(exc=node.exc.func if isinstance(node.exc, ast.Call) else node.exc, cause=node.cause)

    def visit_Call(self, node):
        self.generic_visit(node)
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            del node.args[0]
        node.args = [
            argument
            for argument in node.args
            if not (isinstance(argument, ast.Constant) and argument.value is None)
            and getattr(argument, "id", getattr(argument, "attr", None)) != "name"
        ]
        return node


def mutants(path):
    """The names of the mutants in one mutated file that change more than a message."""
    functions = {
        node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
    }

    def compared(name):
        return ast.dump(ast.Module(WithoutMessages().visit(functions[name]).body, []))

    originals = {name.removesuffix("orig"): compared(name) for name in functions if name.endswith("__mutmut_orig")}
    for name in functions:
        stem, _, number = name.rpartition("__mutmut_")
        original = originals.get(f"{stem}__mutmut_")
        if number.isdigit() and not stem.endswith(MESSAGE_FUNCTIONS) and compared(name) != original:
            yield f"{'.'.join(path.with_suffix('').parts[1:])}.{name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    mutated = sorted(path.with_suffix("") for path in Path("mutants").glob("*/*.py.meta"))
    names = [name for path in mutated for name in mutants(path)]
    print(*random.Random(args.seed).sample(names, args.n), sep="\n")


if __name__ == "__main__":
    main()
