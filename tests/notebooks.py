"""Runs the notebooks of the examples in a kernel, as a user does."""

import os
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"


def execute(notebook, folder):
    """Runs all cells with ``folder`` as the working directory. An error in a cell is raised here."""
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=300, resources=resources, record_timing=False, coalesce_streams=True)
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}  # without the version of Python


def check(name, folder):
    """Runs a notebook; returns the outputs of this run and the outputs stored in the file.

    If the variable NIM_ENV_NEW_NOTEBOOKS is set, the outputs of this run are stored first. Asserts that no cell
    writes to stderr, where warnings appear, and that the notebook has fewer than ten code cells.
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
    """Returns the kinds and the text of all outputs, without HTML tags and the addresses of objects."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = data.get("text/html") or data.get("text/plain") or output.get("text", "")
            text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
            text = re.sub(r"<[^>]+>", " ", text)
            texts.append((sorted(data), " ".join(text.split())))
    return texts
