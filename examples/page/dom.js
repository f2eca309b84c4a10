// A few helpers for the page's elements.

export const $ = (id) => document.getElementById(id);
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export const isStill = matchMedia("(prefers-reduced-motion: reduce)");

/** An element. `data`, `style` and `attrs` are dictionaries; the rest are properties. */
export function make(tag, { data, style, attrs, ...properties } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  Object.assign(node.dataset, data);
  for (const [name, value] of Object.entries(style ?? {})) node.style.setProperty(name, value);
  for (const [name, value] of Object.entries(attrs ?? {})) node.setAttribute(name, value);
  node.append(...children.filter((child) => child != null));
  return node;
}

let timer;
export function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => $("toast").classList.remove("on"), 1500 + 40 * text.length);
}

// The key under which Furo, the theme of the documentation, keeps the reader's choice. It may be out of reach.
export function readTheme() {
  let theme = null;
  try { theme = localStorage.getItem("theme"); } catch { /* private mode */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

export function toggleTheme() {
  const isDark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "")) === "dark";
  try { localStorage.setItem("theme", isDark ? "light" : "dark"); } catch { /* private mode */ }
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
}
