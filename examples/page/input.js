// Pointing, a tap or an arrow key chooses; a click, a second tap, Enter or the button takes.

import { $ } from "./dom.js";
import { limit } from "./rules.js";
import { phase, state } from "./state.js";

export function listen({ choose, unchoose, takeChosen: take }, step, letters) {
  const board = $("board");
  let pressed = null;

  function onMouse({ type, button }, target) {
    if (type === "pointermove" && target) choose(target.heap, target.count, "mouse");
    if (type !== "pointerdown" || button !== 0) return;
    if (!target) return unchoose();
    choose(target.heap, target.count, "mouse");
    if (!state.chosen?.isTooMany) take();
  }

  function onFinger({ type }, target) {
    if (type === "pointerdown") {
      if (!target) return unchoose();
      const { chosen } = state;
      const isChosen = chosen?.heap === target.heap && chosen.count === target.count;
      pressed = { ...target, before: chosen, isChosen, hasMoved: false };
      choose(target.heap, target.count, "touch");
    } else if (type === "pointermove" && target && pressed?.heap === target.heap) {
      pressed.hasMoved ||= target.count !== pressed.count;
      if (pressed.hasMoved) choose(target.heap, target.count, "touch");
    } else if (type !== "pointermove") {
      if (type === "pointerup" && pressed?.isChosen && !pressed.hasMoved) take();
      if (type === "pointercancel" && pressed && !pressed.before) unchoose(); // the site scrolls
      pressed = null;
    }
  }

  board.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && state.by === "mouse") unchoose();
  });
  for (const type of ["pointermove", "pointerdown", "pointerup", "pointercancel"]) {
    board.addEventListener(type, (event) => {
      const isMouse = event.pointerType === "mouse";
      (isMouse ? onMouse : onFinger)(event, targetOf(event, isMouse));
    });
  }

  /** For a finger the nearest block counts, so the whole heap is a target. */
  function targetOf({ target, clientX, clientY }, isMouse) {
    const heap = target.closest(".heap");
    const blocks = [...(heap?.querySelectorAll(".block:not(.ghost)") ?? [])];
    const under = document.elementsFromPoint(clientX, clientY).find((node) => blocks.includes(node));
    if (!blocks.length || (!under && isMouse)) return null;
    const distance = (block) => {
      const box = block.getBoundingClientRect();
      return Math.hypot(clientX - (box.left + box.right) / 2, clientY - (box.top + box.bottom) / 2);
    };
    const block = under ?? blocks.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    return { heap: Number(heap.dataset.heap), count: blocks.length - blocks.indexOf(block) };
  }

  function focusHeap(heap) {
    board.querySelector(`[data-heap="${heap}"]`).focus();
    choose(heap, state.chosen?.heap === heap ? state.chosen.count : 1, "keys");
  }

  async function takeByKey(heap) {
    await take();
    const { heaps } = state.game;
    if (phase() === "yours" && board.contains(document.activeElement))
      focusHeap(heaps[heap] ? heap : heaps.findIndex(Boolean));
  }

  /** Returns whether the key does something. The heap is −1 if none has the focus. */
  function act(key, heap) {
    const { heaps, board } = state.game;
    const { isLying } = state.layout;
    const letter = key.length === 1 ? key.toUpperCase() : "";
    const filled = heaps.flatMap((size, i) => (size ? [i] : []));
    const count = state.chosen?.heap === heap ? state.chosen.count : 0;
    const beside = (by) => filled.at((filled.indexOf(heap) + by) % filled.length);
    const keys = {
      [isLying ? "ArrowLeft" : "ArrowDown"]: () => choose(heap, Math.max(1, count + 1), "keys"),
      [isLying ? "ArrowRight" : "ArrowUp"]: () => choose(heap, Math.max(1, count - 1), "keys"),
      [isLying ? "ArrowUp" : "ArrowLeft"]: () => focusHeap(beside(-1)),
      [isLying ? "ArrowDown" : "ArrowRight"]: () => focusHeap(beside(1)),
      Home: () => choose(heap, 1, "keys"),
      End: () => choose(heap, limit(heaps[heap], board), "keys"),
      Escape: unchoose,
      ...(state.chosen && { Enter: () => takeByKey(heap), " ": () => takeByKey(heap) }),
    };
    const named = letter.charCodeAt(0) - 65;
    const isYours = phase() === "yours";
    let action = letters[letter];
    if (named >= 0 && named < heaps.length) action = isYours && heaps[named] ? () => focusHeap(named) : null;
    else if (isYours && key in keys) action = heap < 0 ? () => focusHeap(filled[0]) : keys[key];
    else if (isYours && heap >= 0 && /^[1-9]$/.test(key)) action = () => choose(heap, Number(key), "keys");
    action?.();
    return Boolean(action);
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const isArrow = key.startsWith("Arrow");
    if (event.ctrlKey || event.altKey || event.metaKey || target.closest("input, dialog")) return;
    if (isArrow && ["past", "over"].includes(phase())) {
      if (key === "ArrowLeft" || key === "ArrowRight") step(key === "ArrowLeft" ? -1 : 1);
      return;
    }
    if (!isArrow && !target.closest("#board")) return;
    if (act(key, Number(target.closest(".heap")?.dataset.heap ?? -1))) event.preventDefault();
  });
  board.addEventListener("focusin", ({ target }) => {
    const isByKey = target.matches(".heap:focus-visible");
    if (isByKey && !state.chosen) choose(Number(target.dataset.heap), 1, "keys");
  });
}
