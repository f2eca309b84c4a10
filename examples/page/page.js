import { drawBoard } from "./board.js";
import { LESSONS, PRESETS, isSameBoard } from "./boards.js";
import { draw, drawPresets } from "./draw.js";
import { $, read, readTheme, toast, toggleTheme } from "./dom.js";
import { listen } from "./input.js";
import { drawLearn, showStage, startTraining, stopShow, wrongPosition } from "./learn.js";
import { settingsOf } from "./learner.js";
import { fromLink, isLink, readBoard } from "./links.js";
import * as play from "./play.js";
import { LEVELS, loadPlayers, playerOf, pupil } from "./players.js";
import { isLimited } from "./rules.js";
import { hasPlayed, isNear, lesson, phase, shownGames, shownLearner, shownPly, shownTable, state } from "./state.js";
import { announce } from "./status.js";
import { BAD, SAY, brokenLink, failureOf } from "./words.js";

let players; // a promise: your own are loaded
const openAddress = (address) =>
  play.run(async () => {
    try {
      const link = fromLink(new URL(address).hash);
      if (!playerOf(link.vs)) await players;
      if (!playerOf(link.vs)) throw new Error(BAD.nobody);
      play.openGame(link, playerOf(link.vs));
    } catch (error) {
      play.openGame(fromLink(""), LEVELS[0]);
      toast(brokenLink(error.message));
    }
  });

async function share() {
  play.writeLink();
  try {
    await navigator.clipboard.writeText(location.href);
    toast(SAY.copied);
  } catch {
    toast(SAY.copyBy);
  }
}

function openBoards() {
  const { board } = state.game;
  drawPresets();
  $("c-heaps").value = board.heaps.join(" ");
  $("c-max").value = isLimited(board) ? board.max : "";
  for (const radio of document.getElementsByName("last")) radio.checked = (radio.value === "loses") === board.misere;
  drawCustom();
  $("boards").showModal();
}

function drawCustom() {
  const misere = document.querySelector("[name=last]:checked").value === "loses";
  const { errors, board } = readBoard($("c-heaps").value, $("c-max").value, misere);
  for (const name of ["heaps", "max"]) {
    $(`e-${name}`).textContent = errors[name];
    $(`c-${name}`).setAttribute("aria-invalid", Boolean(errors[name]));
  }
  return board;
}

function playCustom(event) {
  event.preventDefault();
  const board = drawCustom();
  if (!board) return $("custom").querySelector("[aria-invalid=true]").focus();
  $("boards").close();
  return play.run(() => play.begin({ board }));
}

function setStarts(value) {
  state.starts = value;
  if (state.game.winner === null && hasPlayed()) toast(SAY.nextGame);
  else play.begin();
}

const openLesson = (i) => {
  $("panel").scrollTop = 0;
  return play.run(() => play.begin({ board: LESSONS[i] }));
};

function togglePanel(name) {
  const { game, done, view } = state;
  const panel = state.panel === name ? null : name;
  stopShow();
  Object.assign(state, { panel, chosen: null });
  const { board, start, moves } = game;
  const next = LESSONS.findIndex((_, i) => !done.has(i));
  const isFree = game.winner === null ? !hasPlayed() : view === null;
  const isStart = !moves.length && start === board.heaps;
  const isLeft = isFree && lesson() && (!panel || panel === "learn");
  const leave = () => play.begin({ board: isLeft ? state.home : board });
  function learn() {
    if (isLeft) play.begin({ board: PRESETS.find((each) => isSameBoard(each, board)) ?? state.home });
    play.openWon();
    if (!state.game.moves.length) state.games ??= 0;
  }
  if (panel === "learn") play.run(learn);
  else if (panel === "teach" && isStart && isSameBoard(board, PRESETS[0]) && next >= 0) openLesson(next);
  else if (isLeft || (isNear(game) && !moves.length)) play.run(leave);
  showPanel();
}

function showPanel() {
  draw();
  $("panel").scrollTop = 0;
  announce();
  play.writeLink();
}

function plainBoard() {
  const { heaps, max, misere } = state.game.board;
  return { heaps, max, misere };
}

function playShown(wanted, start) {
  stopShow();
  $("panel").scrollTop = 0;
  return play.run(() => play.begin({ wanted, board: plainBoard(), start, first: 0 }));
}

function playPosition(position) {
  const wanted = shownTable() === state.opponent.taught ? state.opponent : shownLearner();
  return playShown(wanted, state.learner.positions.heapsOf(position));
}

function setTraining(name, value) {
  const { rival, rate, exploration } = { ...state.settings, [name]: value };
  const settings = name === "rival" ? settingsOf(value) : settingsOf(rival, Number(rate), Number(exploration));
  stopShow();
  Object.assign(state, { settings, games: 0 });
  $("panel").scrollTop = 0;
  play.train();
  drawShown();
}

