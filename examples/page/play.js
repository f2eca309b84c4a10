// Playing. Whatever changes the game is a command, and commands run one after another: while the opponent moves,
// the last one that was given waits.

import { draw, drawChosen } from "./draw.js";
import { $, isStill, keep, read, sleep, toast, untoast } from "./dom.js";
import { Game, isSameBoard } from "./game.js";
import { Learner, generator } from "./learner.js";
import { toLink } from "./links.js";
import { LEVELS, opponentMove } from "./players.js";
import { isSame, limit } from "./rules.js";
import { S, gamesOf, hasPlayed, isFriend, isOpponent, isStopped, isYours, levelOf, reasonAgainst, scoreOf, tableOf } from "./state.js";
import { announce } from "./status.js";
import { LESSONS, failureOf, newGameSaid, replaced, taughtText } from "./words.js";

const THINK = 350, MARK = 750, LEAVE = 260, WAIT = 50; // milliseconds

// --- The queue --------------------------------------------------------------------------------------

let running = null, waiting = null;

/** Runs a command and then the opponent's move, if it is its turn. */
export function run(command) {
  waiting = command;
  return (running ??= runAll());
}

async function runAll() {
  try {
    while (waiting) await runOne(waiting);
  } finally {
    running = null; // after a fault in drawing too
  }
}

async function runOne(command) {
  waiting = null;
  S.isBusy = true;
  try {
    await command();
    await reply();
    finish();
  } catch (error) {
    S.failure = failureOf(error);
  }
  Object.assign(S, { isBusy: false, going: null });
  draw();
  announce();
  writeLink();
}

async function reply() {
  const { game } = S;
  if (game.winner !== null || S.view !== null || S.failure || !isOpponent(game.player) || isStopped()) return;
  draw();
  writeLink(); // it has your move
  await sleep(THINK);
  // its own copy: another table may be shown, or taught, in this game
  while (levelOf(S.level).isTrained && !(game.table ??= tableOf(S.level)?.slice())) {
    if (waiting) return; // another command comes before its training
    await sleep(WAIT);
  }
  await perform(await opponentMove(S.level, game.heaps, game.rules, S.learner, game.table));
}

/** Marks the blocks, lets them leave, and adds the move to the game. */
async function perform(move) {
  S.going = { ...move, isLeaving: false };
  draw();
  if (isOpponent(S.game.player)) {
    announce();
    await sleep(MARK);
  }
  if (!isStill.matches) {
    S.going.isLeaving = true;
    draw();
    await sleep(LEAVE);
  }
  S.going = null;
  S.game.play(move);
}

/** Adds the lessons that the browser keeps. */
export const readLessons = () =>
  (read("nim-lessons") ?? "").split(",").filter(Boolean).forEach((index) => S.done.add(Number(index)));

/** Once at the end of a game: counts it, ticks the lesson, and lets the learner learn. */
function finish() {
  const { game, learner } = S, { winner } = game;
  if (winner === null || S.isFinished) return;
  S.isFinished = true;
  const at = LEVELS.findIndex(({ id }) => id === S.level), next = LEVELS[at + 1];
  S.next = at >= 0 && next && next.id !== "friend" && !reasonAgainst(next) ? next : null;
  S.hasWonNow = winner === 0 || isFriend();
  if (S.lesson !== null) {
    readLessons(); // another tab may have added some
    if (winner === 0) S.done.add(S.lesson);
    keep("nim-lessons", [...S.done].join());
    return;
  }
  S.countedIn = scoreOf();
  S.countedIn[winner] += 1;
  if (S.level !== "pupil") return;
  const own = learner.teach(game.moves).filter((_, ply) => game.playerAt(ply) === 1);
  own.sort((one, other) => Math.abs(other.to - other.from) - Math.abs(one.to - one.from));
  if (own.length) S.told = taughtText(own[0], winner === 1);
}

// --- Choosing and taking ----------------------------------------------------------------------------

export function choose(heap, number, by = S.by) {
  const size = S.game.heaps[heap], { max } = S.game.rules, isSameInput = S.by === by;
  S.by = by;
  if (!isYours() || !size) return;
  const chosen = { heap, count: Math.max(1, Math.min(number, limit(size, S.game.rules))) };
  const isTooMany = Boolean(max) && number > max;
  const isSameChoice = S.chosen && isSame(S.chosen, chosen) && S.isTooMany === isTooMany;
  if (isSameChoice && isSameInput) return; // a pointer moves within a block
  Object.assign(S, { chosen, isTooMany });
  drawChosen();
}

export function unchoose() {
  if (!S.chosen) return;
  Object.assign(S, { chosen: null, isTooMany: false });
  drawChosen();
}

