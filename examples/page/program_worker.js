// Runs Python on a visitor's program. Its files come in a message, since it can load nothing.

const load = (file) => import(URL.createObjectURL(new Blob([file], { type: "text/javascript" })));
const textOf = (bytes) => new TextDecoder().decode(bytes);
const hide = () => {};

onmessage = async ({ data: { files, programs, question } }) => {
  const say = (text) => postMessage({ text });
  try {
    const options = { headers: { "Content-Type": "application/wasm" } };
    self.fetch = async (address) => new Response(files[String(address).split("/").at(-1)], options);
    const { default: createPyodideModule } = await load(files["pyodide.asm.mjs"]);
    const { loadPyodide } = await load(files["pyodide.mjs"]);
    const lock = { ...JSON.parse(textOf(files["pyodide-lock.json"])), packages: {} }; // no package can be loaded
    const settings = { createPyodideModule, lockFileContents: lock, indexURL: "https://localhost/" };
    const python = await loadPyodide({ ...settings, stdout: hide, stderr: hide });
    const write = (folder, name) => python.FS.writeFile(`${folder}/${name}`, new Uint8Array(files[name]));
    for (const name of ["programs.py", "specification.py"]) write("/lib", name);
    for (const [name, bytes] of Object.entries(programs)) python.FS.writeFile(name, new Uint8Array(bytes));
    python.runPython("import sys; sys.path.append('/lib')");
    python.runPython(textOf(files["program.py"]));
    postMessage(JSON.parse(python.globals.get("answer")(...question, say)));
  } catch (error) {
    postMessage({ error: `Python stopped: ${String(error.message).trim().split("\n").at(-1)}` });
  }
};
