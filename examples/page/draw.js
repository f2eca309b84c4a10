import { drawBoard, drawChoice } from "./board.js";
import { LESSONS, PRESETS, isSameBoard } from "./boards.js";
import { $, make, sync } from "./dom.js";
import { drawLearn } from "./learn.js";
import { drawMoves, drawReplay, drawTeach } from "./panels.js";
import { LEVELS, OTHERS } from "./players.js";
import { hasPlayed, isFriend, lesson, names, phase, scoreOf, state } from "./state.js";
import { announceChoice, drawStatus } from "./status.js";
import { SAY } from "./words.js";

export const draw = () =>
  keepFocus(() => {
    drawHeader();
    drawPanel();
    drawBoard();
    drawStatus();
    drawReplay();
  });

export const drawChosen = () =>
  keepFocus(() => {
    drawChoice();
    if (phase() === "yours") drawStatus();
    if (state.panel === "teach") drawTeach();
    announceChoice();
  });

/** Moves the focus to the board if drawing disables or hides what has it. */
function keepFocus(drawParts) {
  const node = document.activeElement;
  drawParts();
  const isGone = node.disabled || !node.checkVisibility({ visibilityProperty: true });
  if (isGone && node !== document.body) $("board").focus({ preventScroll: true });
}

function drawHeader() {
  const { board } = state.game;
  const [you, other] = names();
  const score = scoreOf();
  const preset = PRESETS.find((each) => isSameBoard(each, { ...board, misere: each.misere }));
  const named = preset?.name ?? (board.heaps.length < 6 ? board.heaps.join("-") : `${board.heaps.length} heaps`);
  $("board-name").textContent = lesson() ? `Lesson ${LESSONS.indexOf(lesson()) + 1}` : named;
  $("rule").textContent = `Last block ${board.misere ? "loses" : "wins"} ⇄`;
  $("opponent").textContent = state.opponent.name;
  $("score-text").textContent = `Score: ${you} ${score[0]}, ${other} ${score[1]}`;
  $("score-numbers").textContent = `${score[0]} : ${score[1]}`;
  const isLevel = LEVELS.includes(state.opponent);
  drawPlayers($("levels"), isLevel ? LEVELS : [...LEVELS, state.opponent]);
  drawPlayers($("players"), [...new Set([...LEVELS, state.opponent, ...OTHERS])]);
  for (const radio of document.getElementsByName("starts")) radio.checked = radio.value === state.starts;
  $("starts-other").textContent = isFriend() ? other : "Opponent";
  $("starts-you").textContent = you;
  $("undo").disabled = !hasPlayed();
  for (const id of ["levels", "pick-opponent", "more-opponents", "score"]) $(id).hidden = Boolean(lesson()); // the expert plays
}

function drawPlayers(node, players) {
  const create = () => make("button", { data: { do: "level" } }, make("span"), make("small"));
  sync(node, players, create, (button, player) => {
    const reason = player.board ? "" : player.why(state.learner); // a player of yours brings its board
    button.dataset.value = player.id;
    button.firstElementChild.textContent = player.name;
    button.lastElementChild.textContent = reason ? "not on this board" : player.note(state.learner);
    Object.assign(button, { disabled: Boolean(reason), title: SAY[reason] ?? "" });
    button.setAttribute("aria-pressed", state.opponent === player);
  });
}

function drawPanel() {
  document.body.dataset.panel = state.panel ?? "";
  for (const button of $("rail").children) {
    button.setAttribute("aria-pressed", button.dataset.value === state.panel);
  }
  $("panel").hidden = !state.panel;
  for (const name of ["moves", "teach", "learn"]) $(`tab-${name}`).hidden = state.panel !== name;
  ({ moves: drawMoves, teach: drawTeach, learn: drawLearn })[state.panel]?.();
}

export function drawPresets() {
  const create = ({ name, note }, value) => {
    const texts = [make("b", { textContent: name }), make("small", { textContent: note })];
    return make("button", { data: { do: "preset", value } }, ...texts);
  };
  sync($("presets"), PRESETS, create, (button, preset) =>
    button.setAttribute("aria-pressed", isSameBoard(preset, state.game.board)),
  );
}