export async function takeChosen() {
  const move = S.chosen;
  if (!move || !isYours()) return;
  await run(async () => {
    Object.assign(S, { chosen: null, isFirst: false, before: null });
    untoast();
    await perform(move);
  });
  if (S.game.winner !== null || isStopped()) $("status-actions").firstElementChild.focus({ preventScroll: true, focusVisible: S.by === "keys" });
}

// --- Commands ---------------------------------------------------------------------------------------

/** Shows another game in its present position. Undo brings a running one back. */
function show(game, view = null) {
  Object.assign(S, { game, view, chosen: null, isTooMany: false, told: null, failure: null, film: null, going: null });
  Object.assign(S, { hasWonNow: false, isFinished: game.winner !== null, countedIn: null });
}

/** Keeps a game that a command is about to end. */
function remember() {
  const { game, learner, level, wanted, stage, games, starts, number, lesson } = S;
  const isRunning = hasPlayed() && game.winner === null;
  S.before = isRunning ? { game, learner, level, wanted, stage, games, starts, number, lesson } : null;
}

export function restore() {
  if (!S.before) return;
  const { game, ...rest } = S.before, isCut = rest.learner !== S.learner && !rest.learner.isTrained;
  Object.assign(S, rest, { before: null });
  show(game);
  if (isCut) useBoard(game.rules); // its training had ended with its board
  untoast();
}

function begin() {
  if (S.game.moves.length) S.number += 1;
  const first = S.lesson !== null ? LESSONS[S.lesson].first : { you: 0, opponent: 1, turns: (S.number + 1) % 2 }[S.starts];
  show(new Game(S.learner.rules, first));
  if (S.before) toast(newGameSaid(), true);
}

export function newGame() {
  remember();
  begin();
}

export function undo() {
  const { moves } = S.game;
  continueFrom(isFriend() ? moves.length - 1 : moves.findLastIndex((_, ply) => S.game.playerAt(ply) === 0));
}

export function continueFrom(ply) {
  const { game } = S;
  if (ply < 0) return;
  if (S.countedIn) S.countedIn[game.winner] -= 1;
  game.moves.length = ply;
  show(game);
}

export function setLevel(id) {
  const own = levelOf(id).table;
  remember();
  if (id === "pupil") S.learner.startTaught(S.games);
  else S.learner.taught = null;
  if (id === "stage" || id === "pupil") S.stage = S.games;
  S.wanted = id;
  S.lesson = null;
  if (own && !isSameBoard(own.rules, S.learner.rules)) useBoard(own.rules);
  checkLevel();
  S.games = gamesOf(S.level) ?? S.games;
  begin();
}

/** Another board, and a new game on it. */
export function setRules(rules, lesson = null) {
  remember();
  if (S.lesson === null) S.home = S.game.rules;
  S.lesson = lesson;
  useBoard(rules);
  checkLevel();
  begin();
}

/** Opens the game of a link; the level may be null. */
export function openGame({ game, view, stage, vs }, level) {
  Object.assign(S, { wanted: level, lesson: null, starts: game.first ? "opponent" : "you" });
  useBoard(game.rules);
  checkLevel();
  show(game, view);
  S.isFirst &&= !hasPlayed();
  if (level === "stage") S.stage = Number(vs);
  S.games = stage ?? gamesOf(S.level) ?? S.games;
}

/** The learner of a board, which trains at once. */
export function useBoard(rules, seed) {
  S.learner = new Learner(rules, seed && generator(seed));
  train(S.learner);
}

/** The theory plays where the wanted opponent cannot, and says so. */
function checkLevel() {
  const wanted = levelOf(S.wanted), reason = reasonAgainst(wanted);
  S.level = S.lesson !== null || reason ? "perfect" : S.wanted;
  if (reason && S.lesson === null) toast(replaced(wanted.name, reason));
}

async function train(learner) {
  if (!learner.isSmall) return;
  const { games } = S;
  await learner.train(() => learner === S.learner);
  if (learner !== S.learner) return;
  if (S.games === games && S.level !== "stage") S.games = gamesOf(S.level) ?? games; // nobody looked at another stage
  for (const name of ["games", "stage"]) S[name] = learner.stages[learner.stageOf(S[name])];
  if (S.level === "pupil" && !learner.taught) learner.startTaught(S.games);
  draw();
}

/** Shows a past position. At the end of a game, the list of moves also shows the last one as past. */
export function view(ply, isFromList = false) {
  const isNow = ply >= S.game.moves.length && !(isFromList && S.game.winner !== null);
  Object.assign(S, { view: isNow ? null : Math.max(0, ply), chosen: null });
}

export function writeLink() {
  const { game, level, view: ply, panel, games, stage } = S;
  const vs = level === "stage" || level === "pupil" ? stage : levelOf(level).table ? levelOf(level).name : level;
  const link = toLink(game, { vs, view: ply, panel, stage: panel === "learn" ? games : null });
  try { history.replaceState(null, "", link); } catch { /* a sandboxed frame */ }
}
