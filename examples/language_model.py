"""A language model plays Nim in words: an exact evaluation, and reinforcement learning.

The script queries a model on every position of the board. It prints how often the form of an answer fails, the
rules, and the move; the exact figures, where an answer without a legal move loses; and the worst answers. The
model is on a server of the OpenAI chat interface, in a folder, on the hub of Hugging Face, or the tiny one, which
this script makes and trains.

    python examples/language_model.py
    python examples/language_model.py --model FOLDER --heaps 1 3 5
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --heaps 1 3 5 7
    python examples/language_model.py --model NAME --server http://localhost:8000/v1 --style all --games 100

A server's key is read from the environment variable OPENAI_API_KEY. Its answers are kept in --folder, so the same
command continues after an interruption, and asks again where no answer came.

The tiny model learns the form of an answer from random legal moves, and then to win by GRPO (Shao et al. 2024,
arXiv:2402.03300, section 4.1) with the exact reward of each move (nim_env.text.move_reward).

Install: pip install -e ".[examples,llm]"
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from tqdm import tqdm

from nim_env import NimRules, evaluation, text
from nim_env.appearance import COLORS

from check_player import show_report
from common import percent, run, save_figure

JudgedAnswer: TypeAlias = tuple[tuple[int, ...], str, text.Verdict]
Ask: TypeAlias = Callable[[list[dict[str, str]]], str]  # from the messages of a chat to the next answer

CONCURRENCY = 8  # requests to a server at the same time
CUT_OFF = "[cut off]"  # the end of such an answer, so that half a number is no move
PROPERTIES = {"heap": {"type": "string"}, "count": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["heap", "count"], "additionalProperties": False}


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 2, 3)
    """Starting heap sizes; the model is queried on every position of the board."""
    board_seed: int | None = None
    """Draws each heap between 1 and its size in --heaps, for a board that no model remembers."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    model: str = "tiny"
    """The model: its name on the server or the hub, its folder, or tiny."""
    server: str | None = None
    """The base URL of a server of the OpenAI chat interface; None for a model that runs here."""
    style: text.Style | Literal["all"] = "nim"
    """The words of the prompts: the game's name, its rules without the name, or a story about numbers."""
    games: int = 0
    """The number of whole games against each opponent, in which a server's model sees its earlier turns."""
    samples: int = 1
    """The number of answers for each position."""
    temperature: float = 0.0
    """The temperature of the answers."""
    json: bool = False
    """Whether the server is asked for JSON with a heap and a count instead of a line of text."""
    max_tokens: int = 1024
    """The maximum number of tokens of an answer."""
    max_steps: int = 200
    """The number of updates of the tiny model by GRPO."""
    seed: int = 0
    """Random seed of the models that run here."""
    folder: Path = Path("results/language_model")
    """Where the answers of a server, the tiny model and the figure are saved."""


def main(args: Args) -> dict[str, evaluation.Report]:
    """Evaluates the model in one style or all, and returns the figures of each."""
    if args.games and args.server is None:
        raise ValueError(f"games={args.games} needs a server")
    if args.board_seed is not None:
        heaps = np.random.default_rng(args.board_seed).integers(1, args.heaps, endpoint=True)
        args = replace(args, heaps=tuple(heaps.tolist()))
    reports = {}
    missing = []
    for style in get_args(text.Style) if args.style == "all" else [args.style]:
        reports[style], unanswered = evaluate(replace(args, style=style))
        missing += unanswered
    if args.style == "all":
        show_styles(args, reports)
    if missing:
        raise OSError(f"no answer, which counts as lost, at {len(missing)} positions: {missing}")
    return reports


