// The digit network of examples/learn_the_rule, whose play is proven if moves have no limit: check.py accepts its weights.

import { after, isOver, legalMoves } from "./rules.js";

const loaded = new Map();

export async function loadNetwork(misere) {
  const name = misere ? "misere" : "normal";
  if (!loaded.has(name)) {
    const answer = await fetch(`data/network_${name}.json`).catch(() => null);
    if (!answer?.ok) throw new Error("network");
    loaded.set(name, await answer.json());
  }
  return loaded.get(name);
}

const linear = (network, name, inputs) =>
  network[`${name}.weight`].map((row, i) =>
    row.reduce((sum, weight, j) => sum + weight * inputs[j], network[`${name}.bias`][i]),
  );
const tanh = (numbers) => numbers.map(Math.tanh);

function digitFeatures(network, bits, isLowest) {
  let state = network.initial_state;
  for (const bit of bits) state = tanh(linear(network, `transitions.${bit}`, state));
  return tanh(linear(network, "digit_layers.2", tanh(linear(network, "digit_layers.0", [...state, isLowest]))));
}

function networkValue(network, heaps, known) {
  const nDigits = Math.max(1, 32 - Math.clz32(Math.max(...heaps))) + 1; // with a leading zero
  let largest = Array(16).fill(-1);
  for (let digit = 0; digit < nDigits; digit++) {
    const bits = heaps.map((size) => (size >> digit) & 1);
    const key = `${bits},${digit === 0}`;
    if (!known.has(key)) known.set(key, digitFeatures(network, bits, digit === 0 ? 1 : 0));
    largest = largest.map((value, i) => Math.max(value, known.get(key)[i]));
  }
  return Math.tanh(linear(network, "value_layers.2", tanh(linear(network, "value_layers.0", largest)))[0]);
}

export function networkMove(network, heaps, board) {
  const known = new Map();
  const valueOf = (next) => (isOver(next) ? (board.misere ? 1 : -1) : networkValue(network, next, known));
  const moves = legalMoves(heaps, board);
  const values = moves.map((move) => valueOf(after(heaps, move)));
  return moves[values.indexOf(Math.min(...values))];
}
