// The status, the only voice of the page: what has happened, whose turn it is, the goal, and how to move.

import { $, make } from "./dom.js";
import { nameOf } from "./rules.js";
import { LEVELS } from "./players.js";
import { S, isFriend, isOpponent, names, shownPly } from "./state.js";

const goal = () => `Whoever takes the last block ${S.game.rules.misere ? "loses" : "wins"}.`;
const words = ({ heap, count }) => `${count} from ${nameOf(heap)}`;

function howTo() {
  const isLying = $("board").classList.contains("lying"), { max } = S.game.rules;
  const isOneColumn = $("board").style.getPropertyValue("--columns") === "1";
  const top = `${isLying ? "last" : "top"} ${max}`;
  const rest = isLying ? "all to its right" : isOneColumn ? "all above it" : "the others that are marked";
  return {
    mouse: max ? `Click one of the ${top} blocks.` : `Click a block to take it and ${rest}.`,
    touch: max ? `Tap one of the ${top}, then Take.` : "Tap a block, then Take.",
    keys: max ? `Arrow keys choose 1 to ${max}, Enter takes.` : "Arrow keys choose, Enter takes.",
  }[S.by];
}

/** What the status says: the words, the player whose color it has, its kind, and its buttons [text, data-do, value]. */
function statusNow() {
  const { game } = S, { winner } = game;
  if (S.view !== null) return pastStatus();
  if (winner !== null) return endStatus(winner);
  const { player } = game, last = game.moves.at(-1), { max } = game.rules;
  if (S.isBusy) return isOpponent(player) ? { say: "Opponent is choosing …", how: "", aim: goal(), player } : null;
  if (S.isTooMany) {
    return { say: `At most ${max} in one move`, how: `Choose one of the top ${max} blocks.`, aim: goal(), player, kind: "error" };
  }
  const told = last && !isFriend() ? `Opponent took ${words(last)}. Your turn.` : "Your turn";
  return { say: isFriend() ? `${names()[player]}’s turn` : told, how: howTo(), aim: goal(), player };
}

function endStatus(winner) {
  const { game } = S, flag = game.decisive;
  const say = isFriend() ? `${names()[winner]} wins!` : winner === 0 ? "You win!" : "You lose.";
  const told = `${names()[game.playerAt(game.moves.length - 1)]} took the last block.`;
  const why = flag < 0 ? `${names()[winner]} could win from the start.`
    : isFriend() ? `Move ${flag + 1} gave the win away.`
    : winner === 1 ? `Move ${flag + 1} gave it the win.` : `Its move ${flag + 1} gave you the win.`;
  const next = LEVELS[LEVELS.findIndex(({ id }) => id === S.level) + 1];
  const isNext = winner === 0 && next && ["student", "master", "perfect"].includes(next.id) && S.level !== "stage";
  const isLost = flag < 0 && winner === 1 && game.first === 0 && !isFriend();
  const buttons = [
    ...(isNext && S.learner.isSmall ? [[`Next: ${next.name}`, "level", next.id]] : []),
    ...(isLost ? [["Let it start", "starts", "opponent"]] : []),
    ["Play again", "again"],
  ];
  return { say, how: `${told} ${why}`, player: winner, kind: "over", buttons };
}

/** A position of the past: which move led to it, and whether it was the mistake. */
function pastStatus() {
  const { game } = S, ply = shownPly(), flag = game.decisive, isEnd = game.winner !== null, n = game.moves.length;
  const move = game.moves[ply - 1], player = ply ? game.playerAt(ply - 1) : game.first;
  const say = ply ? `${names()[player]} took ${words(move)}` : `Start: ${names()[game.first]} to move`;
  const isIts = flag >= 0 && isOpponent(game.playerAt(flag)); // the mistake
  let how = ply ? `Move ${ply} of ${n}.` : "", aim = "", kind = "past";
  if (flag >= 0 && ply === flag + 1) {
    aim = isFriend() ? `Here ${names()[player]} gave the win away.`
      : player === 0 ? "Here you gave it the win." : "Here it gave you the win.";
    how = `Better: ${words(game.better)}.`;
    kind = "past flagged";
  } else if (flag >= 0 && ply === flag) {
    how = isIts ? `Before its mistake. ${words(game.better)} wins for it.` : `Before the mistake. ${words(game.better)} wins.`;
  }
  const buttons = isEnd
    ? [...(ply === flag && !isIts ? [["Try again from here", "from-here", ply]] : []),
      ...(ply === flag + 1 ? [["Show better", "view", flag]] : []), ["Play again", "again"]]
    : [["Back to the game", "view", n], ["Play on from here", "from-here", ply]];
  return { say, how, aim, player, kind, buttons };
}

export function drawStatus() {
  const status = statusNow();
  if (!status) return;
  say(status);
  const isFilled = status.kind === "over", hasFocus = $("status-actions").contains(document.activeElement);
  $("status").dataset.hasActions = Boolean(status.buttons);
  $("status-actions").replaceChildren(...(status.buttons ?? []).map(([textContent, action, value]) =>
    make("button", { textContent, id: `do-${action}`, className: isFilled ? "on-fill" : "", data: { do: action, value } })));
  const next = $("status-actions").firstElementChild ?? $("board").querySelector("[tabindex='0']") ?? $("board");
  if (hasFocus) next.focus({ preventScroll: true });
}

function say({ say: text, how, aim = "", player, kind = "" }) {
  $("say").textContent = text;
  $("how").replaceChildren(...(aim ? [make("b", { textContent: aim }), " "] : []), how);
  $("status").className = `p${player} ${kind}`;
}

export const sayMove = (move) =>
  say({ say: `Opponent takes ${words(move)} …`, how: "", aim: goal(), player: 1 });

/** For screen readers: the whole position in one sentence, once a turn. */
export function announce() {
  const heaps = S.game.heapsAt(shownPly()), left = heaps.map((size, heap) => `${nameOf(heap)} ${size}`).join(", ");
  $("live").textContent = `${$("say").textContent} ${heaps.some(Boolean) ? `Left: ${left}. ` : ""}${$("how").textContent}`;
}
