import { LESSONS } from "./boards.js";
import { $, make, sync } from "./dom.js";
import { after, analyze, isOver } from "./rules.js";
import { hasGroups, isFriend, lesson, names, phase, shownPly, state } from "./state.js";
import { turnOf } from "./status.js";
import * as words from "./words.js";

const makeMove = (_, ply) => {
  const number = make("span", { textContent: turnOf(ply) });
  const parts = [make("i", { className: "mark" }), make("b"), make("span"), make("span")];
  return make("li", {}, make("button", { data: { do: "view", value: ply + 1 } }, number, ...parts));
};

export function drawMoves() {
  const { game, view } = state;
  const { decisive: flag } = game;
  sync($("moves"), game.moves, makeMove, (item, move, ply) => {
    const button = item.firstElementChild;
    const [, , name, text, rating] = button.children;
    const [mark, title] = game.winner === null ? ["", ""] : words.RATINGS[move.rating];
    button.className = `move p${game.playerAt(ply)}`;
    button.setAttribute("aria-current", view === ply + 1 ? "step" : "false");
    name.textContent = names()[game.playerAt(ply)];
    text.textContent = `took ${words.wordsOf(move)}`;
    rating.className = `rating ${move.rating}`;
    Object.assign(rating, { title, textContent: ply === flag ? "⚑ gave the win away" : mark });
  });
}

export function drawReplay() {
  const n = state.game.moves.length;
  const ply = shownPly();
  const isOpen = ["past", "over"].includes(phase());
  $("replay").hidden = !isOpen;
  $("actions").hidden = isOpen || ["stopped", "failed", "watching"].includes(phase());
  if (!isOpen) return;
  Object.assign($("ply"), { max: n, value: ply });
  $("ply").setAttribute("aria-valuetext", `${$("say").textContent}. ${$("how").textContent}`);
  $("prev").disabled = ply === 0;
  $("next").disabled = ply === n;
}

export function drawTeach() {
  const { game } = state;
  const { board } = game;
  const chosen = lesson() ? null : state.chosen;
  const here = game.heapsAt(shownPly());
  const heaps = chosen ? after(here, chosen) : here;
  const analysis = analyze(heaps, board);
  const [verdict, kind] = chosen ? verdictAfter(here, heaps) : verdictOf(analyze(here, board));
  drawLessons();
  Object.assign($("verdict"), { textContent: verdict, className: kind });
  const hint = lesson() ? "" : words.hintText(heaps, board, analysis);
  const text = state.showsMove ? words.lessonText(heaps, board, analysis) : hint;
  $("lesson").textContent = chosen || !isYourTurn() || isOver(heaps) ? "" : text;
  $("shows-move").checked = state.showsMove;
  $("legend").textContent = words.legendText(board);
  $("legend").hidden = !hasGroups() || isOver(heaps);
  $("reasons").hidden = Boolean(lesson());
  $("why").replaceChildren(...words.whyTexts(board).map((textContent) => make("p", { textContent })));
}

function verdictAfter(here, heaps) {
  const { board } = state.game;
  if (!analyze(heaps, board).isWon && (heaps.some(Boolean) || !board.misere))
    return ["✓ This move keeps the win.", "good"];
  return analyze(here, board).isWon ? ["✗ This move gives the win away.", "bad"] : ["No move wins from here.", ""];
}

const isYourTurn = () => isFriend() || state.game.playerAt(shownPly()) === 0;

function verdictOf({ isWon }) {
  const other = names()[1];
  if (lesson() && state.game.winner === 0) return ["✓ Lesson done.", "good"];
  if (isOver(state.game.heapsAt(shownPly()))) return ["The game is over: ‹ goes back.", ""];
  if (isYourTurn()) {
    return isWon ? ["✓ You can win from here.", "good"] : ["No move wins by force. Wait for a mistake.", ""];
  }
  const plan = lesson()?.plan ?? `${other} cannot win by force.`;
  return isWon ? [`${other} can win from here.`, "bad"] : [plan, "good"];
}

function drawLessons() {
  $("lesson-text").textContent = lesson()?.text;
  $("lesson-text").hidden = !lesson();
  const create = (_, value) => make("button", { data: { do: "lesson", value } });
  sync($("lessons"), LESSONS, create, (button, board, i) => {
    button.textContent = `${state.done.has(i) ? "✓" : i + 1} ${board.name}`;
    button.setAttribute("aria-pressed", lesson() === board);
  });
}
