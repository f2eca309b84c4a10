// Whatever changes the game is a command. While the opponent moves, the last one waits.

import { LESSONS, isSameBoard } from "./boards.js";
import { draw, drawChosen } from "./draw.js";
import { $, keep, prefersStill, read, sleep, toast } from "./dom.js";
import { Game } from "./game.js";
import { Learner, SELF_PLAY, stageName } from "./learner.js";
import { toLink } from "./links.js";
import { EXPERT, learnerAfter } from "./players.js";
import { isLimited, isSame, limit, wonNear } from "./rules.js";
import { hasPlayed, isFriend, isOpponent, lesson, phase, scoreOf, shownGames, state, trainee } from "./state.js";
import { announce } from "./status.js";
import { SAY, failureOf, replaced, taughtText } from "./words.js";

const THINK = 350; // milliseconds
const MARK = 750;
const LEAVE = 260;
const WAIT = 50;
const SLICE = 8;
const DRAWN = 25; // slices of training between two pictures of the page

let running = null;
let waiting = null;
let wake = () => {};

/** Ends early if a command comes. */
const pause = (ms) => (waiting ? null : Promise.race([sleep(ms), new Promise((done) => (wake = done))]));

export function run(command) {
  waiting = command;
  wake();
  return (running ??= runAll());
}

async function runAll() {
  try {
    while (waiting) {
      const command = waiting;
      waiting = null;
      await runOne(command);
    }
  } finally {
    running = null; // after a fault in drawing too
  }
}

async function runOne(command) {
  try {
    state.watched = null;
    await command();
    train();
    await reply();
    finish();
  } catch (error) {
    state.failure = failureOf(error);
  }
  state.going = null;
  draw();
  announce();
  writeLink();
}

async function reply() {
  const { game, opponent, learner } = state;
  if (phase() !== "thinking") return;
  draw();
  writeLink();
  await pause(THINK);
  game.policy ??= opponent.start(learner);
  let move = await game.policy(game.heaps);
  while (!move) {
    if (waiting) return; // another command comes before its training
    await sleep(WAIT);
    move = await game.policy(game.heaps);
  }
  await perform(move);
}

async function perform(move) {
  state.going = { ...move, isLeaving: false };
  draw();
  if (isOpponent(state.game.player)) {
    announce();
    await pause(MARK);
  }
  if (!prefersStill.matches) {
    state.going.isLeaving = true;
    draw();
    await pause(LEAVE);
  }
  state.going = null;
  state.game.play(move);
}

export function readLessons() {
  for (const index of read("nim-lessons")?.match(/\d/g) ?? []) state.done.add(Number(index));
}

export function readHome() {
  const board = JSON.parse(read("nim-home"));
  if (board) state.game = new Game(board, 0);
}

function keepHome(board) {
  if (lesson() || !LESSONS.includes(board)) return;
  state.home = state.game.board;
  keep("nim-home", JSON.stringify(state.home));
}

function finish() {
  const { game, opponent } = state;
  const { winner } = game;
  if (winner === null || game.score) return;
  game.score = lesson() ? [0, 0] : scoreOf();
  game.score[winner] += 1;
  if (lesson()) {
    readLessons(); // another tab may have added some
    if (winner === 0) state.done.add(LESSONS.indexOf(lesson()));
    keep("nim-lessons", [...state.done].join());
  } else if (opponent.taught) {
    const own = opponent.taught.teach(game).filter((_, ply) => game.playerAt(ply) === 1);
    const size = ({ from, to }) => Math.abs(to - from);
    own.sort((one, other) => size(other) - size(one));
    if (own.length) game.told = taughtText(own[0], winner === 1);
    Object.assign(state, { games: null, settings: opponent.settings });
  }
}

export function choose(heap, number, by = state.by) {
  const { board, heaps } = state.game;
  const isSameInput = state.by === by;
  state.by = by;
  if (phase() !== "yours" || !heaps[heap]) return;
  const count = Math.max(1, Math.min(number, limit(heaps[heap], board)));
  const chosen = { heap, count, isTooMany: isLimited(board) && number > board.max };
  const isSameChoice = state.chosen && isSame(state.chosen, chosen) && state.chosen.isTooMany === chosen.isTooMany;
  if (isSameChoice && isSameInput) return;
  state.chosen = chosen;
  drawChosen();
}

export function unchoose() {
  if (!state.chosen) return;
  state.chosen = null;
  drawChosen();
}

export async function takeChosen() {
  const { chosen: move, game } = state;
  if (!move || phase() !== "yours") return;
  await run(async () => {
    if (state.game !== game) return; // a link has opened another
    Object.assign(state, { chosen: null, before: null });
    await perform(move);
    state.isFirst = false;
  });
  if (state.by === "mouse") await sleep(0); // pressing it gives the focus to a heap first
  const how = { preventScroll: true, focusVisible: state.by === "keys" };
  if (["over", "stopped"].includes(phase())) $("status-actions").firstElementChild.focus(how);
}

function show(game, view = null) {
  Object.assign(state, { game, view, chosen: null, failure: null, going: null });
}

