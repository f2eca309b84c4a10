"""Writes the data of the page: the weights of two proven networks, one for misère and one for normal play.

The weights are read from two certificates of examples/learn_the_rule, and saved as JSON files in
examples/page/data. The script prints the size of each file.

    python docs/scripts/make_page_data.py

Install: pip install -e .   (in the project folder)
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA = EXAMPLES / "page" / "data"
CERTIFICATES = EXAMPLES / "learn_the_rule" / "certificates"
NETWORKS = {"misere": "misere0.npz", "normal": "normal0.npz"}


def main(folder: Path = DATA) -> None:
    """Writes a file for each network, with its weights under their names in the network's state_dict."""
    folder.mkdir(parents=True, exist_ok=True)
    for network, certificate in NETWORKS.items():
        with np.load(CERTIFICATES / certificate) as arrays:
            names = [name for name in arrays.files if arrays[name].dtype == np.float32 and name != "boxes"]
            weights = {name: shortest(arrays[name]) for name in names}
        path = folder / f"network_{network}.json"
        path.write_text(json.dumps(weights, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{path}: {path.stat().st_size:,} bytes")


def shortest(array: np.ndarray) -> Any:
    """Converts a float32 array to nested lists of the shortest decimal numbers that round to the same float32."""
    if array.ndim:
        return [shortest(part) for part in array]
    return float(str(array))


if __name__ == "__main__":
    main()
