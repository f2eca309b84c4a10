// Draws the page: the header and the dialogs here, and all parts in the right order.

import { drawBoard, drawChoice } from "./board.js";
import { $, make, style, sync } from "./dom.js";
import { PRESETS, isSameBoard } from "./game.js";
import { drawPanel, drawReplay, drawTeach } from "./panels.js";
import { LEARNERS, LEVELS, OTHERS } from "./players.js";
import { S, gamesOf, hasPlayed, isFriend, levelOf, names, reasonAgainst, scoreOf } from "./state.js";
import { announceChoice, drawStatus } from "./status.js";
import { SAY, goal, lessonName, noteOf } from "./words.js";

export function draw() {
  drawHeader();
  drawPanel();
  drawBoard();
  drawStatus();
  drawReplay();
}

function drawHeader() {
  const { rules } = S.game, { heaps } = rules, [you, other] = names(), score = scoreOf();
  const preset = PRESETS.find((each) => String(each.heaps) === String(heaps) && each.max === rules.max);
  $("board-name").textContent = S.lesson !== null ? lessonName(S.lesson)
    : preset?.name ?? (heaps.length < 6 ? heaps.join("-") : `${heaps.length} heaps`);
  Object.assign($("rule"), { textContent: `Rule: last ${rules.misere ? "loses" : "wins"}`, title: `${goal(rules)} Change it` });
  $("opponent").textContent = levelOf(S.level).name;
  $("score-text").textContent = `Score: ${you} ${score[0]}, ${other} ${score[1]}`;
  $("score-numbers").textContent = `${score[0]} : ${score[1]}`;
  const playing = LEARNERS.find(({ id }) => id === S.level) ?? OTHERS.find(({ id }) => id === S.level);
  drawPlayers($("levels"), playing ? [...LEVELS, playing] : LEVELS);
  drawPlayers($("players"), [...LEVELS, ...(LEARNERS.includes(playing) ? [playing] : []), ...OTHERS]);
  for (const radio of document.getElementsByName("starts")) radio.checked = radio.value === S.starts;
  $("starts-other").textContent = isFriend() ? other : "Opponent";
  $("starts-you").textContent = you;
  $("undo").disabled = !hasPlayed();
}

const makePlayer = () => make("button", { data: { do: "level" } }, make("span"), make("small"));

function drawPlayers(node, players) {
  sync(node, players, makePlayer, (button, player) => {
    const reason = player.table ? "" : reasonAgainst(player); // a player of yours brings its board
    button.dataset.value = player.id;
    button.firstElementChild.textContent = player.name;
    button.lastElementChild.textContent = noteOf(player, reason, gamesOf(player.id));
    Object.assign(button, { disabled: Boolean(reason), title: SAY[reason] ?? "" });
    button.setAttribute("aria-pressed", String(S.level === player.id));
  });
}

/** After another choice. */
export function drawChosen() {
  drawChoice();
  if (S.view === null && S.game.winner === null) drawStatus();
  if (S.panel === "teach") drawTeach();
  announceChoice();
}

/** A small picture of a board. */
export function picture(heaps) {
  const node = make("span", { className: "mini" }, ...heaps.slice(0, 15).map(() => make("i")));
  heaps.slice(0, 15).forEach((size, i) => style(node.children[i], { "--n": size, "--share": size / Math.max(...heaps) }));
  return node;
}

export function drawPresets() {
  const create = (preset, value) => make("button", { data: { do: "preset", value } }, picture(preset.heaps),
    make("span", {}, make("b", { textContent: preset.name }), make("small", { textContent: preset.note })));
  sync($("presets"), PRESETS, create, (button, preset) =>
    button.setAttribute("aria-pressed", String(isSameBoard(preset, S.game.rules))));
}
