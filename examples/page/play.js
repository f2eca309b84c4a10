// Playing: what happens to the game when someone chooses, moves, goes back or changes the opponent.

import { draw, drawChosen } from "./draw.js";
import { $, isStill, sleep, toast } from "./dom.js";
import { Game, isSameBoard, toLink } from "./game.js";
import { Learner } from "./learner.js";
import { opponentMove } from "./players.js";
import { limit } from "./rules.js";
import { S, gamesOf, isFriend, isOpponent, isYours, levelOf, reasonAgainst } from "./state.js";
import { announce, sayMove } from "./status.js";

const THINK = 350, MARK = 750, LEAVE = 260; // milliseconds
const LONGER = { "1,3,5,7,9": "data/five_heaps.json" }; // tables of misère boards that were trained for longer

let training; // a promise

export function choose(heap, number, by = S.by) {
  S.by = by;
  const size = S.game.heaps[heap];
  if (!isYours() || !size) return;
  const most = limit(size, S.game.rules);
  S.isTooMany = Boolean(S.game.rules.max) && number > S.game.rules.max;
  S.chosen = { heap, count: Math.max(1, Math.min(number, most)) };
  drawChosen();
}

export function unchoose() {
  Object.assign(S, { chosen: null, isTooMany: false });
  drawChosen();
}

/** Makes the chosen move and the replies to it. */
export async function takeChosen() {
  const move = S.chosen;
  if (!move || !isYours()) return;
  document.body.classList.remove("first-visit");
  S.chosen = null;
  await whileBusy(async () => {
    await perform(move);
    await reply();
  });
  if (S.game.winner !== null) $("do-again").focus({ preventScroll: true, focusVisible: S.by === "keys" });
}

async function whileBusy(act) {
  S.isBusy = true;
  try {
    await act();
  } catch (error) {
    console.error(error);
    toast("The opponent could not be loaded. Choose another one.");
  }
  S.isBusy = false;
  count();
  draw();
  announce();
  writeLink();
}

/** The opponent's move, if it is its turn. */
async function reply() {
  const { game } = S;
  if (game.winner !== null || !isOpponent(game.player)) return;
  draw();
  await Promise.all([sleep(THINK), levelOf(S.level)?.isTrained || S.level === "stage" ? training : null]);
  await perform(await opponentMove(S.level, game.heaps, game.rules, S.learner, gamesOf(S.level)));
}

/** Marks the blocks, lets them leave, and adds the move to the game. */
async function perform(move) {
  const { player } = S.game;
  draw();
  const blocks = [...$("board").querySelectorAll(`[data-heap="${move.heap}"] .block:not(.ghost)`)].slice(-move.count);
  for (const block of blocks) block.classList.add("going", `p${player}`);
  if (isOpponent(player)) {
    sayMove(move);
    await sleep(MARK);
  }
  if (!isStill.matches) {
    for (const block of blocks) block.classList.add("leaving");
    await sleep(LEAVE);
  }
  S.game.play(move);
}

/** Counts a game that is over, once. */
function count() {
  const { winner } = S.game;
  if (winner === null || S.isCounted) return;
  S.score[winner] += 1;
  S.isCounted = true;
}

export async function newGame() {
  if (S.isBusy) return;
  if (S.game.moves.length) S.number += 1;
  const first = { you: 0, opponent: 1, turns: (S.number + 1) % 2 }[S.starts];
  show(new Game(S.game.rules, first));
  await whileBusy(reply);
}

/** Shows another game in its present position. */
function show(game) {
  Object.assign(S, { game, view: null, chosen: null, isTooMany: false, isCounted: false });
}

export function undo() {
  const { moves } = S.game;
  const last = isFriend() ? moves.length - 1 : moves.findLastIndex((_, ply) => S.game.playerAt(ply) === 0);
  if (S.isBusy || last < 0) return;
  continueFrom(last);
  toast("Your last move is taken back.");
}

export async function continueFrom(ply) {
  if (S.isCounted) S.score[S.game.winner] -= 1;
  S.game.moves.length = ply;
  show(S.game);
  await whileBusy(reply);
}

export function setLevel(id) {
  const own = levelOf(id)?.table;
  S.level = id;
  S.games = gamesOf(id) ?? S.games;
  if (own && !isSameBoard(own.rules, S.game.rules)) return setRules(own.rules);
  return newGame();
}

/** Trains the learner of a board, and plays on it. */
export function setRules(rules, game = null) {
  S.learner = new Learner(rules);
  show(game ?? new Game(rules, S.game.first));
  checkLevel();
  training = train(S.learner);
  return game ? whileBusy(reply) : newGame();
}

/** The theory plays where the opponent cannot. */
function checkLevel() {
  const level = levelOf(S.level), own = level?.table;
  const isOff = S.level === "stage" ? !S.learner.isSmall : reasonAgainst(level) || (own && !isSameBoard(own.rules, S.game.rules));
  if (isOff) S.level = "perfect";
}

async function train(learner) {
  if (!learner.isSmall) return;
  const { games } = S;
  await learner.train(() => learner === S.learner);
  if (learner !== S.learner) return;
  const longer = learner.rules.misere && !learner.rules.max && LONGER[learner.rules.heaps];
  if (longer) learner.addLonger(await (await fetch(longer)).json());
  if (S.games === games) S.games = gamesOf(S.level) ?? games; // nobody has looked at another stage
  S.games = learner.stages[learner.stageOf(S.games)];
  if (!S.isBusy) draw();
}

/** Shows a past position. At the end of a game, the list of moves also shows the last one as past. */
export function view(ply, isFromList = false) {
  const isNow = ply >= S.game.moves.length && !(isFromList && S.game.winner !== null);
  Object.assign(S, { view: isNow ? null : Math.max(0, ply), chosen: null });
  draw();
  if (isFromList) announce();
}

const nameInLink = () => (S.level === "stage" ? S.games : levelOf(S.level).table ? levelOf(S.level).name : S.level);

export function writeLink() {
  try { history.replaceState(null, "", toLink(S.game, nameInLink())); } catch { /* a sandboxed frame */ }
}
