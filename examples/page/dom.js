export const $ = (id) => document.getElementById(id);
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");

export function make(tag, { data, attrs, ...properties } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  Object.assign(node.dataset, data);
  set(node, attrs ?? {});
  node.append(...children);
  return node;
}

export function makeSvg(tag, attrs, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(node, attrs);
  node.textContent = text;
  return node;
}

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

export function style(node, properties) {
  for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
}

/** Makes each child once and then updates it, so the focus stays. */
export function sync(parent, items, create, update = () => {}) {
  while (parent.children.length > items.length) parent.lastElementChild.remove();
  items.forEach((item, i) => update(parent.children[i] ?? parent.appendChild(create(item, i)), item, i));
}

let timer;

export function toast(text) {
  $("toast").textContent = text;
  $("toast").classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => $("toast").classList.remove("on"), 1500 + 40 * text.length);
}

export function read(key, storage = "localStorage") {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* a private window */
  }
}

const page = document.documentElement;

// Furo, the theme of the documentation, uses the same key.
export function readTheme() {
  const theme = read("theme");
  page.style.colorScheme = theme === "light" || theme === "dark" ? theme : "";
}

export function toggleTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  page.style.colorScheme = (page.style.colorScheme || system) === "dark" ? "light" : "dark";
  keep("theme", page.style.colorScheme);
}