def evaluate(args: Args) -> tuple[evaluation.Report, list[tuple[int, ...]]]:
    """Queries the model on every position, shows the figures, and returns them and the unanswered positions."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    args.folder.mkdir(parents=True, exist_ok=True)
    path = None
    if args.server is not None:
        ask = ask_server(args)
        complete = at_the_same_time(ask)
        name = f"{args.model.replace('/', '_')}-{args.max_tokens}-{args.temperature:g}"
        path = args.folder / f"{name}{'-json' if args.json else ''}.jsonl"
    else:
        import local_models  # here, since a server needs neither PyTorch nor the seconds of its import

        model, max_tokens = args.model, args.max_tokens
        if model == "tiny":
            model, max_tokens = str(args.folder / "tiny"), local_models.TINY_TOKENS
            local_models.train_tiny(rules, args.style, args.max_steps, args.seed, model)
        complete = local_models.ask(model, max_tokens, args.temperature, args.seed)
    source = {"model": args.model, "server": args.server}
    player = text.LanguageModelPolicy(rules, complete, args.samples, args.style, path, source)
    print(f"{rules}, style {args.style}: answers in {rules.n_positions - 1} positions", flush=True)
    positions = rules.all_positions()[1:]
    player.action_probabilities(positions, rules.action_mask(positions))  # the report asks again where this fails
    report = evaluation.report(rules, player, illegal_action="lose")
    answers = player.judged_answers()
    show_answers(answers)
    show_report(report, f"{args.model}, {rules}", args.folder / f"{args.style}.svg")
    print(f"expert   {share(*expert_answers(report, args.samples))} answers in won positions")
    print("The exploitability is that of these answers. Where they are drawn, it is above the model's by chance.")
    show_worst(answers)
    for opponent in ("random", "take-3", "expert") if args.games else ():
        won_games = share(play_games(args, rules, ask, opponent), args.games)
        exact = percent(getattr(report, f"win_probability_{opponent.replace('-', '_')}"))
        print(f"whole games against {opponent}: {won_games}; the answers above win {exact} %")
    n_answers = Counter(heaps for heaps, _, _ in answers)
    return report, [heaps for heaps in map(tuple, positions.tolist()) if n_answers[heaps] < args.samples]


def play_games(args: Args, rules: NimRules, ask: Ask, opponent: str) -> int:
    """The number of games that the model wins when it sees its earlier turns. It starts every other one."""

    def play(seed: int) -> int:
        turns: list[dict[str, str]] = []

        def complete(prompts: list[str]) -> Iterator[tuple[str, str]]:
            turns.append({"role": "user", "content": prompts[0]})
            answer = ask(turns)
            turns.append({"role": "assistant", "content": answer})
            yield prompts[0], answer

        player = text.LanguageModelPolicy(rules, complete, style=args.style)
        return evaluation.play_match(rules, player, opponent, 1, seed, seed % 2 == 0, "lose").wins

    with ThreadPool(CONCURRENCY) as pool:
        return sum(pool.map(play, range(args.games)))


def show_styles(args: Args, reports: dict[str, evaluation.Report]) -> None:
    """Draws the expert mastery in each style with its 95 % interval, and that of random play."""
    import matplotlib.pyplot as plt

    rules = NimRules(args.heaps, args.max_take, args.misere)
    figure, axis = plt.subplots(figsize=(7.4, 3), layout="constrained")
    for style, report in reports.items():
        axis.bar(style, report.expert, width=0.5, color=COLORS["player_1"])
        result = evaluation.MatchResult(*expert_answers(report, args.samples))
        axis.vlines(style, *result.interval(), color=COLORS["ink"])
    axis.axhline(evaluation.mastery(rules, "random").expert, color=COLORS["flag"], label="random play")
    axis.set(title=f"{args.model}, {rules}", ylabel="expert mastery", ylim=(0, 1))
    axis.legend()
    save_figure(figure, args.folder / "styles.svg")


def show_answers(answers: list[JudgedAnswer]) -> None:
    """Prints three shares: answers that lack the form, break the rules, and win where a legal move can win."""
    counts = Counter(verdict for _, _, verdict in answers)
    n_cut = sum(answer.endswith(CUT_OFF) for _, answer, _ in answers)
    n_thoughts = sum("<think>" in answer.rpartition("</think>")[2] for _, answer, _ in answers)
    n_legal = counts["winning"] + counts["mistake"]
    print(f"no_move  {share(counts['no_move'], len(answers))}; {n_cut} cut off, {n_thoughts} thoughts alone")
    print(f"illegal  {share(counts['illegal'], len(answers))}")
    print(f"winning  {share(counts['winning'], n_legal)} legal moves in won positions")


def show_worst(answers: list[JudgedAnswer]) -> None:
    """Prints an answer at each of the three worst positions."""
    worst: dict[tuple[int, ...], str] = {}
    for fault in ("no_move", "illegal", "mistake"):
        for heaps, answer, verdict in answers:
            if verdict == fault:
                worst.setdefault(heaps, f"{fault}: {answer[-200:]!r}")
    for heaps, fault in list(worst.items())[:3]:
        print(f"{heaps} {fault}")


def expert_answers(report: evaluation.Report, samples: int) -> tuple[int, int]:
    """The number of winning answers in won positions, and of all answers there."""
    n_answers = samples * sum(group.won for group in report.groups)
    return round(report.expert * n_answers), n_answers


def share(n: int, total: int) -> str:
    """A share in percent, with the 95 % Wilson interval of a random sample."""
    if total == 0:
        return "none of 0"
    low, high = evaluation.MatchResult(n, total).interval()
    return f"{percent(n / total)} % ({percent(low)} to {percent(high)} %), {n} of {total}"


def ask_server(args: Args) -> Ask:
    """The answers of a server. A ValueError if it gives none, an OSError if it is not there."""
    import openai  # here, since models that run here do not need it

    key = os.environ.get("OPENAI_API_KEY") or "none"  # a local server needs none
    # a request waits as the header Retry-After says, or 42 to 56 seconds in all
    client = openai.OpenAI(base_url=args.server, api_key=key, max_retries=10)
    parameters: dict[str, Any] = {"max_completion_tokens": args.max_tokens, "temperature": args.temperature}
    if args.json:
        schema = {"name": "move", "strict": True, "schema": SCHEMA}
        parameters["response_format"] = {"type": "json_schema", "json_schema": schema}

    def ask(messages: list[dict[str, str]]) -> str:
        sent = dict(parameters)
        try:
            reply = client.chat.completions.create(model=args.model, messages=messages, **sent)
        except openai.APITimeoutError as error:
            raise ValueError(error) from error
        except openai.APIStatusError as error:
            refused = [name for name in sent if name in error.response.text]
            if not refused:
                raise ValueError(error) from error
            for name in refused:
                if parameters.pop(name, None) is not None:  # another thread may have said it
                    print(f"warning: {args.server} refuses {name}, which is left out")
            return ask(messages)
        except openai.OpenAIError as error:
            raise OSError(f"{args.server}: {error}") from error
        if not getattr(reply, "choices", None) or reply.choices[0].finish_reason == "error":
            raise ValueError(f"no answer but {reply!s:.200}")  # a page of another server is a text
        message = reply.choices[0].message
        answer = message.content or ""
        if isinstance(answer, list):
            answer = "".join(part.get("text") or "" for part in answer)
        if not answer and getattr(message, "reasoning_content", None):
            answer = f"<think>{message.reasoning_content}"
        if args.json:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # the server may send a text
                move = json.loads(answer)
                answer += f"\nMove: {move['heap']} {move['count']}"
        return answer + (CUT_OFF if reply.choices[0].finish_reason == "length" else "")

    return ask


def at_the_same_time(ask: Ask) -> Callable[[list[str]], Iterator[tuple[str, str]]]:
    """A function from prompts to pairs of a prompt and its answer, as they come, in several threads."""

    def attempt(prompt: str) -> list[tuple[str, str]]:
        try:
            return [(prompt, ask([{"role": "user", "content": prompt}]))]
        except ValueError as error:
            tqdm.write(f"no answer: {error!s:.200} to: {prompt}")
            return []

    def complete(prompts: list[str]) -> Iterator[tuple[str, str]]:
        with ThreadPool(CONCURRENCY) as pool:
            results = pool.imap_unordered(attempt, prompts)
            for pairs in tqdm(results, "answers", len(prompts), leave=False, disable=None):
                yield from pairs

    return complete


if __name__ == "__main__":
    run(main, Args)
