// Drawing reads the state, play.js and page.js change it.

import { LESSONS, PRESETS } from "./boards.js";
import { Game } from "./game.js";
import { Learner, SELF_PLAY } from "./learner.js";
import { LEVELS, learnerAfter } from "./players.js";
import { isWinning, wonNear } from "./rules.js";

export const state = {
  game: new Game(PRESETS[0], 0),
  learner: new Learner(PRESETS[0]),
  settings: SELF_PLAY,
  opponent: LEVELS[0],
  wanted: LEVELS[0], // your choice, which the board may not allow
  games: null, // null: as the opponent
  starts: "you",
  view: null, // a past ply
  chosen: null, // {heap, count, isTooMany}
  isFirst: true,
  by: matchMedia("(hover: none)").matches ? "touch" : "mouse",
  going: null, // {heap, count, isLeaving}
  failure: null,
  panel: null,
  showsMove: false,
  home: PRESETS[0],
  done: new Set(),
  training: null, // while the stages are shown
  watched: null,
  layout: {}, // {isLying, columns}
  scores: {}, // by opponent: [yours, its]
  before: null, // "Undo" of a new game
};

export function phase() {
  const { game } = state;
  if (state.failure) return "failed";
  if (state.watched) return "watching";
  if (state.view !== null) return "past";
  if (game.winner !== null) return "over";
  if (state.going) return "moving";
  if (!isOpponent(game.player)) return "yours";
  const isJudged = lesson() || (isPuzzle() && game.moves.length === 1);
  return isJudged && game.moves.at(-1)?.rating === "mistake" ? "stopped" : "thinking";
}

export const lesson = () => LESSONS.find((board) => board === state.game.board);
export function hasGroups() {
  const { panel, layout } = state;
  return panel === "teach" && !layout.isLying && layout.columns === 1 && (!lesson() || Boolean(lesson().hasGroups));
}

export const isFriend = () => state.opponent.id === "friend";
export const isOpponent = (player) => player === 1 && !isFriend();
export const names = () => (isFriend() ? ["Player 1", "Player 2"] : ["You", state.opponent.name]);
export const hasPlayed = () => state.game.moves.some((_, ply) => !isOpponent(state.game.playerAt(ply)));
export const shownPly = () => state.view ?? state.game.moves.length;
export const shownHeaps = () => state.watched?.heaps ?? state.game.heapsAt(shownPly());
export const scoreOf = () => (state.scores[state.opponent.id] ??= [0, 0]);

/** Whether the panel has opened this start. */
export const isNear = ({ board, start }) => String(start) === String(wonNear(board.heaps, board));

/** Whether you move first in a position of a learner’s map. */
export function isPuzzle() {
  const { game, opponent } = state;
  const { board, start, first } = game;
  const isInside = start !== board.heaps && first === 0 && isWinning(start, board);
  return isInside && Boolean(opponent.games) && !isNear(game);
}

export const trainee = () => state.learner.with(state.settings);

export function shownGames() {
  const { games, opponent, learner, settings } = state;
  return games ?? (opponent.settings === settings ? (opponent.games(learner) ?? -1) : 0);
}

export function shownTable() {
  const { games, opponent, watched } = state;
  return (
    watched?.table ?? opponent.table ?? (games === null ? opponent.taught : null) ?? trainee().tableAt(shownGames())
  );
}

export function shownLearner() {
  const { opponent, learner, settings } = state;
  const { games } = shownTable();
  const isShown = (player) => !player.taught && player.settings === settings && player.games(learner) === games;
  return [opponent, ...LEVELS].find(isShown) ?? learnerAfter(games, settings);
}

export function nextLevel() {
  const next = LEVELS[LEVELS.indexOf(state.opponent) + 1];
  const isLevel = LEVELS.includes(state.opponent) && next && next.id !== "friend";
  return isLevel && !next.why(state.learner) ? next : null;
}
