"""Running the notebooks of the examples as a user does, in a kernel."""

import os
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"


def execute(notebook, folder):
    """Runs all cells, with the folder of the notebooks on the path; an error in a cell is an error here."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, resources=resources, record_timing=False).execute()
    notebook.metadata["language_info"] = {"name": "python"}  # without the version


def check(name, folder):
    """Runs a notebook; returns what it shows now and what its file shows, after recording if that is asked for.

    A notebook shows no warnings, and has fewer than ten cells of code.
    """
    path = NOTEBOOKS / name
    notebook = nbformat.read(path, as_version=4)
    before = shown(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert 0 < len(cells) < 10
    execute(notebook, folder)
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    if os.environ.get("NIM_ENV_NEW_NOTEBOOKS"):
        nbformat.write(notebook, path)
        before = shown(notebook)
    return shown(notebook), before


def shown(notebook):
    """The text of all outputs: tables without their tags, objects without their addresses."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = data.get("text/html") or data.get("text/plain") or output.get("text", "")
            text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
            text = re.sub(r"<[^>]+>", " ", text)
            texts.append((sorted(data), " ".join(text.split())))
    return texts
