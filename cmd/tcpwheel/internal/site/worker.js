// A worker has one capture, or the demo's lanes. The program runs in it as it runs on a system, with files in memory: the
// capture is read in pieces where the browser has it, and never as a whole.
const memoryBound = 1e9; // bytes of the program, beyond which it is ended with a sentence
const pieceBytes = 4 << 20;

// fileSystem is what the program sees as files: the capture, and what it writes. tell hears how much of the capture is read.
function fileSystem(capture, name, tell, say) {
  const files = new Map(), open = new Map(), wrong = code => Object.assign(new Error(code), { code });
  const S_IFREG = 0o100644, S_IFDIR = 0o040755, S_IFCHR = 0o020666;
  if (capture) files.set(name, { capture, size: capture.size, at: -1, piece: null });
  const key = path => path.replace(/^(\.?\/)+/, "");
  const stat = (mode, size, ino) => ({ dev: 1, ino, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: Math.ceil(size / 512), atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => mode === S_IFDIR });
  const inode = new Map(), ino = f => inode.get(f) || (inode.set(f, inode.size + 10), inode.get(f));
  const statOf = path => ["", ".", "/"].includes(path) || key(path) === "" ? stat(S_IFDIR, 0, 2) : files.has(key(path)) ? stat(S_IFREG, files.get(key(path)).size, ino(files.get(key(path)))) : null;
  const chunks = { parts: [], size: 0 };
  open.set(1, { file: chunks, pos: 0 });
  let next = 10;
  const read = (f, to, offset, length, pos) => {
    if (f.capture) {
      if (pos >= f.size) return 0;
      const at = Math.floor(pos / pieceBytes) * pieceBytes;
      if (f.at !== at) { f.piece = new Uint8Array(new FileReaderSync().readAsArrayBuffer(f.capture.slice(at, at + pieceBytes))); f.at = at; tell(at, f.size); }
      const part = f.piece.subarray(pos - at, pos - at + length);
      to.set(part, offset);
      return part.length;
    }
    const whole = new Uint8Array(f.size);
    let n = 0;
    for (const p of f.parts) { whole.set(p, n); n += p.length; }
    const part = whole.subarray(pos, pos + length);
    to.set(part, offset);
    return part.length;
  };
  const write = (fd, bytes) => {
    if (fd === 2) { say(bytes); return bytes.length; }
    const f = open.get(fd).file;
    f.parts.push(bytes.slice());
    return f.size += bytes.length, bytes.length;
  };
  const answer = (callback, result) => result instanceof Error ? callback(result) : callback(null, result);
  const none = (...args) => args.pop()(wrong("ENOSYS")), done = (...args) => args.pop()(null);
  const fs = {
    constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 },
    writeSync: write,
    write(fd, b, offset, length, position, callback) { callback(null, write(fd, b.subarray(offset, offset + length))); },
    open(path, flags, mode, callback) {
      if (statOf(path)?.isDirectory()) { open.set(++next, { dir: true }); return callback(null, next); }
      let f = files.get(key(path));
      if (!f && !(flags & 64)) return callback(wrong("ENOENT"));
      if (!f || flags & 512) files.set(key(path), f = { parts: [], size: 0 });
      open.set(++next, { file: f, pos: 0 });
      callback(null, next);
    },
    read(fd, b, offset, length, position, callback) {
      if (fd === 0) return callback(null, 0);
      const o = open.get(fd);
      if (!o || !o.file) return callback(wrong("EBADF"));
      const n = read(o.file, b, offset, length, position ?? o.pos);
      if (position === null || position === undefined) o.pos += n;
      callback(null, n);
    },
    fstat(fd, callback) { const o = open.get(fd); answer(callback, fd === 0 || fd === 2 ? stat(S_IFCHR, 0, fd + 3) : o?.dir ? stat(S_IFDIR, 0, 2) : o ? stat(S_IFREG, o.file.size, ino(o.file)) : wrong("EBADF")); },
    stat(path, callback) { answer(callback, statOf(path) || wrong("ENOENT")); },
    lstat(path, callback) { answer(callback, statOf(path) || wrong("ENOENT")); },
    close(fd, callback) { open.delete(fd); callback(null); },
    rename(from, to, callback) { files.set(key(to), files.get(key(from))); files.delete(key(from)); callback(null); },
    unlink(path, callback) { files.delete(key(path)); callback(null); },
    readdir(path, callback) { callback(null, [...files.keys()]); },
    fsync: done, chmod: done, fchmod: done, utimes: done,
    chown: none, fchown: none, lchown: none, ftruncate: none, link: none, mkdir: none, readlink: none, rmdir: none, symlink: none, truncate: none,
  };
  return { fs, blob: path => new Blob(path ? files.get(path)?.parts || [] : chunks.parts) };
}