/** Starts a new game. The expert plays in lessons, and if the wanted opponent cannot. */
export function begin({ board = state.game.board, start = board.heaps, wanted = state.wanted, first } = {}) {
  const { game, learner, opponent, games, starts, home } = state;
  if (game.winner !== null) state.before = null;
  else if (hasPlayed()) state.before = { game, learner, opponent, wanted: state.wanted, games, starts, home };
  keepHome(board);
  if (board !== game.board) state.showsMove = false;
  if (wanted.games && (wanted.taught || wanted !== state.wanted)) {
    Object.assign(state, { games: null, settings: wanted.settings });
  }
  state.wanted = wanted;
  useBoard(board);
  const reason = chooseOpponent(board);
  const starter = board.first ?? (starts === "you" ? 0 : 1);
  show(new Game(board, start === board.heaps ? starter : first, start));
  if (reason) toast(reason);
}

/** The values of a lost start are all red, so before the first move this opens a won position near it. */
export function openWon() {
  const { game, learner, opponent } = state;
  const { board, start, moves } = game;
  const isStart = start === board.heaps && !moves.length && phase() === "yours" && !lesson();
  const near = isStart && learner.isSmall && !opponent.table && wonNear(start, board);
  if (near) begin({ start: near, first: 0 });
}

function chooseOpponent(board) {
  const { wanted, learner } = state;
  const isLesson = LESSONS.includes(board);
  const reason = isLesson ? "" : wanted.why(learner);
  state.opponent = isLesson || reason ? EXPERT : wanted;
  return reason && replaced(wanted.name, reason);
}

function useBoard(board) {
  const { learner, wanted } = state;
  const isLost = wanted.taught && !LESSONS.includes(board) && !isSameBoard(board, wanted.taught.positions.board);
  if (isLost) state.wanted = learnerAfter(wanted.taught.games, wanted.settings);
  if (isSameBoard(board, learner.positions.board)) return;
  Object.assign(state, { learner: new Learner(board), games: null, training: null });
}

let isTraining = false;

export async function train() {
  const next = () => [trainee(), ...state.learner.family].find((each) => !each.isTrained);
  if (isTraining) return;
  isTraining = true;
  try {
    for (let slice = 0; next(); slice++) {
      await sleep(0);
      if (!next()?.train(SLICE) || slice % DRAWN === 0) draw();
    }
  } finally {
    isTraining = false; // after a fault in drawing too
  }
}

/** Shows the next update of the training, until another command comes. */
export function watch() {
  const watched = trainee().step(Math.max(0, shownGames()));
  if (watched) Object.assign(state, { watched, games: watched.table.games, training: null });
  else toast(SAY.settled);
}

export function restore() {
  if (!state.before) return;
  Object.assign(state, state.before, { before: null, training: null });
  show(state.game);
}

export const setPlayer = (player) =>
  begin({ wanted: player, board: player.board ?? (lesson() ? state.home : state.game.board) });

export function undo() {
  const { moves } = state.game;
  const yours = moves.findLastIndex((_, ply) => state.game.playerAt(ply) === 0);
  continueFrom(isFriend() ? moves.length - 1 : yours);
}

export function continueFrom(ply) {
  const { game } = state;
  if (ply < 0) return;
  if (game.score) game.score[game.winner] -= 1;
  if (game.score) state.opponent.taught?.forget();
  Object.assign(game, { score: null, told: null, isCorrected: true });
  game.moves.length = ply;
  show(game);
}

export function openGame({ game, view, panel, stage, isFirstGiven }, wanted) {
  keepHome(game.board);
  useBoard(game.board);
  if (game.winner !== null) game.score = [0, 0];
  const isStart = game.start === game.board.heaps && !game.board.text;
  if (isStart && isFirstGiven) state.starts = game.first ? "opponent" : "you";
  const settings = stage?.settings ?? wanted.settings ?? SELF_PLAY;
  Object.assign(state, { wanted, panel, settings, games: stage?.games ?? null, training: null, before: null });
  const reason = chooseOpponent(game.board);
  if (reason) toast(reason);
  show(game, view);
  if (panel === "learn") openWon();
  state.isFirst &&= !hasPlayed();
}

/** After a game, the list of moves also shows the last position as past. */
export function view(ply, isFromList = false) {
  const { moves, winner } = state.game;
  const isNow = ply >= moves.length && !(isFromList && winner !== null);
  const shown = Math.min(Math.max(0, ply), moves.length);
  Object.assign(state, { view: isNow ? null : shown, chosen: null });
}

export function writeLink() {
  const { game, opponent, wanted, view: ply, panel, games, settings } = state;
  const player = lesson() ? wanted : opponent;
  const vs = player.taught ? stageName(player.taught.games, player.settings) : player.id;
  const stage = panel === "learn" && games !== null ? stageName(games, settings) : null;
  const link = toLink(game, { vs, view: ply, panel, stage });
  try {
    history.replaceState(null, "", link);
  } catch {
    /* a sandboxed frame */
  }
}
