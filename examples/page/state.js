// What the page shows. The drawing modules read it; play.js and page.js change it and draw again. What follows from it
// is a function here, so that no two parts can disagree.

import { LESSONS, PRESETS } from "./boards.js";
import { Game } from "./game.js";
import { Learner, SELF_PLAY } from "./learner.js";
import { LEVELS } from "./players.js";

export const state = {
  game: new Game(PRESETS[0], 0),
  learner: new Learner(PRESETS[0]), // of the game's board, trained as the levels are
  settings: SELF_PLAY, // of the learner that is shown
  opponent: LEVELS[0],
  wanted: LEVELS[0], // the one you have chosen, where the board allows it
  games: null, // those of the learner that is shown; null: the opponent's, or none
  starts: "you", // or "opponent"
  view: null, // the ply of a past position; null: the present
  chosen: null, // a move; isTooMany: more blocks were asked for than a move may take
  isFirst: true, // before your first move on this page
  by: matchMedia("(hover: none)").matches ? "touch" : "mouse", // or "keys": the input used last
  going: null, // the move that is being made: {heap, count, isLeaving}
  failure: null, // why the opponent cannot move, in words
  panel: null, // or "moves", "teach" or "learn"
  showsMove: false, // "Teach me" shows the winning move
  home: PRESETS[0], // the board before the lessons
  done: new Set(), // the indices of the lessons you have won
  training: null, // an object while the stages of the learner are shown one after another
  watched: null, // the move of a training game that is shown, or its board
  layout: {}, // of the board: {isLying, columns}
  scores: {}, // against each opponent, [yours, its]
  before: null, // what "Undo" of a new game brings back
};

/** What happens now, which decides what can be done. */
export function phase() {
  const { game } = state;
  if (state.failure) return "failed";
  if (state.watched) return "watching";
  if (state.view !== null) return "past";
  if (game.winner !== null) return "over";
  if (state.going) return "moving";
  if (!isOpponent(game.player)) return "yours";
  return lesson() && game.moves.at(-1)?.rating === "mistake" ? "stopped" : "thinking";
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

export const trainee = () => state.learner.with(state.settings);

/** The stage of the learner that is shown, in games. */
export function shownGames() {
  const { games, opponent, learner, settings } = state;
  return games ?? (opponent.settings === settings ? (opponent.games(learner) ?? -1) : 0); // −1: it is not trained yet
}

/** The table that is shown: of your own player or of the learner; none before it is trained. */
export function shownTable() {
  const { games, opponent } = state;
  return opponent.table ?? (games === null ? opponent.taught : null) ?? trainee().tableAt(shownGames());
}

export function nextLevel() {
  const next = LEVELS[LEVELS.indexOf(state.opponent) + 1];
  const isLevel = LEVELS.includes(state.opponent) && next && next.id !== "friend";
  return isLevel && !next.why(state.learner) ? next : null;
}