// run runs a command of the program on a capture. It answers with its status, what it printed, and the files that it wrote.
async function run(module, { args, capture, name, outs }) {
  let told = 0, go, instance;
  const talk = [], decoder = new TextDecoder();
  const files = fileSystem(capture, name, (at, size) => {
    if (performance.now() - told > 100) { told = performance.now(); postMessage({ progress: at / size }); }
  }, bytes => {
    const text = decoder.decode(bytes);
    talk.push(text);
    if (talk.length > 200) talk.splice(0, 100);
    if (text.includes("\r")) postMessage({ status: text.replace(/[\r\x1b]|\[K/g, "").trim() });
  });
  globalThis.fs = files.fs;
  go = new Go();
  go.argv = ["tcpwheel", ...args];
  let code = -1;
  go.exit = status => { code = status; };
  let memory = 0;
  const calls = go.importObject.gojs, grown = calls["runtime.resetMemoryDataView"];
  calls["runtime.resetMemoryDataView"] = sp => { // the program's memory has grown
    grown(sp);
    memory = instance.exports.mem.buffer.byteLength;
    if (memory > memoryBound) throw Object.assign(new Error(`this capture needs more than ${memoryBound / 1e9} GB of memory here: the command tcpwheel has no such bound`), { memory });
  };
  instance = await WebAssembly.instantiate(module, go.importObject);
  await go.run(instance);
  memory = instance.exports.mem.buffer.byteLength;
  const said = talk.join("").split("\n").map(line => line.slice(line.lastIndexOf("\r") + 1).trim()).filter(Boolean).join("\n");
  return { code, memory, stdout: files.blob(), talk: said, files: Object.fromEntries((outs || []).map(o => [o, files.blob(o)])) };
}

// serve runs the demo's lanes: frames as they come, and answers to what the page asks.
async function serve(module) {
  const files = fileSystem(null, "", () => {}, bytes => postMessage({ failed: new TextDecoder().decode(bytes) }));
  globalThis.fs = files.fs;
  const go = new Go();
  go.argv = ["tcpwheel", "lanes"];
  const ready = new Promise(done => { globalThis.lanesReady = done; });
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => postMessage({ failed: "the demo’s program has ended" }));
  await ready;
  let shown = true;
  const show = () => { const f = lanes.frame(); if (f) postMessage({ frame: f }); };
  const loop = () => {
    const began = performance.now();
    if (shown) {
      const wrong = lanes.tick();
      if (wrong) postMessage({ failed: wrong });
      show();
    }
    setTimeout(loop, Math.max(0, 50 - (performance.now() - began)));
  };
  loop();
  onmessage = e => {
    const { id, call, args } = e.data;
    if (call === "visible") { shown = args[0]; return; }
    const answer = lanes[call](...args);
    if (call === "control") show();
    postMessage({ id, answer });
  };
}

onmessage = async e => {
  if (e.data.lanes) return serve(e.data.module);
  try {
    postMessage({ done: await run(e.data.module, e.data) });
  } catch (wrong) {
    failed(wrong);
  }
};
const failed = wrong => postMessage({ done: { code: -1, memory: wrong.memory, talk: wrong.message, files: {} } });
onerror = (text, file, line, column, wrong) => { failed(wrong || new Error(text)); return true; }; // in a call from a timer
