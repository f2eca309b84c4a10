// The page starts here: what the buttons do, the dialogs, the training that is shown, and the links.

import { drawBoard } from "./board.js";
import { draw, drawPresets, picture } from "./draw.js";
import { $, readTheme, toast, toggleTheme } from "./dom.js";
import { PRESETS } from "./game.js";
import { listen } from "./input.js";
import { fromLink, isLink, readBoard } from "./links.js";
import { drawLearn } from "./panels.js";
import { choose, continueFrom, newGame, openGame, readLessons, restore, run, setLevel, setRules, takeChosen, unchoose, undo,
  useBoard, view, writeLink } from "./play.js";
import { LEVELS, OTHERS, loadPlayers } from "./players.js";
import { S, hasPlayed, isFilm, scoreOf, shownPly } from "./state.js";
import { announce } from "./status.js";
import { BAD, LESSONS, SAY, brokenLink, failureOf } from "./words.js";

const STEP = 220, FLASH = 5; // milliseconds of a stage that is shown; a game of self-play after every fifth

// --- The training that is shown ---------------------------------------------------------------------

let timer;

function stopShow() { S.film = null; }

function toggleShow() {
  if (S.film) stopShow();
  else {
    leaveTaught();
    if (S.games >= S.learner.stages.at(-1)) S.games = 0;
    Object.assign(S, { film: [], chosen: null });
    clearInterval(timer);
    timer = setInterval(showNext, STEP);
  }
  draw();
}

/** The next position of the game that flashes by, or else the next stage. */
function showNext() {
  if (!S.film) return clearInterval(timer);
  const { learner } = S, next = learner.stageOf(S.games) + 1;
  S.film.shift();
  if (!isFilm() && next >= learner.stages.length) stopShow();
  else if (!isFilm()) {
    S.games = learner.stages[next];
    const isQuiet = S.view === null && !S.isBusy && !S.game.moves.length;
    if (isQuiet && next % FLASH === 0) S.film = positionsOf(learner.selfPlay(S.games));
  }
  draw();
}

const positionsOf = (moves) => moves.map((_, ply) =>
  moves.slice(0, ply).reduce((heaps, { heap, count }) => heaps.with(heap, heaps[heap] - count), S.learner.rules.heaps));

/** Back from the table that you have taught. */
function leaveTaught() {
  S.learner.taught = null;
  if (S.level !== "pupil") return;
  S.level = S.wanted = "stage";
  S.game.table = null;
}

function showStage(stage) {
  stopShow();
  leaveTaught();
  S.games = S.learner.stages[stage];
  draw();
}

function learnOne() {
  const { learner } = S;
  stopShow();
  if (!learner.taught) learner.startTaught(S.games);
  learner.teach(learner.selfPlay(S.games, true));
  draw();
}

// --- Dialogs, links and buttons ---------------------------------------------------------------------

function openBoards() {
  const { heaps, max, misere } = S.game.rules;
  drawPresets();
  $("c-heaps").value = heaps.join(" ");
  $("c-max").value = max ?? "";
  for (const radio of document.getElementsByName("last")) radio.checked = (radio.value === "loses") === misere;
  drawCustom();
  $("boards").showModal();
}

/** Shows what is wrong with your own board. */
function drawCustom() {
  const misere = document.querySelector("[name=last]:checked").value === "loses";
  const { errors, rules } = readBoard($("c-heaps").value, $("c-max").value, misere);
  for (const name of ["heaps", "max"]) {
    $(`e-${name}`).textContent = errors[name];
    $(`c-${name}`).setAttribute("aria-invalid", String(Boolean(errors[name])));
  }
  $("c-preview").replaceChildren(...(errors.heaps ? [] : [picture(rules.heaps)]));
  return errors.heaps || errors.max ? null : rules;
}

function playCustom(event) {
  event.preventDefault();
  const rules = drawCustom();
  if (!rules) return $("custom").querySelector("[aria-invalid=true]").focus();
  $("boards").close();
  return run(() => setRules(rules));
}

/** Opens what the address names, or the first board with a message if the link is broken. */
async function openLink(hash) {
  let link, level;
  try {
    link = fromLink(hash);
    const known = () => [...LEVELS, ...OTHERS].find(({ id, name, table }) => link.vs === (table ? name : id))?.id;
    const isStage = /^\d+$/.test(link.vs);
    if (!isStage && !known()) await players; // your own player, perhaps
    level = isStage ? "stage" : known();
    if (!level) throw new Error(BAD.nobody);
  } catch (error) {
    toast(brokenLink(error.message));
    level = "beginner";
    link = fromLink("");
  }
  S.panel = link.panel;
  openGame(link, level);
}

/** Opens the link of an address, which may have changed when its turn comes. */
function openAddress(address) {
  const { hash } = new URL(address);
  return run(() => openLink(hash));
}

async function share() {
  writeLink();
  try {
    await navigator.clipboard.writeText(location.href);
    toast(SAY.copied);
  } catch {
    toast(SAY.copyBy);
  }
}

