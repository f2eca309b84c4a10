// A worker made from a blob has this frame's origin, which is none, and its policy, which allows no connection. A worker
// that is loaded by its address has neither.

addEventListener("message", ({ data, ports }) => {
  const worker = new Worker(URL.createObjectURL(new Blob([data.files["program_worker.js"]])), { type: "module" });
  worker.onerror = ({ message }) => ports[0].postMessage({ error: message });
  worker.postMessage(data, ports);
});
