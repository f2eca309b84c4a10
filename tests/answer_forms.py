"""Ways in which a language model may write its answer. HEAP stands for a heap's letter, and COUNT for a number."""

from itertools import product


def filled(form, heap, count):
    """Fills a move into an answer."""
    return form.replace("HEAP", heap).replace("COUNT", str(count))


MOVES = [
    "Move: HEAP COUNT",
    "move: HEAP COUNT.",
    "MOVE : HEAP, COUNT",
    "Move:HEAP  COUNT!",
    "Move: (HEAP, COUNT)",
    'Move: "HEAP COUNT"',
    "Move: **HEAP** `COUNT`",
    "**Move:** HEAP COUNT",
    "**Move**: [HEAP, COUNT]",
    "Move： HEAP COUNT",
    r"Move: $HEAP\ COUNT$",
    r"\text{Move: } HEAP\,COUNT",
]
ENDS = [  # ways in which an answer may end; LINE stands for the line with the move
    "LINE",
    "**LINE**",
    "### LINE\n",
    "> - LINE",
    "“LINE”",
    "```text\nLINE\n```",
    "$$\\boxed{LINE}$$",
    "\\[ \\textbf{LINE} \\]\n\n---\n",
    "<answer>LINE</answer>",
    "LINE<|im_end|></s>",
    "Move: A 1\nNo, that loses.\r\nLINE\r\n",
    "<think>\nMove: A 1\n</think>\nLINE",
    "[THINK]Move: A 1[/THINK]LINE",
    "◁think▷Move: A 1◁/think▷LINE",
    "Move: A 1 perhaps\n</think>\n\nLINE",
    "<|channel|>analysis<|message|>Move: A 1<|end|><|channel|>final<|message|>LINE<|return|>",
]
READ = [end.replace("LINE", move) for move, end in product(MOVES, ENDS)]
NO_MOVE = [
    "",
    "Move: X N",
    "Move HEAP COUNT",
    "Remove: HEAP COUNT",
    "Move: HEAPCOUNT",
    "Move: HEAP = COUNT",
    "Move: HEAP -COUNT",
    "Move: HEAP COUNT.5",
    "Move: HEAP COUNT,000",
    "Move: HEAP COUNT?",
    "Move: COUNT HEAP",
    "Move: AHEAP COUNT",
    "Move: HEAP COUNT, Move: A 1",
    "Move: HEAP\nCOUNT",
    "~~Move: HEAP COUNT~~",
    "1. Move: HEAP COUNT",
    "\\cancel{Move: HEAP COUNT}",
    "Move: HEAP COUNT\nThis leaves an XOR of 0.",
    "Is it this?\nMove: HEAP COUNT\nThe other player then ta",
    "<think>\nMove: HEAP COUNT",
    "<THINKING>\nMove: HEAP COUNT\n",
    "<seed:think>\nMove: HEAP COUNT",
    "[THINK]\nMove: HEAP COUNT",
    "◁think▷\nMove: HEAP COUNT",
    "<think></think><think>\nMove: HEAP COUNT",
    "Move: HEAP COUNT</think>\nI do not know.",
    "<|channel|>analysis<|message|>\nMove: HEAP COUNT",
    "<|channel|>commentary<|message|>\nMove: HEAP COUNT<|end|>",
]