function setStarts(value) {
  S.starts = value;
  if (S.game.winner === null && hasPlayed()) toast(SAY.nextGame);
  else newGame();
}

const replay = (ply, isFromList) =>
  run(() => view(Math.min(Math.max(0, Number(ply)), S.game.moves.length), isFromList));

const DO = {
  share,
  undo: () => run(undo),
  new: () => run(newGame),
  again: () => run(newGame),
  restore: () => run(restore),
  retry: () => run(() => { S.failure = null; }),
  perfect: () => run(() => Object.assign(S, { failure: null, level: "perfect", wanted: "perfect" })),
  level: (id) => run(() => setLevel(id)),
  starts: (value) => run(() => setStarts(value)),
  view: (ply) => replay(ply, true),
  "from-here": (ply) => run(() => continueFrom(Number(ply))),
  preset: (i) => run(() => setRules({ ...PRESETS[i] })),
  lesson: (i) => {
    $("panel").scrollTop = 0;
    return run(() => setRules(LESSONS[i].rules, Number(i)));
  },
  rule: () => run(() => setRules({ ...S.game.rules, misere: !S.game.rules.misere })),
  panel: (name) => {
    stopShow();
    Object.assign(S, { panel: S.panel === name ? null : name, chosen: null });
    const next = LESSONS.findIndex((_, i) => !S.done.has(i)), isOpen = S.panel === "teach";
    const isFree = S.game.winner === null ? !hasPlayed() : S.view === null; // no game is lost
    if (isOpen && isFree && S.lesson === null && next >= 0) DO.lesson(next);
    if (!S.panel && isFree && S.lesson !== null) run(() => setRules(S.home));
    draw();
    $("panel").scrollTop = 0;
    if (isOpen) announce();
    if (!S.isBusy) writeLink();
  },
  switch: (name) => {
    S[name] = !S[name];
    draw();
  },
  "play-learning": toggleShow,
  "play-it": () => {
    const level = LEVELS.find(({ id }) => S.learner.levels()[id] === S.games && !S.learner.taught);
    stopShow();
    return run(() => setLevel(level?.id ?? "stage"));
  },
  "teach-it": () => run(() => setLevel(S.level === "pupil" ? "stage" : "pupil")),
  step: learnOne,
  "to-start": () => showStage(0),
  seed: () => {
    stopShow();
    leaveTaught();
    S.games = 0;
    return run(() => useBoard(S.learner.rules, Math.floor(Math.random() * 2 ** 31)));
  },
  theme: toggleTheme,
  full: () => (document.fullscreenElement ? document.exitFullscreen()
    : document.fullscreenEnabled ? document.documentElement.requestFullscreen() : open(location.href)), // out of the frame
  boards: openBoards,
  opponents: () => $("opponents").showModal(),
  menu: () => $("menu").showModal(),
  reset: () => {
    scoreOf().fill(0);
    draw();
  },
  skip: () => $("board").focus(),
  close: () => {},
};

function onKey(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], isReplay = S.view !== null || S.game.winner !== null;
  if (!step || !isReplay || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, dialog")) return;
  event.preventDefault();
  replay(shownPly() + step);
}

let players; // a promise

function begin() {
  readTheme();
  addEventListener("storage", readTheme); // the documentation around this page has changed it
  document.documentElement.classList.toggle("embedded", parent !== window);
  readLessons();
  document.querySelector(".logo").innerHTML = [1, 3, 5, 7].flatMap((n, i) => Array.from({ length: n }, (_, k) =>
    `<rect x="${i * 8}" y="${26.5 - k * 4.3}" width="7" height="3.4" rx="1"/>`)).join("");
  $("digits").open = matchMedia("(min-width: 760px) and (min-height: 481px)").matches;
  listen({ choose, unchoose, take: takeChosen });
  $("take").onclick = takeChosen;
  $("less").onclick = () => choose(S.chosen.heap, S.chosen.count - 1);
  $("more").onclick = () => choose(S.chosen.heap, S.chosen.count + 1);
  $("prev").onclick = () => replay(shownPly() - 1);
  $("next").onclick = () => replay(shownPly() + 1);
  $("ply").oninput = (event) => replay(event.target.value);
  for (const radio of document.getElementsByName("starts")) radio.onchange = () => DO.starts(radio.value);
  $("games").oninput = (event) => showStage(Number(event.target.value));
  $("custom").oninput = drawCustom;
  $("custom").onsubmit = playCustom;
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    button?.closest("dialog")?.close();
    if (button?.matches("a")) event.preventDefault();
    if (button) DO[button.dataset.do](button.dataset.value);
  });
  addEventListener("unhandledrejection", ({ reason }) => toast(failureOf(reason)));
  // the address that was given: the page may have written another one since
  addEventListener("hashchange", ({ newURL }) => isLink(new URL(newURL).hash) && openAddress(newURL));
  players = loadPlayers("data/players.json").catch(() => toast(SAY.damaged));
  useBoard(S.game.rules);
  openAddress(location.href).then(() => new ResizeObserver(() => {
    drawBoard();
    if (S.panel === "learn") drawLearn();
  }).observe($("board")));
}

begin();
