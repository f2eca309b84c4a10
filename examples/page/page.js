// The page: playing, and what the buttons, dialogs and links do. It starts here.

import { drawBoard, drawChoice } from "./board.js";
import { $, isStill, make, readTheme, sleep, toast, toggleTheme } from "./dom.js";
import { Game, PRESETS, fromLink, isSameBoard, readBoard, thousands, toLink } from "./game.js";
import { listen } from "./input.js";
import { Learner } from "./learner.js";
import { drawLearn, drawPanel, drawReplay, drawTeach } from "./panels.js";
import { LEVELS, OTHERS, loadPlayers, opponentMove } from "./players.js";
import { limit } from "./rules.js";
import { S, gamesOf, isFriend, isOpponent, isYours, levelOf, names, reasonAgainst, shownPly } from "./state.js";
import { announce, drawStatus, sayMove } from "./status.js";

const THINK = 350, MARK = 750, LEAVE = 260; // milliseconds
const LONGER = { "1,3,5,7,9": "data/five_heaps.json" }; // tables of misère boards that were trained for longer

let training, players; // promises

// --- Playing ----------------------------------------------------------------------------------------

/** Makes your move and the replies to it. */
async function play(move) {
  if (!isYours()) return;
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

async function newGame() {
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

function undo() {
  const { moves } = S.game;
  const last = isFriend() ? moves.length - 1 : moves.findLastIndex((_, ply) => S.game.playerAt(ply) === 0);
  if (S.isBusy || last < 0) return;
  continueFrom(last);
  toast("Your last move is taken back.");
}

async function continueFrom(ply) {
  if (S.isCounted) S.score[S.game.winner] -= 1;
  S.game.moves.length = ply;
  show(S.game);
  await whileBusy(reply);
}

function setLevel(id) {
  const own = levelOf(id)?.table;
  S.level = id;
  S.games = gamesOf(id) ?? S.games;
  if (own && !isSameBoard(own.rules, S.game.rules)) return setRules(own.rules);
  return newGame();
}

/** Trains the learner of a board, and plays on it. */
function setRules(rules, game = null) {
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
  await learner.train(() => learner === S.learner);
  const longer = learner.rules.misere && !learner.rules.max && LONGER[learner.rules.heaps];
  if (longer) learner.addLonger(await (await fetch(longer)).json());
  if (learner !== S.learner) return;
  if (levelOf(S.level)?.isTrained) S.games = gamesOf(S.level);
  if (!S.isBusy) draw();
}

// --- Drawing ----------------------------------------------------------------------------------------

function draw() {
  drawHeader();
  drawPanel();
  drawBoard();
  drawStatus();
  drawReplay();
}

function drawHeader() {
  const { rules } = S.game, [one, two] = isFriend() ? ["1", "2"] : names(), wide = isFriend() ? "" : "narrow-out";
  const sizes = rules.heaps.length < 6 ? rules.heaps.join("-") : `${rules.heaps.length} heaps`;
  $("board-name").textContent = PRESETS.find((preset) => isSameBoard(preset, rules))?.name ?? sizes;
  const mark = () => make("i", { className: "mark" });
  $("score").replaceChildren(
    make("span", { className: "sr", textContent: `Score: ${names()[0]} ${S.score[0]}, ${names()[1]} ${S.score[1]}` }),
    make("span", { className: "who p0", ariaHidden: "true" }, mark(), make("span", { className: wide, textContent: one })),
    make("b", { textContent: `${S.score[0]} : ${S.score[1]}`, ariaHidden: "true" }),
    make("span", { className: "who p1", ariaHidden: "true" }, make("span", { className: wide, textContent: two }), mark()));
  drawLevels();
  $("starts").value = S.starts;
  for (const radio of document.getElementsByName("starts")) radio.checked = radio.value === S.starts;
  $("undo").disabled = S.isBusy || !S.game.moves.some((_, ply) => !isOpponent(S.game.playerAt(ply)));
}

function drawLevels() {
  const extra = S.level === "stage" ? { id: "stage", name: "In training" } : OTHERS.find(({ id }) => id === S.level);
  const levels = extra ? [...LEVELS.slice(0, 3), extra, ...LEVELS.slice(3)] : LEVELS, focused = document.activeElement?.value;
  const nodes = levels.map(({ id, name, note, isTrained, tooBig }) => {
    const reason = reasonAgainst({ id, isTrained, tooBig }), games = gamesOf(id);
    const small = reason ? "too big" : note ?? (games === undefined ? "learning …" : thousands(games));
    return make("label", { title: reason },
      make("input", { type: "radio", name: "level", value: id, checked: S.level === id, disabled: Boolean(reason) }),
      make("span", {}, name, make("small", { textContent: small },
        reason || note || games === undefined ? null : make("span", { className: id === "beginner" ? "" : "narrow-out", textContent: " games" }))));
  });
  const hasFocus = $("levels").contains(document.activeElement);
  $("levels").replaceChildren($("levels").firstElementChild, ...nodes);
  if (hasFocus) $("levels").querySelector(`[value="${focused}"]`)?.focus();
}

// --- Choosing, replay, training ---------------------------------------------------------------------

function choose(heap, number, by = S.by) {
  S.by = by;
  const size = S.game.heaps[heap];
  if (!isYours() || !size) return;
  const most = limit(size, S.game.rules);
  S.isTooMany = number > most;
  S.chosen = { heap, count: Math.max(1, Math.min(number, most)) };
  showChoice();
}

function unchoose() {
  Object.assign(S, { chosen: null, isTooMany: false });
  showChoice();
}

function showChoice() {
  drawChoice();
  if (S.view === null && S.game.winner === null) drawStatus();
  if (S.panel === "teach") drawTeach();
}

/** Shows a past position. At the end of a game, the list of moves also shows the last one as past. */
function view(ply, isFromList = false) {
  const isNow = ply >= S.game.moves.length && !(isFromList && S.game.winner !== null);
  Object.assign(S, { view: isNow ? null : Math.max(0, ply), chosen: null });
  draw();
}

let timer = null; // of the training that is shown
function stopShow() {
  clearInterval(timer);
  timer = null;
  $("play-learning").lastElementChild.textContent = "Train";
  $("play-learning").querySelector("use").setAttribute("href", "#i-play");
}

function toggleShow() {
  if (timer) return stopShow();
  if (S.games >= S.learner.stages.at(-1)) showStage(0);
  $("play-learning").lastElementChild.textContent = "Pause";
  $("play-learning").querySelector("use").setAttribute("href", "#i-pause");
  timer = setInterval(() => {
    const next = S.learner.stageOf(S.games) + 1;
    if (next < S.learner.stages.length) showStage(next);
    else stopShow();
  }, 220);
}

function showStage(stage) {
  S.games = S.learner.stages[stage];
  if (S.level === "stage") drawHeader();
  drawLearn();
  if (!S.isBusy) drawBoard();
}

// --- Dialogs, links and buttons ---------------------------------------------------------------------

const picture = (heaps) => make("div", { className: "mini" },
  ...heaps.slice(0, 15).map((size) => make("i", { style: { "--n": size, "--share": size / Math.max(...heaps) } })));

function openBoards() {
  $("presets").replaceChildren(...PRESETS.map((preset, value) => {
    const isOn = isSameBoard(preset, S.game.rules);
    return make("button", { autofocus: isOn, data: { do: "preset", value }, attrs: { "aria-pressed": String(isOn) } }, picture(preset.heaps),
      make("span", {}, make("b", { textContent: preset.name }), make("small", { textContent: preset.note })));
  }));
  drawCustom(false);
  $("boards").showModal();
}

/** Shows what is wrong with the board of your own; while you write, only in what you have written. */
function drawCustom(isFinal) {
  const misere = document.querySelector("[name=last]:checked").value === "loses";
  const { errors, rules } = readBoard($("c-heaps").value, $("c-max").value, misere);
  for (const name of ["heaps", "max"]) {
    const error = isFinal || $(`c-${name}`).value ? errors[name] : "";
    $(`e-${name}`).textContent = error;
    $(`c-${name}`).setAttribute("aria-invalid", String(Boolean(error)));
  }
  $("c-preview").replaceChildren(...(errors.heaps ? [] : [picture(rules.heaps)]));
  return errors.heaps || errors.max ? null : rules;
}

function playCustom(event) {
  event.preventDefault();
  const rules = drawCustom(true);
  if (!rules) return $("custom").querySelector("[aria-invalid=true]").focus();
  $("boards").close();
  return S.isBusy || setRules(rules);
}

function openMenu() {
  $("others").replaceChildren(...OTHERS.map((player) => {
    const reason = reasonAgainst(player);
    return make("button", { disabled: Boolean(reason), title: reason, data: { do: "level", value: player.id }, attrs: { "aria-pressed": String(S.level === player.id) } },
      make("span", {}, make("b", { textContent: player.name }), make("small", { textContent: player.note })));
  }));
  $("menu").showModal();
}

const nameInLink = () => (S.level === "stage" ? S.games : OTHERS.find(({ id }) => id === S.level)?.table ? levelOf(S.level).name : S.level);

function writeLink() {
  try { history.replaceState(null, "", toLink(S.game, nameInLink())); } catch { /* a sandboxed frame */ }
}

/** Opens the position of the address, or the first board with a message if the link is broken. */
async function openLink() {
  let link;
  try {
    link = fromLink(location.hash);
    const known = () => [...LEVELS, ...OTHERS].find(({ id, name, table }) => link.opponent === (table ? name : id));
    if (!/^\d+$/.test(link.opponent) && !known()) await players; // one of your own, perhaps
    Object.assign(S, /^\d+$/.test(link.opponent) ? { level: "stage", games: Number(link.opponent) } : { level: known()?.id });
    if (!S.level) throw new Error("This link is broken. It names an opponent that is not here.");
  } catch (error) {
    toast(`${error.message} Here is the first board.`);
    S.level = "beginner";
    link = fromLink("");
  }
  S.starts = link.game.first ? "opponent" : "you";
  await setRules(link.game.rules, link.game);
  S.games = gamesOf(S.level) ?? S.games;
}

async function share() {
  writeLink();
  const address = location.href;
  try {
    await navigator.clipboard.writeText(address);
    toast("Link copied. It opens this position.");
  } catch {
    toast("Copy the address of this page: it opens this position.");
  }
}

function setStarts(value) {
  S.starts = value;
  if (S.game.winner === null && S.game.moves.some((_, ply) => S.game.playerAt(ply) === 0)) {
    draw();
    toast("From the next game on.");
  } else newGame();
}

const DO = {
  undo, share,
  new: newGame,
  again: newGame,
  level: (id) => S.isBusy || setLevel(id),
  starts: setStarts,
  view: (ply) => S.isBusy || view(Number(ply), true),
  "from-here": (ply) => continueFrom(Number(ply)),
  preset: (i) => S.isBusy || setRules(PRESETS[i]),
  panel: (name) => {
    S.panel = S.panel === name ? null : name;
    S.chosen = null;
    stopShow();
    if (!S.isBusy) draw();
    else drawPanel();
  },
  theme: toggleTheme,
  full: () => (document.fullscreenElement ? document.exitFullscreen()
    : document.documentElement.requestFullscreen?.().catch(() => toast("Full screen is not allowed here."))),
  boards: openBoards,
  menu: openMenu,
  reset: () => {
    S.score = [0, 0];
    drawHeader();
  },
  close: () => {},
};

function begin() {
  readTheme();
  addEventListener("storage", readTheme); // the documentation around this page has changed it
  document.querySelector(".logo").innerHTML = [1, 3, 5, 7].flatMap((n, i) => Array.from({ length: n }, (_, k) =>
    `<rect x="${i * 8}" y="${26.5 - k * 4.3}" width="7" height="3.4" rx="1"/>`)).join("");
  document.body.classList.toggle("first-visit", !location.hash);
  listen({ choose, unchoose, take: () => S.chosen && play(S.chosen) });
  $("take").onclick = () => S.chosen && play(S.chosen);
  $("less").onclick = () => choose(S.chosen.heap, S.chosen.count - 1);
  $("more").onclick = () => choose(S.chosen.heap, S.chosen.count + 1);
  $("prev").onclick = () => view(shownPly() - 1);
  $("next").onclick = () => view(shownPly() + 1);
  $("ply").oninput = (event) => view(Number(event.target.value));
  $("levels").onchange = (event) => DO.level(event.target.value);
  $("starts").onchange = (event) => setStarts(event.target.value);
  for (const radio of document.getElementsByName("starts")) radio.onchange = () => setStarts(radio.value);
  for (const id of ["show-move", "show-values"]) $(id).onchange = draw;
  $("games").oninput = (event) => {
    stopShow();
    showStage(Number(event.target.value));
  };
  $("play-learning").onclick = toggleShow;
  $("play-it").onclick = () => {
    const { games } = S, level = LEVELS.find(({ id }) => S.learner.levels()[id] === games);
    if (!S.isBusy) setLevel(level?.id ?? "stage");
  };
  $("custom").oninput = () => drawCustom(false);
  $("custom").onsubmit = playCustom;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]"), dialog = event.target.closest("dialog");
    if (dialog && (button || event.target === dialog)) dialog.close();
    if (button) DO[button.dataset.do](button.dataset.value);
  });
  addEventListener("hashchange", () => S.isBusy || openLink());
  new ResizeObserver(() => {
    if (!S.isBusy) drawBoard();
    if (S.panel === "learn") drawLearn();
  }).observe($("board"));
  players = loadPlayers("data/players.json").catch((error) => toast(error.message));
  openLink();
}

begin();
