// The status, the only voice of the page, on the screen and for screen readers.

import { $, make, sync } from "./dom.js";
import { isWinning, nameOf } from "./rules.js";
import { S, shownHeaps } from "./state.js";
import { statusOf } from "./words.js";

/** Whether the game has not begun and whoever starts it, you, is lost. */
const isLostStart = () =>
  S.game.first === 0 && !S.game.moves.length && S.level !== "friend" && S.lesson === null && !isWinning(S.game.heaps, S.game.rules);

export function drawStatus() {
  const { say, how, aim = "", player, kind = "", buttons } = statusOf(isLostStart()), actions = $("status-actions");
  $("say").textContent = say;
  $("aim").textContent = aim;
  $("how").textContent = how;
  $("status").className = `p${player} ${kind}`.trim();
  const hadFocus = actions.contains(document.activeElement), color = `p${player}`;
  sync(actions, buttons ?? [], () => make("button"), (button, [text, action, value], i) => {
    button.textContent = text;
    button.className = i === 0 && S.view === null ? `primary ${color}` : "";
    Object.assign(button.dataset, { do: action, value: value ?? "" });
  });
  actions.hidden = !buttons?.length;
  if (hadFocus && !actions.contains(document.activeElement)) {
    (actions.firstElementChild ?? $("board").querySelector("[tabindex='0']") ?? $("board")).focus({ preventScroll: true });
  }
}

/** The whole position in a few sentences, once a turn; with "Teach me" its verdict too. */
export function announce() {
  const heaps = shownHeaps(), left = heaps.map((size, heap) => `${nameOf(heap)} ${size}`).join(", ");
  const parts = [$("say").textContent, heaps.some(Boolean) ? `Left: ${left}.` : "", $("aim").textContent, $("how").textContent];
  if (S.panel === "teach") parts.push($("verdict").textContent, $("lesson").textContent);
  $("live").textContent = parts.filter(Boolean).join(" ");
}

/** What "Teach me" says of the chosen move. */
export function announceChoice() {
  if (S.panel === "teach" && S.chosen && S.lesson === null) $("live").textContent = $("verdict").textContent;
}
