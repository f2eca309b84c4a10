// Draws the page: the header here, and all parts in the right order.

import { drawBoard, drawChoice } from "./board.js";
import { $, make } from "./dom.js";
import { PRESETS, isSameBoard, thousands } from "./game.js";
import { drawPanel, drawReplay, drawTeach } from "./panels.js";
import { LEVELS, OTHERS } from "./players.js";
import { S, gamesOf, isFriend, isOpponent, names, reasonAgainst } from "./state.js";
import { drawStatus } from "./status.js";

export function draw() {
  drawHeader();
  drawPanel();
  drawBoard();
  drawStatus();
  drawReplay();
}

export function drawHeader() {
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
  names().forEach((name, i) => { $("starts").options[i].textContent = name; });
  [...document.getElementsByName("starts")].forEach((radio, i) => {
    radio.checked = radio.value === S.starts;
    radio.nextElementSibling.textContent = [...names(), "In turn"][i];
  });
  $("undo").disabled = S.isBusy || !S.game.moves.some((_, ply) => !isOpponent(S.game.playerAt(ply)));
}

function drawLevels() {
  const extra = S.level === "stage" ? { id: "stage", name: "In training" } : OTHERS.find(({ id }) => id === S.level);
  const levels = extra ? [...LEVELS.slice(0, 3), extra, ...LEVELS.slice(3)] : LEVELS, focused = document.activeElement?.value;
  const nodes = levels.map(({ id, name, note, isTrained, tooBig }) => {
    const reason = reasonAgainst({ id, isTrained, tooBig }), games = gamesOf(id);
    const small = reason ? "too big" : note ?? (games === undefined ? "learning …" : thousands(games));
    const unit = make("span", { className: id === "beginner" ? "" : "narrow-out", textContent: games === 1 ? " game" : " games" });
    return make("label", { title: reason },
      make("input", { type: "radio", name: "level", value: id, checked: S.level === id, disabled: Boolean(reason) }),
      make("span", {}, name, make("small", { textContent: small }, reason || note || games === undefined ? null : unit)));
  });
  const hasFocus = $("levels").contains(document.activeElement);
  $("levels").replaceChildren($("levels").firstElementChild, ...nodes);
  if (hasFocus) $("levels").querySelector(`[value="${focused}"]`)?.focus();
}

/** After another choice. */
export function drawChosen() {
  drawChoice();
  if (S.view === null && S.game.winner === null) drawStatus();
  if (S.panel === "teach") drawTeach();
}
