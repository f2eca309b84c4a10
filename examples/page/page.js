// The page of play_in_browser.py. The server keeps the game; the page draws it and sends what you do.

const GAP = 4, NAME_HEIGHT = 48; // pixels between blocks and below a heap, as in style.css
const FINGER = 44; // pixels that a finger needs

const $ = (id) => document.getElementById(id);
const form = $("settings"), dialog = form.parentElement, board = $("board");
const isTouch = matchMedia("(hover: none), (pointer: coarse)");
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

let state; // as /state returns it
let isBusy = false; // while a request is answered or a move is shown

// --- The server ----------------------------------------------------------------------------------

async function request(path, body) {
  const options = body && { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(path, options).catch(() => { throw new Error("The server has stopped."); });
  const answer = await response.json().catch(() => ({ error: "The server failed; see its terminal." }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Changes the game and shows what has changed. */
async function change(path, body = {}) {
  if (isBusy) return;
  setBusy(true);
  try {
    const next = await request(path, body);
    dialog.close();
    await show(next);
  } catch (error) {
    draw();
    if (dialog.open) $("settings-error").textContent = error.message;
    else say(error.message, "error");
  }
  setBusy(false);
}

function setBusy(value) {
  isBusy = value;
  board.ariaBusy = value;
  drawUndo();
}

/** Shows a state; moves that are new are animated one after another. */
async function show(next) {
  const isReload = state === undefined;
  const shown = isReload ? next.moves.length : state.number === next.number ? state.moves.length : 0;
  state = next;
  for (let ply = shown; ply < state.moves.length && !isStill.matches; ply++) {
    drawBoard(ply);
    await animate(state.moves[ply]);
  }
  draw();
  if (state.winner && !isReload) $("new-game").focus();
}

/** Marks the blocks that a move takes, and lets them leave. */
async function animate({ player, heap, count }) {
  const blocks = blocksOf(board.children[heap]).slice(0, count);
  for (const block of blocks) block.style.setProperty("--mover", `var(--${player})`);
  if (player === "opponent") {
    say(`${opponentName()} takes ${count} from ${nameOf(heap)} …`);
    await sleep(300);
    for (const block of blocks) block.classList.add("marked");
    await sleep(900);
  }
  for (const block of blocks) block.classList.add("leaving");
  await sleep(350);
}

// --- What the state means ------------------------------------------------------------------------

const nameOf = (heap) => String.fromCharCode(65 + heap);
const opponentName = () => form.opponent.querySelector(`[value="${CSS.escape(state.settings.opponent)}"]`).text;
const hasMoved = () => state.moves.some((move) => move.player === "you");

/** The heap sizes after this many moves. */
function heapsAfter(ply) {
  const left = [...state.heaps];
  for (const { heap, count } of state.moves.slice(0, ply)) left[heap] -= count;
  return left;
}

/** The number of moves before your last turn. */
const lastTurn = (ply) => Math.max(0, state.moves.slice(0, ply).findLastIndex((move) => move.player === "you"));

/** Who took the blocks that are drawn as outlines, from below: all after the end, else those since your last turn. */
function takersOf(heap, ply) {
  const isEnd = state.winner && ply === state.moves.length;
  const moves = state.moves.slice(isEnd ? 0 : lastTurn(ply), ply).filter((move) => move.heap === heap);
  return moves.reverse().flatMap(({ player, count }) => Array(count).fill(player));
}

function textOf(value) {
  if (state.hints.kind === "probability") return `${Math.round(100 * value)}\u00a0%`; // on one line
  const digits = Math.abs(value).toFixed(2);
  return (digits === "0.00" ? "" : value < 0 ? "−" : "+") + digits;
}

// --- Drawing -------------------------------------------------------------------------------------

function draw() {
  const { settings, score, winner, moves } = state;
  $("rules").textContent = `Take ${settings.max_take ? `1 to ${settings.max_take}` : "any number of"} objects from `
    + `one heap. Taking the last object ${settings.misere ? "loses" : "wins"}.`;
  $("your-score").textContent = score.you;
  $("opponent-score").textContent = score.opponent;
  document.querySelector(".opponent-name").textContent = opponentName();
  drawUndo();
  drawLegend();
  drawMoves();
  const last = moves.at(-1);
  const told = last && `${last.player === "you" ? "You" : opponentName()} took`;
  if (winner) say(`${winner === "you" ? "You win!" : "You lose."} ${told} the last object.`, winner);
  else say(last ? `${told} ${last.count} from ${nameOf(last.heap)}. Your turn.` : "Your turn.");
  drawBoard(moves.length);
}

function say(text, kind = "") {
  $("status").textContent = text;
  $("status").className = kind;
}

function drawUndo() {
  $("undo").disabled = isBusy || !hasMoved();
}

function drawMoves() {
  const marks = { wins: "✓", mistake: "✗", "no move wins": "" };
  $("moves").replaceChildren(...state.moves.map(({ player, heap, count, rating }) => {
    const item = document.createElement("li"), who = document.createElement("b"), mark = document.createElement("b");
    who.className = player;
    who.textContent = player === "you" ? "You" : opponentName();
    mark.textContent = marks[rating];
    mark.title = rating;
    mark.className = "mark for-wins";
    item.append(who, `: ${count} from ${nameOf(heap)} `, mark);
    return item;
  }));
  $("moves").scrollTop = $("moves").scrollHeight;
}

function drawLegend() {
  const isValue = state.hints.kind === "value";
  document.body.classList.toggle("wins-shown", $("show-wins").checked);
  document.body.classList.toggle("values-shown", $("show-values").checked);
  $("no-win").textContent = state.hints.moves.some((hint) => hint.wins) ? "" : "(no move does here)";
  $("value-sample").textContent = isValue ? "+0.85" : "50 %";
  $("value-meaning").textContent = isValue
    ? `what ${opponentName()} expects for the player who makes the move: −1 lost, +1 won`
    : `how likely ${opponentName()} is to make the move`;
  $("at-end").hidden = !state.winner;
}

/** Draws the heaps after this many moves; the hints belong to the last position. */
function drawBoard(ply) {
  const focused = document.activeElement.closest(".heap");
  const focusedHeap = focused && [...board.children].indexOf(focused);
  board.replaceChildren(); // so that the space is measured without them
  const layout = fit(board.clientWidth, board.clientHeight);
  const hints = ply === state.moves.length ? state.hints.moves : [];
  const hinted = state.winner ? heapsAfter(lastTurn(ply)) : heapsAfter(ply);
  board.style.setProperty("--width", `${layout.width}px`);
  board.style.setProperty("--height", `${layout.height}px`);
  board.style.setProperty("--columns", layout.columns);
  board.append(...heapsAfter(ply).map((left, heap) =>
    drawHeap(heap, left, takersOf(heap, ply), hinted[heap], hints.filter((hint) => hint.heap === heap), layout)));
  board.dataset.ply = ply;
  const tops = [...board.children].map((heap) => blocksOf(heap)[0]);
  const reached = tops.slice(focusedHeap ?? 0).find(Boolean) ?? tops.find(Boolean);
  if (reached) reached.tabIndex = 0;
  if (focused) reached?.focus();
}

/** How many blocks lie side by side in a heap, and their size: the first that suits a finger, else the largest. */
function fit(width, height) {
  const most = Math.max(...state.heaps), heapGap = parseFloat(getComputedStyle(board).columnGap);
  let best = { size: 0 };
  for (let rows = 1; rows <= state.heaps.length; rows++) {
    for (let columns = 1; columns <= most; columns++) {
      const wide = (width / Math.ceil(state.heaps.length / rows) - heapGap) / columns - GAP;
      const high = (height / rows - NAME_HEIGHT) / Math.ceil(most / columns) - GAP;
      const size = Math.min(wide, high);
      if (size > best.size) best = { size, columns, width: Math.min(wide, 2.2 * high), height: size };
      if (size >= FINGER) return best;
    }
  }
  if (!isTouch.matches) return best;
  return { columns: Math.floor((width - heapGap) / (FINGER + GAP)), width: FINGER, height: FINGER }; // and scroll
}

function drawHeap(heap, left, takers, hinted, hints, layout) {
  const drawn = document.createElement("div"), blocks = document.createElement("div"), name = document.createElement("p");
  drawn.className = "heap";
  blocks.className = "blocks";
  blocks.style.setProperty("--rows", Math.ceil(state.heaps[heap] / layout.columns));
  for (let below = 0; below < left + takers.length; below++) {
    const count = hinted - below;
    const block = drawBlock(heap, below, count, hints.find((hint) => hint.count === count), layout);
    if (below >= left) {
      block.dataset.taken = takers[below - left];
      block.disabled = true;
    }
    blocks.append(block);
  }
  name.innerHTML = `${nameOf(heap)} <b>${left}</b>`;
  drawn.append(blocks, name);
  return drawn;
}

function drawBlock(heap, below, count, hint, layout) {
  const block = document.createElement("button"), texts = [];
  if (hint && $("show-values").checked) texts.push(textOf(hint.value));
  if (hint?.wins && $("show-wins").checked) texts.push("✓");
  block.className = texts.at(-1) === "✓" ? "block wins" : "block";
  block.textContent = layout.height >= 36 ? texts.join(" ") : "";
  block.title = `Heap ${nameOf(heap)}: take ${count}, leave ${below}. ${texts.join(" ").replace("✓", "wins")}`;
  block.ariaLabel = block.title;
  block.tabIndex = -1;
  Object.assign(block.dataset, { heap, count });
  return block;
}

// --- What you do ---------------------------------------------------------------------------------

/** The blocks that are left of a heap, from the top. */
const blocksOf = (heap) => [...heap.querySelectorAll(".block:enabled")].reverse();

function take(event) {
  const block = event.target.closest(".block:enabled"), limit = state.settings.max_take;
  if (!block || isBusy) return;
  const [heap, count] = [Number(block.dataset.heap), Number(block.dataset.count)];
  if (limit && count > limit) say(`You may take at most ${limit}.`, "error");
  else change("move", { heap, count });
}

/** Marks the blocks that a click or Enter would take. */
function preview(event) {
  const chosen = event.type.endsWith("out") ? null : event.target.closest(".block:enabled");
  if (event.type === "focusin" && !event.target.matches(":focus-visible")) return;
  for (const block of board.querySelectorAll(".picked")) block.classList.remove("picked");
  if (!chosen || chosen.dataset.count > (state.settings.max_take ?? Infinity)) return;
  const blocks = blocksOf(chosen.closest(".heap"));
  for (const block of blocks.slice(0, blocks.indexOf(chosen) + 1)) block.classList.add("picked");
}

/** Arrow keys: up and down within a heap, left and right between heaps. */
function moveFocus(event) {
  const down = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0, aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
  const block = event.target.closest(".block:enabled");
  if (!block || !(down || aside)) return;
  event.preventDefault();
  const heaps = [...board.children].map(blocksOf).filter((blocks) => blocks.length);
  const here = heaps.findIndex((blocks) => blocks.includes(block));
  const heap = heaps[here + aside] ?? heaps[here];
  const depth = Math.min(Math.max(heaps[here].indexOf(block) + down, 0), heap.length - 1);
  block.tabIndex = -1;
  heap[depth].tabIndex = 0;
  heap[depth].focus();
}

function fillSettings(values) {
  for (const [name, value] of Object.entries(values)) form[name].value = value ?? "";
  $("episodes").hidden = !form.opponent.selectedOptions[0].closest("#learners");
}

function openSettings() {
  fillSettings(state.settings);
  $("settings-error").textContent = "";
  dialog.showModal();
}

async function startGame(event) {
  event.preventDefault();
  const settings = Object.fromEntries(new FormData(form));
  for (const name of ["max_take", "episodes"]) settings[name] = settings[name] === "" ? null : Number(settings[name]);
  settings.misere = settings.misere === "true";
  $("settings-error").textContent = "";
  $("start").disabled = true;
  if (!$("episodes").hidden) {
    $("start").textContent = "Training …";
    say(`Training ${form.opponent.selectedOptions[0].text} …`);
  }
  await change("new", settings);
  $("start").disabled = false;
  $("start").textContent = "Start new game";
}

async function begin() {
  const first = await request("state");
  $("loaded").append(...first.offered.map((name) => new Option(name.split(/[\\/]/).at(-1), name)));
  $("loaded").hidden = first.offered.length === 0;
  for (const box of [$("show-wins"), $("show-values")]) {
    box.checked = localStorage.getItem(box.id) === "true";
    box.addEventListener("change", () => { localStorage.setItem(box.id, box.checked); if (!isBusy) draw(); });
  }
  board.addEventListener("click", take);
  board.addEventListener("keydown", moveFocus);
  for (const type of ["pointerover", "pointerout", "focusin", "focusout"]) board.addEventListener(type, preview);
  $("new-game").addEventListener("click", () => change("new", state.settings));
  $("undo").addEventListener("click", () => change("undo"));
  $("open-settings").addEventListener("click", openSettings);
  $("cancel").addEventListener("click", () => dialog.close());
  $("presets").addEventListener("click", (event) => event.target.value && fillSettings(JSON.parse(event.target.value)));
  form.addEventListener("change", () => fillSettings({}));
  form.addEventListener("submit", startGame);
  window.addEventListener("resize", () => isBusy || draw());
  await show(first);
}

begin().catch((error) => say(error.message, "error"));
