// What the page shows. The drawing modules read it; play.js and page.js change it and draw again.

import { Game, PRESETS, isSameBoard } from "./game.js";
import { LEARNERS, LEVELS, OTHERS } from "./players.js";

export const S = {
  game: new Game(PRESETS[0], 0),
  learner: null,
  level: "beginner", // the id of the opponent: of LEVELS, OTHERS or LEARNERS
  wanted: "beginner", // the one you have chosen, where the board allows it
  stage: 20, // the games that the opponent "stage" has trained
  games: 20, // those of the learner whose values are shown
  starts: "you", // or "opponent" or "turns"
  number: 1, // of the game
  view: null, // the ply of a past position; null: the present
  chosen: null, // a move
  isTooMany: false,
  isFirst: true, // before your first move on this page
  by: matchMedia("(hover: none)").matches ? "touch" : "mouse", // or "keys": the input used last
  isBusy: false, // a command runs
  going: null, // the move that is being made: {heap, count, isLeaving}
  failure: null, // why the opponent cannot move, in words
  panel: null, // or "moves", "teach" or "learn"
  showsMove: false, // "Teach me" shows the winning move
  showsValues: true,
  lesson: null, // the index of LESSONS
  home: PRESETS[0], // the board before the lessons
  done: new Set(), // the lessons you have won
  told: null, // what the learner has learned from this game, in words
  film: null, // while the training is shown: the positions to show of a game of self-play, the present one first
  layout: null, // of the board: {isLying, columns}
  scores: {}, // against each opponent, [yours, its]
  isFinished: false, // finish() has seen the end of this game, or its link was opened at the end
  countedIn: null, // the score that has this game
  hasWonNow: false,
  next: null, // the level after a win
  before: null, // what "Undo" of a new game brings back
};

export const isFriend = () => S.level === "friend";
export const isOpponent = (player) => player === 1 && !isFriend();
export const levelOf = (id) => [...LEVELS, ...LEARNERS, ...OTHERS].find((level) => level.id === id);
export const names = () => (isFriend() ? ["Player 1", "Player 2"] : ["You", levelOf(S.level).name]);
export const hasPlayed = () => S.game.moves.some((_, ply) => !isOpponent(S.game.playerAt(ply)));
export const isFilm = () => Boolean(S.film?.length);
export const shownPly = () => S.view ?? S.game.moves.length;
export const shownHeaps = () => S.film?.[0] ?? S.game.heapsAt(shownPly());
export const isYours = () =>
  S.game.winner === null && S.view === null && !S.isBusy && !isFilm() && !S.failure && !isOpponent(S.game.player);

/** Whether a lesson waits, since your last move gave the win away. */
export const isStopped = () => S.lesson !== null && S.view === null && S.game.winner === null
  && isOpponent(S.game.player) && S.game.moves.at(-1)?.rating === "mistake";

/** The number of games that a trained level has trained on this board. */
export const gamesOf = (id) => (id === "stage" || id === "pupil" ? S.stage : S.learner?.levels()[id]);

/** The table of a trained opponent; none before it has trained its games. */
export function tableOf(id) {
  const { learner } = S, games = gamesOf(id);
  if (id === "pupil") return learner.taught?.table;
  return games <= learner.stages.at(-1) ? learner.tables[learner.stageOf(games)] : undefined;
}

export const scoreOf = () => (S.scores[S.level === "stage" ? `after ${S.stage}` : S.level] ??= [0, 0]);

/** Why this opponent cannot play these rules, a key of SAY; nothing if it can. */
export function reasonAgainst({ id, isTrained, table }, { isSmall, rules } = S.learner) {
  if (isTrained && !isSmall) return "tooBig";
  if (table && !isSameBoard(table.rules, rules)) return "wrongBoard";
  return id === "network" && rules.max ? "noLimit" : "";
}

/** The numbers on the blocks, [move, value]: of your own player or of the learner; none if there are none. */
export function shownValues(heaps) {
  const { learner } = S, own = levelOf(S.level).table;
  if (own) return own.values(heaps);
  return learner.isSmall && learner.stageOf(S.games) >= 0 ? learner.values(heaps, S.games) : [];
}
