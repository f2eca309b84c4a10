// The page starts here: the training that is shown, the dialogs, the links, and what the buttons do.

import { draw, drawHeader } from "./draw.js";
import { drawBoard } from "./board.js";
import { $, make, readTheme, toast, toggleTheme } from "./dom.js";
import { PRESETS, fromLink, isSameBoard, readBoard } from "./game.js";
import { listen } from "./input.js";
import { drawLearn, drawPanel } from "./panels.js";
import { choose, continueFrom, newGame, setLevel, setRules, takeChosen, unchoose, undo, view, writeLink } from "./play.js";
import { LEVELS, OTHERS, loadPlayers } from "./players.js";
import { S, gamesOf, reasonAgainst, shownPly } from "./state.js";

let players; // a promise

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
    const isOn = isSameBoard(preset, S.game.rules), attrs = { "aria-pressed": String(isOn) };
    return make("button", { autofocus: isOn, data: { do: "preset", value }, attrs }, picture(preset.heaps),
      make("span", {}, make("b", { textContent: preset.name }), make("small", { textContent: preset.note })));
  }));
  drawCustom(false);
  $("boards").showModal();
}

/** Shows what is wrong with your own board; while you write, only in what you have written. */
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
    const attrs = { "aria-pressed": String(S.level === player.id) };
    return make("button", { disabled: Boolean(reason), title: reason, data: { do: "level", value: player.id }, attrs },
      make("span", {}, make("b", { textContent: player.name }), make("small", { textContent: player.note })));
  }));
  $("menu").showModal();
}

/** Opens the position of the address, or the first board with a message if the link is broken. */
async function openLink() {
  let link;
  try {
    link = fromLink(location.hash);
    const known = () => [...LEVELS, ...OTHERS].find(({ id, name, table }) => link.opponent === (table ? name : id));
    if (!/^\d+$/.test(link.opponent) && !known()) await players; // your own player, perhaps
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
    Object.assign(S, { score: [0, 0], isCounted: false });
    drawHeader();
  },
  close: () => {},
};

function begin() {
  readTheme();
  addEventListener("storage", readTheme); // the documentation around this page has changed it
  document.querySelector(".logo").innerHTML = [1, 3, 5, 7].flatMap((n, i) => Array.from({ length: n }, (_, k) =>
    `<rect x="${i * 8}" y="${26.5 - k * 4.3}" width="7" height="3.4" rx="1"/>`)).join("");
  document.body.classList.toggle("first-visit", !location.hash.includes("moves="));
  listen({ choose, unchoose, take: takeChosen });
  $("take").onclick = takeChosen;
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
