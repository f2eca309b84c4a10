// Choosing and taking by mouse, finger and keys. Pointing, a tap or an arrow key chooses; a click, a second tap, Enter
// or the button takes.

import { $ } from "./dom.js";
import { limit } from "./rules.js";
import { S, isYours } from "./state.js";

/** Connects the board. `choose(heap, count, by)`, `unchoose()` and `take()` change the game. */
export function listen({ choose, unchoose, take }) {
  const board = $("board");
  let pressed = null; // by a finger that is still down

  function onMouse(event, target) {
    if (event.type === "pointermove" && target) choose(target.heap, target.count, "mouse");
    else if (event.type === "pointerdown" && event.button === 0) {
      if (!target) return unchoose();
      choose(target.heap, target.count, "mouse");
      if (!S.isTooMany) take();
    }
  }

  function onFinger(event, target) {
    if (event.type === "pointerdown") {
      if (!target) return unchoose();
      const isChosen = S.chosen?.heap === target.heap && S.chosen.count === target.count;
      pressed = { ...target, before: S.chosen, isChosen, hasMoved: false };
      choose(target.heap, target.count, "touch");
    } else if (event.type === "pointermove" && target && pressed?.heap === target.heap) {
      pressed.hasMoved ||= target.count !== pressed.count;
      if (pressed.hasMoved) choose(target.heap, target.count, "touch");
    } else if (event.type === "pointerup" || event.type === "pointercancel") {
      if (event.type === "pointerup" && pressed?.isChosen && !pressed.hasMoved) take();
      else if (event.type === "pointercancel" && pressed && !pressed.before) unchoose(); // the site scrolls
      pressed = null;
    }
  }

  // not when the pointer leaves the board, so that a mouse can reach the buttons below it
  board.parentElement.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && S.by === "mouse") unchoose();
  });
  for (const type of ["pointermove", "pointerdown", "pointerup", "pointercancel"]) {
    board.addEventListener(type, (event) => {
      const isMouse = event.pointerType === "mouse";
      (isMouse ? onMouse : onFinger)(event, targetOf(event, isMouse));
    });
  }

  /** The heap and count under a pointer. For a finger the nearest block counts, so that all of the heap is a target. */
  function targetOf(event, isMouse) {
    const heap = event.target.closest?.(".heap"), blocks = [...(heap?.querySelectorAll(".block:not(.ghost)") ?? [])];
    if (!blocks.length) return null;
    const distance = (block) => {
      const box = block.getBoundingClientRect();
      return Math.hypot(event.clientX - (box.left + box.right) / 2, event.clientY - (box.top + box.bottom) / 2);
    };
    const under = document.elementsFromPoint(event.clientX, event.clientY).find((node) => blocks.includes(node));
    if (!under && isMouse) return null;
    const block = under ?? blocks.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    return { heap: Number(heap.dataset.heap), count: blocks.length - blocks.indexOf(block) };
  }

  function focusHeap(heap) {
    board.querySelector(`[data-heap="${heap}"]`)?.focus();
    choose(heap, S.chosen?.heap === heap ? S.chosen.count : 1, "keys");
  }

  board.addEventListener("keydown", async (event) => {
    const node = event.target.closest(".heap"), { key } = event;
    if (!node || event.ctrlKey || event.metaKey || event.altKey || !isYours()) return;
    const heap = Number(node.dataset.heap), { heaps, rules } = S.game, count = S.chosen?.heap === heap ? S.chosen.count : 0;
    const { isLying } = S.layout, letter = key.length === 1 ? key.toUpperCase().charCodeAt(0) - 65 : -1;
    const more = isLying ? ["ArrowLeft", "ArrowRight"] : ["ArrowDown", "ArrowUp"]; // and fewer: where the blocks go
    const beside = isLying ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    if (more.includes(key)) choose(heap, Math.max(1, count + (key === more[0] ? 1 : -1)), "keys");
    else if (beside.includes(key)) {
      const filled = heaps.flatMap((size, i) => (size ? [i] : [])), step = key === beside[0] ? -1 : 1;
      focusHeap(filled[(filled.indexOf(heap) + step + filled.length) % filled.length]);
    } else if (key === "Home") choose(heap, 1, "keys");
    else if (key === "End") choose(heap, limit(heaps[heap], rules), "keys");
    else if (/^[1-9]$/.test(key)) choose(heap, Number(key), "keys");
    else if (letter >= 0 && letter < heaps.length) { if (heaps[letter]) focusHeap(letter); }
    else if (key === "Escape") unchoose();
    else if ((key === "Enter" || key === " ") && S.chosen) {
      event.preventDefault();
      await take();
      const left = S.game.heaps;
      if (isYours()) focusHeap(left[heap] ? heap : left.findIndex(Boolean));
      return;
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => { // a letter reaches its heap from anywhere but a field
    const heap = event.key.length === 1 ? event.key.toUpperCase().charCodeAt(0) - 65 : -1;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".heap, input, select, dialog")) return;
    if (isYours() && S.game.heaps[heap]) focusHeap(heap);
  });
  board.addEventListener("focusin", (event) => {
    const heap = event.target.closest(".heap");
    if (heap?.matches(":focus-visible") && !S.chosen) choose(Number(heap.dataset.heap), 1, "keys");
  });
}