/** Before the first move, the learner that is shown becomes the opponent. */
function drawShown() {
  const { game, training } = state;
  const isFree = !training && phase() === "yours" && !game.moves.length && shownGames() > 0;
  if (isFree) play.begin({ ...game, wanted: shownLearner() });
  draw();
  if (!training) play.writeLink();
}

function toggleFullScreen() {
  if (document.fullscreenElement) return document.exitFullscreen();
  if (document.fullscreenEnabled) return document.documentElement.requestFullscreen();
  return open(location.href); // out of the frame
}

const step = (by) => play.run(() => play.view(shownPly() + by));

const DO = {
  share,
  undo: () => play.run(play.undo),
  new: () => play.run(() => play.begin()),
  again: () => play.run(() => play.begin(state.game)),
  restore: () => play.run(play.restore),
  retry: () => play.run(() => Object.assign(state, { failure: null })),
  level: (id) => play.run(() => play.setPlayer(id === state.opponent.id ? state.opponent : playerOf(id))),
  starts: (value) => play.run(() => setStarts(value)),
  view: (ply) => play.run(() => play.view(Number(ply), true)),
  "from-here": (ply) => play.run(() => play.continueFrom(Number(ply))),
  preset: (i) => play.run(() => play.begin({ board: PRESETS[i] })),
  lesson: openLesson,
  rule: () => play.run(() => play.begin({ board: { ...plainBoard(), misere: !state.game.board.misere } })),
  panel: togglePanel,
  hint: () => {
    Object.assign(state, { panel: "teach", showsMove: true });
    showPanel();
  },
  switch: () => {
    state.showsMove = !state.showsMove;
    draw();
  },
  train: () => {
    if (state.training) stopShow();
    else startTraining(drawShown);
    if (state.game.winner !== null) play.begin();
    play.openWon();
    drawShown();
  },
  step: () => play.run(play.watch),
  "play-it": () => playShown(shownLearner()),
  "teach-it": () => {
    delete state.scores.pupil;
    return playShown(pupil(shownTable(), state.settings));
  },
  position: (position) => playPosition(Number(position)),
  wrong: () => playPosition(wrongPosition()),
  theme: toggleTheme,
  full: toggleFullScreen,
  boards: openBoards,
  opponents: () => $("opponents").showModal(),
  menu: () => {
    $("program").href = `program.html${location.hash}`;
    fetch("python/version.txt", { method: "HEAD" }).then(({ ok }) => ($("program").hidden = !ok), Boolean);
    $("menu").showModal();
  },
  skip: () => $("board").focus(),
  close: () => {},
};

function onClick(event) {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  button.closest("dialog")?.close();
  if (button.matches("a")) event.preventDefault();
  DO[button.dataset.do](button.dataset.value);
}

function start() {
  readTheme();
  addEventListener("storage", readTheme); // the documentation around the page has changed it
  document.documentElement.classList.toggle("embedded", parent !== window);
  play.readLessons();
  play.readHome();
  const letters = { U: DO.undo, N: DO.new, H: DO.hint, "?": DO.menu };
  listen(play, step, letters);
  $("take").onclick = play.takeChosen;
  $("less").onclick = () => play.choose(state.chosen.heap, state.chosen.count - 1);
  $("more").onclick = () => play.choose(state.chosen.heap, state.chosen.count + 1);
  $("prev").onclick = () => step(-1);
  $("next").onclick = () => step(1);
  $("ply").oninput = ({ target }) => DO.view(target.value);
  for (const radio of document.getElementsByName("starts")) radio.onchange = () => DO.starts(radio.value);
  $("games").onpointerdown = () => {
    stopShow();
    draw();
  };
  $("games").oninput = ({ target }) => {
    showStage(Number(target.value));
    draw();
  };
  $("games").onchange = drawShown;
  for (const id of ["rival", "rate", "exploration"]) $(id).onchange = ({ target }) => setTraining(id, target.value);
  $("custom").oninput = drawCustom;
  $("custom").onsubmit = playCustom;
  document.addEventListener("click", onClick);
  addEventListener("unhandledrejection", ({ reason }) => toast(failureOf(reason)));
  // not location.hash: the page may have rewritten it
  addEventListener("hashchange", ({ newURL }) => isLink(new URL(newURL).hash) && openAddress(newURL));
  const kept = read("nim-program", "sessionStorage"); // from program.js
  players = loadPlayers("data/players.json", kept).then(draw, () => toast(SAY.damaged));
  const onResize = () => {
    drawBoard();
    if (state.panel === "learn") drawLearn();
  };
  openAddress(location.href).then(() => new ResizeObserver(onResize).observe($("board")));
}

start();
