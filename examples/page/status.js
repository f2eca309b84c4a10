// The status, on the screen and for screen readers.

import { $, make, sync } from "./dom.js";
import { LESSONS } from "./boards.js";
import { isLimited, isWinning, nameOf } from "./rules.js";
import { betterText, goal, nearText, plural, puzzleText, watchedText, wordsOf } from "./words.js";
import {
  hasPlayed,
  isFriend,
  isNear,
  isOpponent,
  isPuzzle,
  lesson,
  names,
  nextLevel,
  phase,
  shownHeaps,
  shownPly,
  shownTable,
  state,
} from "./state.js";

const letIt = () => [`Let ${state.opponent.name} start`, "starts", "opponent"];
const AGAIN = ["Play again", "again"];
const BACK = ["Take it back", "undo"];
const LAST = ["Back to the last game", "restore"];
const NEXT = ["Next position", "wrong"];

// a button is [text, data-do, value]
const STATUS = { failed, watching, past, over, moving, thinking: moving, stopped, yours };

function failed() {
  return { say: state.failure, kind: "error", buttons: [["Try again", "retry"]] };
}

function watching() {
  const back = ["Back to the game", "view", state.game.moves.length];
  const said = watchedText(state.watched, state.settings.rival);
  return { ...said, player: 1, kind: "watching", buttons: [["Next step", "step"], back] };
}

function moving() {
  const { game, going } = state;
  if (!isOpponent(game.player)) return yours();
  const does = going ? `takes ${wordsOf(going)}` : "is choosing";
  return { say: `${state.opponent.name} ${does} …`, aim: goal(game.board), player: 1 };
}

function stopped() {
  const { moves } = state.game;
  const how = lesson()?.wrong ?? "Which move wins?";
  const buttons = lesson() ? [BACK] : [BACK, NEXT];
  return { say: `${wordsOf(moves.at(-1))} gives the win away`, how, kind: "error", buttons };
}

function yours() {
  const { game, isFirst, chosen } = state;
  const { player, board, start, moves } = game;
  const aim = goal(board);
  if (chosen?.isTooMany) {
    const how = "Choose a bright block.";
    return { say: `At most ${board.max} in one move`, how, aim, player, kind: "error" };
  }
  const last = moves.at(-1);
  const buttons = state.before && !hasPlayed() && !lesson() ? [LAST] : [];
  if (isNear(game) && !last) return { ...nearText(game), aim, player, buttons };
  if (isPuzzle() && !last) {
    const table = shownTable();
    const how = puzzleText(table?.rightIn(table.positions.indexOf(start)));
    return { say: "Which move wins?", how, aim, player, buttons };
  }
  const told = last && !isFriend() ? `${state.opponent.name} took ${wordsOf(last)}. Your turn.` : "";
  const upTo = board.max === 1 ? "1 block" : `1 to ${board.max} blocks`;
  const amount = isLimited(board) ? upTo : "as many blocks as you like";
  const rule = isFirst && !state.panel ? `Take ${amount}, from one heap.` : "";
  const turn = isFriend() ? `${names()[player]}’s turn` : told;
  if (moves.length === 1 && start !== board.heaps && last.rating === "mistake" && !isFriend()) {
    return { say: turn, how: "That was its mistake: now you can win.", aim, player };
  }
  if (isPuzzle() && moves.length === 2) {
    return { say: `✓ ${wordsOf(moves[0])} wins.`, how: turn, aim, player, buttons: [NEXT] };
  }
  if (isLostStart() && !rule) buttons.unshift(letIt());
  return { say: turn || rule || "Your turn", how: turn && rule ? rule : howTo(), aim, player, buttons };
}

function isLostStart() {
  const { game } = state;
  const isStart = game.first === 0 && !game.moves.length && !isFriend() && !lesson();
  return isStart && !isWinning(game.heaps, game.board);
}

function howTo() {
  const { chosen, isFirst, by, layout } = state;
  const { board } = state.game;
  const { isLying, columns } = layout;
  const press = by === "mouse" ? "Click" : "Tap";
  if (chosen && isFirst && !isLimited(board)) {
    return { mouse: "Click to take them.", touch: "Tap Take, or the block again.", keys: "Enter takes them." }[by];
  }
  if (by === "keys") return "Arrow keys choose, Enter takes.";
  if (isLimited(board)) {
    return `${press} a bright block${by === "mouse" ? "" : ", then Take"}.`;
  }
  const rest = isLying ? "it and all to its right" : columns === 1 ? "it and all above it" : "the marked ones";
  return `${press} a block to take ${rest}.`;
}

