// Tries a visitor's program: program.py runs it in a sandboxed frame, and this page shows its mistakes.

import { isSameBoard } from "./boards.js";
import { $, make, read, readTheme, style } from "./dom.js";
import { Game } from "./game.js";
import { Positions } from "./learner.js";
import { fromLink, toLink } from "./links.js";
import { isLimited } from "./rules.js";
import { percent, plural, thousands, wordsOf } from "./words.js";

const PYTHON =
  "pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json programs.py specification.py";
const FILES = ["program.py", "program_worker.js", ...PYTHON.split(" ").map((name) => `python/${name}`)];
const MAX_BYTES = 1_000_000;
const MAX_POSITIONS = 20_000;
const MAX_MAPPED = 1000;
const LIMIT = 120; // seconds
const LIST = new Intl.ListFormat("en");
const board = boardOf(location.hash);
const positions = new Positions(board);
let python; // a promise of its files, by name
let next; // a frame that loads Python before the next program is chosen
let tried = Promise.resolve();
let end = () => {}; // of the program that runs

/** The board of a link; that of a lesson becomes a board as any other. */
function boardOf(hash) {
  try {
    const { heaps, max, misere } = fromLink(hash).game.board;
    return { heaps, max, misere };
  } catch {
    return boardOf("");
  }
}

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} could not be loaded.`);
  return [address.split("/").at(-1), await answer.arrayBuffer()];
}

const loadPython = () =>
  Promise.all(FILES.map(fetched)).then(Object.fromEntries, (error) => {
    python = undefined; // the next try loads it again
    throw error;
  });

function show(text, isBad = false) {
  $("progress").textContent = text;
  $("progress").className = isBad ? "bad" : "";
}

/** The file that no other one imports. */
function mainOf(files) {
  const modules = files.flatMap(({ text }) =>
    [...text.matchAll(/^\s*(?:from|import)\s+(\w+)/gm)].map(([, name]) => name),
  );
  return files.find(({ name }) => !modules.includes(name.slice(0, -3))) ?? files[0];
}

async function readFiles(list) {
  const files = [];
  for (const file of list) {
    if (!file.name.endsWith(".py")) throw new Error(`${file.name} is not a Python file. Its name must end with .py.`);
    if (file.size > MAX_BYTES) throw new Error(`${file.name} has ${thousands(file.size)} bytes, more than 1,000,000.`);
    const bytes = await file.arrayBuffer().catch(() => null);
    if (!bytes) throw new Error(`${file.name} has changed since you chose it. Choose it again.`);
    const text = new TextDecoder().decode(bytes);
    if (text.includes("\0")) throw new Error(`${file.name} is not a Python file: it holds no text.`);
    files.push({ name: file.name, bytes, text });
  }
  return files;
}

async function tryProgram(list) {
  $("result").hidden = true;
  try {
    if (positions.number > MAX_POSITIONS) throw new Error("This board has too many positions. Choose a smaller one.");
    if (!list.length) throw new Error("Choose a file, or paste a program.");
    const files = await readFiles(list);
    const { name } = mainOf(files);
    $("stop").hidden = false;
    const answer = await run(name, Object.fromEntries(files.map(({ name, bytes }) => [name, bytes])));
    if (answer.error) throw new Error(explained(answer));
    show("");
    showResult(name, answer);
    $("result").focus();
  } catch (error) {
    show(error.message, true);
  }
  $("stop").hidden = true;
}

/** Makes a frame that loads Python. A question to its port waits until it is loaded. */
function prepare() {
  const frame = make("iframe", { src: "program_frame.html", hidden: true, attrs: { sandbox: "allow-scripts" } });
  const { port1: port, port2 } = new MessageChannel();
  python ??= loadPython();
  frame.onload = () => python?.then((files) => frame.contentWindow?.postMessage(files, "*", [port2]), Boolean);
  document.body.append(frame);
  return { frame, port };
}

/** Runs the program in a frame, which is removed at the end. Another frame then loads Python for the next program. */
function run(name, programs) {
  show(python ? "Starting Python …" : "Loading Python, 6 MB …");
  const { frame, port } = next ?? prepare();
  const answer = new Promise((resolve, reject) => {
    end = () => resolve({ error: "Stopped." });
    port.onmessage = ({ data }) => (data.text ? show(data.text) : resolve(data));
    port.postMessage({ programs, question: [name, board.heaps, board.max] });
    const limit = `It took longer than ${LIMIT} seconds and was stopped. Does a loop of it never end?`;
    python.then(() => setTimeout(() => resolve({ error: limit }), LIMIT * 1000), reject);
  });
  return answer.finally(() => {
    frame.remove();
    next = python && prepare();
  });
}

function explained({ error, printed = 0 }) {
  const isMissing = /No module named '(?!imp'|distutils|asyncore)/.test(error);
  const remedy = ". If it is yours, choose both files together. Packages such as NumPy need the installed command.";
  return error + (isMissing ? remedy : "") + printedText(printed);
}

const printedText = (printed) =>
  printed > MAX_BYTES ? ` It printed ${Math.round(printed / 1e6)} million characters, which are not shown.` : "";

const linkTo = (name, start = board.heaps) =>
  `index.html${toLink(new Game(board, start === board.heaps ? 0 : 1, start), { vs: name })}`;

/** How the program plays each position that can be won. What is missing from 1 is illegal. */
function judged(probabilities) {
  const { moves, wins } = positions;
  const rows = [...wins].map(([position, right]) => {
    const row = probabilities.slice(position * moves.length, (position + 1) * moves.length);
    const share = right.reduce((sum, action) => sum + row[action], 0);
    const heaps = positions.heapsOf(position);
    const blocks = heaps.reduce((sum, size) => sum + size, 0);
    const losing = row.map((probability, action) => (right.includes(action) ? 0 : probability));
    losing.push(1 - row.reduce((sum, probability) => sum + probability, 0));
    const worst = Math.max(...losing);
    const wrong = moves[losing.indexOf(worst)];
    return { heaps, blocks, share, worst, wrong, right: right.map((action) => moves[action]), isRight: worst < 1e-9 };
  });
  return rows.sort((one, other) => one.blocks - other.blocks);
}

function mistakeText({ heaps, worst, wrong, right }) {
  const taken = wrong ? wordsOf(wrong) : "an illegal action";
  const takes = worst > 1 - 1e-9 ? "takes" : "may take";
  return `At ${heaps.join("-")} it ${takes} ${taken}. Taking ${right.map(wordsOf).join(" or ")} would win.`;
}

/** Draws a cell for each position that can be won, in columns by the number of blocks left. */
function drawMap(name, rows) {
  const columns = [...Map.groupBy(rows, ({ blocks }) => blocks).values()];
  const cells = ({ heaps, share }) => {
    const cell = make("i", { className: share < 0.5 ? "minus" : "", title: `${heaps.join("-")}: ${percent(share)}` });
    style(cell, { "--v": `${Math.round(Math.abs(200 * share - 100))}%` });
    return make("a", { href: linkTo(name, heaps), tabIndex: -1 }, cell);
  };
  style($("map"), { "--rows": Math.ceil(Math.max(...columns.map(({ length }) => length)) / 2) });
  $("map").replaceChildren(...columns.map((column) => make("div", {}, ...column.map(cells))));
}

/** Which functions were tested, and which ones could be. */
function testedText({ tested, faults }) {
  const [right, missing] = [true, false].map((one) => Object.keys(tested).filter((each) => tested[each] === one));
  if (!right.length && !missing.length) {
    return "Only its moves were judged. Its functions can be tested on four heaps, if the keys of q are such as ((1, 3, 5, 7), (3, 2)).";
  }
  const names = LIST.format(right.map((each) => each.split("(")[0]));
  const found = names && !faults.length ? `No bug was found in ${names}. ` : "";
  const others = `These functions would be tested ${names && "too "}if they were called ${LIST.format(missing)}.`;
  return found + (missing.length ? others : "");
}

function remarks({ probabilities, illegal, printed }) {
  const sentences = [];
  if (illegal.length) {
    const [[heaps, answer]] = illegal;
    const places = plural(illegal.length, "position");
    sentences.push(`It gives no legal move in ${places}, the first ${heaps.join("-")}, where it answers ${answer}.`);
    sentences.push("Against you it plays any move there.");
  }
  if (probabilities.some((probability) => probability % 1)) {
    sentences.push("It draws some of its moves, so the figures are estimates.");
  }
  return sentences.join(" ") + printedText(printed);
}

/** Keeps the program and its report for this visit, in the form of data/players.json. */
function keep(name, answer) {
  const { heaps, max, misere } = board;
  const probabilities = answer.probabilities.slice();
  for (const [position, actions] of positions.legal.entries()) {
    const from = position * positions.moves.length;
    const isEmpty = actions.every((action) => !probabilities[from + action]);
    for (const action of isEmpty ? actions : []) probabilities[from + action] = 1 / actions.length;
  }
  const player = { name, heaps, max_take: isLimited(board) ? max : null, misere, probabilities, values: null };
  try {
    sessionStorage.setItem("nim-program", JSON.stringify([{ ...player, board, answer }]));
    return true;
  } catch {
    return false; // a private window, or a table that is too large
  }
}

function showResult(name, answer) {
  const { faults, probabilities, illegal } = answer;
  const rows = judged(probabilities);
  const mistakes = rows.filter(({ isRight }) => !isRight);
  const expert = rows.length ? rows.reduce((sum, { share }) => sum + share, 0) / rows.length : 1;
  const isKept = keep(name, answer);
  const wrong = [...new Set(faults.map(([fault]) => fault)), ...(illegal.length ? ["the choice"] : [])];
  const share = `plays ${percent(expert)} of the winning positions right`;
  const verdict = wrong.length ? `${name}: Bug in ${wrong.join(", ")}.` : `${name} ${share}.`;
  Object.assign($("verdict"), { textContent: verdict, className: wrong.length ? "bad" : "" });
  $("tested").textContent = testedText(answer);
  $("faults").replaceChildren(...faults.map(([, sentence]) => make("li", { textContent: `${sentence}.` })));
  const said = wrong.length ? `It ${share}. ` : "";
  const none = mistakes.length ? `a mistake in ${mistakes.length}` : "no mistake in any";
  $("figures").textContent = `${said}It makes ${none} of ${rows.length} winning positions.`;
  $("map").hidden = !isKept || !rows.length || rows.length > MAX_MAPPED;
  $("map-hint").hidden = $("map").hidden;
  if (!$("map").hidden) drawMap(name, rows);
  const link = (row) => make("a", { href: linkTo(name, row.heaps), textContent: "Play it", hidden: !isKept });
  const item = (row) => make("li", {}, `${mistakeText(row)} `, link(row));
  $("mistakes").replaceChildren(...mistakes.slice(0, 5).map(item));
  $("remarks").textContent = remarks(answer);
  Object.assign($("play"), { href: linkTo(name), hidden: !isKept });
  $("result").hidden = false;
}

/** Shows the report of this visit again if it is about this board. */
function showKept() {
  const [kept] = JSON.parse(read("nim-program", "sessionStorage")) ?? [];
  if (kept && isSameBoard(kept.board, board)) showResult(kept.name, kept.answer);
}

/** Ends the program that runs, and tries another. */
function tryNext(list) {
  end();
  tried = tried.then(() => tryProgram([...list]));
}

function start() {
  readTheme();
  $("back").href = `index.html${location.hash}`;
  $("board-name").textContent = board.heaps.join("-");
  $("form").onsubmit = (event) => {
    event.preventDefault();
    const code = $("code").value;
    tryNext($("files").files.length || !code.trim() ? $("files").files : [new File([code], "program.py")]);
  };
  $("files").onchange = ({ target }) => target.files.length && tryNext(target.files);
  $("code").oninput = () => ($("files").value = "");
  $("stop").onclick = () => end();
  document.ondragover = (event) => event.preventDefault();
  document.ondrop = (event) => {
    event.preventDefault();
    $("files").files = event.dataTransfer.files;
    tryNext($("files").files);
  };
}

start();
showKept();
