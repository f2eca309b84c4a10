// A worker made from a blob has this frame's origin, which is none, and its policy, which allows no connection. A worker
// that is loaded by its address would have neither.

addEventListener("message", ({ data: files, ports: [port] }) => {
  const program = new Blob([files["program_worker.js"]], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(program));
  worker.onmessage = (event) => port.postMessage(event.data);
  worker.onerror = ({ message }) => port.postMessage({ error: `Python stopped: ${message}` });
  worker.postMessage(files);
  port.onmessage = (event) => worker.postMessage(event.data);
});