export const turnOf = (ply) => Math.floor(ply / 2) + 1;

function moveName(ply) {
  const name = names()[state.game.playerAt(ply)];
  return `${name === "You" ? "Your" : `${name}’s`} move ${turnOf(ply)}`;
}

function over() {
  const { game } = state;
  const { winner, decisive: flag } = game;
  const isYours = winner === 0 || isFriend();
  const say = isFriend() ? `${names()[winner]} wins!` : isYours ? "You win!" : "You lose.";
  const aim = `${names()[game.playerAt(game.moves.length - 1)]} took the last block.`;
  const isClean = game.moves.every(({ rating }, ply) => rating !== "mistake" || game.playerAt(ply) !== winner);
  let why = flag < 0 ? `${names()[winner]} could win from the start.` : `${moveName(flag)} gave the win away.`;
  if (isClean && isYours) why = `${names()[winner]} made no mistake${game.isCorrected ? " in the end" : ""}.`;
  const buttons = isYours ? buttonsAfterWin() : buttonsAfterLoss(flag);
  const again = lesson() ? ["Again", "again"] : isPuzzle() ? NEXT : AGAIN;
  return { say, aim, how: game.told ?? why, player: winner, kind: "over", buttons: [...buttons, again] };
}

function buttonsAfterWin() {
  const at = LESSONS.indexOf(lesson());
  if (LESSONS[at + 1] && lesson()) return [["Next lesson", "lesson", at + 1]];
  if (lesson()) return [["Play a whole game", "preset", 0]];
  const next = nextLevel();
  return next ? [[`Next: ${next.name}`, "level", next.id]] : [];
}

function buttonsAfterLoss(flag) {
  if (flag >= 0) return [["Show my mistake", "view", flag]];
  return state.game.first === 0 && !lesson() ? [letIt()] : [];
}

function past() {
  const { game } = state;
  const ply = shownPly();
  const { decisive: flag } = game;
  const n = game.moves.length;
  const aim = "It gave the win away.";
  const better = betterText(game.better);
  if (flag >= 0 && ply === flag) {
    const say = `${moveName(flag)}: ${wordsOf(game.moves[flag])}`;
    const player = game.playerAt(flag);
    const buttons = isOpponent(player) ? [AGAIN] : [["Try again from here", "from-here", ply], AGAIN];
    return { say, aim, how: better, player, kind: "past flagged", buttons };
  }
  const player = ply ? game.playerAt(ply - 1) : game.first;
  const say = ply ? `${names()[player]} took ${wordsOf(game.moves[ply - 1])}` : `Start: ${names()[player]} to move`;
  if (flag >= 0 && ply === flag + 1) {
    return { say, aim, how: better, player, kind: "past flagged", buttons: [["Show better", "view", flag], AGAIN] };
  }
  const how = ply ? `After ${ply} of ${plural(n, "move")}.` : "";
  const onward = ["Play on from here", "from-here", ply];
  const buttons = game.winner === null ? [["Back to the game", "view", n], onward] : [AGAIN];
  return { say, how, player, kind: "past", buttons };
}

export function drawStatus() {
  const { say, how = "", aim = "", player = 0, kind = "", buttons = [] } = STATUS[phase()]();
  const actions = $("status-actions");
  $("say").textContent = say;
  $("aim").textContent = aim;
  $("how").textContent = how;
  $("status").className = `p${player} ${kind}`.trim();
  const create = () => make("button");
  sync(actions, buttons, create, (button, [text, action, value], i) => {
    button.textContent = text;
    button.className = i === 0 ? `primary p${player}` : "";
    Object.assign(button.dataset, { do: action, value: value ?? "" });
  });
  actions.hidden = !buttons.length;
}

export function announce() {
  const heaps = shownHeaps();
  const left = heaps.map((size, heap) => `${nameOf(heap)} ${size}`).join(", ");
  const parts = [$("say"), $("aim"), $("how")].map((node) => node.textContent);
  if (heaps.some(Boolean)) parts.splice(1, 0, `Left: ${left}.`);
  if (state.panel === "teach") parts.push($("verdict").textContent, $("lesson").textContent);
  $("live").textContent = parts.filter(Boolean).join(" ");
}

export function announceChoice() {
  if (state.panel === "teach" && state.chosen && !lesson()) $("live").textContent = $("verdict").textContent;
}
