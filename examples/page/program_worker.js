// Runs Python on a visitor's program. Its files come in a first message, since it can load nothing, and the program later.

const load = (file) => import(URL.createObjectURL(new Blob([file], { type: "text/javascript" })));
const textOf = (bytes) => new TextDecoder().decode(bytes);
const hide = () => {};

async function loadPython(files) {
  const options = { headers: { "Content-Type": "application/wasm" } };
  self.fetch = async (address) => new Response(files[String(address).split("/").at(-1)], options);
  const { default: createPyodideModule } = await load(files["pyodide.asm.mjs"]);
  const { loadPyodide } = await load(files["pyodide.mjs"]);
  const lock = { ...JSON.parse(textOf(files["pyodide-lock.json"])), packages: {} }; // no package can be loaded
  const settings = { createPyodideModule, lockFileContents: lock, indexURL: "https://localhost/" };
  const loaded = await loadPyodide({ ...settings, stdout: hide, stderr: hide });
  for (const name of ["programs.py", "specification.py"]) {
    loaded.FS.writeFile(`/lib/${name}`, new Uint8Array(files[name]));
  }
  loaded.runPython("import sys; sys.path.append('/lib')");
  loaded.runPython(textOf(files["program.py"]));
  return loaded;
}

onmessage = ({ data: files }) => {
  const loaded = loadPython(files);
  onmessage = async ({ data: { programs, question } }) => {
    try {
      const { FS, globals } = await loaded;
      for (const [name, bytes] of Object.entries(programs)) FS.writeFile(name, new Uint8Array(bytes));
      postMessage(JSON.parse(globals.get("answer")(...question, (text) => postMessage({ text }))));
    } catch (error) {
      postMessage({ error: `Python stopped: ${String(error.message).trim().split("\n").at(-1)}` });
    }
  };
};
