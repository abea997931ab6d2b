// The frames of a program on this machine, by server-sent events; controls go back with the token of the page's address.
function serverSource() {
  const token = new URLSearchParams(location.search).get("token") || "", asked = location.hash.slice(1);
  const send = async (name, text) => {
    const r = await fetch("control", { method: "POST", headers: { "X-Token": token }, body: JSON.stringify({ name, text }) });
    return r.ok ? "" : (await r.text()).trim();
  };
  return {
    send,
    live(onFrame, onState) {
      let first = true;
      const stream = new EventSource("frames");
      stream.onmessage = e => {
        const f = JSON.parse(e.data);
        if (first && asked && token && asked !== runAddress(f)) send("restart", asked).then(onState); // the address asks for a run
        else if (location.hash !== "#" + runAddress(f)) history.replaceState(null, "", "#" + runAddress(f));
        first = false;
        onFrame(f);
      };
      stream.onerror = () => onState("the program has ended, or the connection to it");
      stream.onopen = () => onState("");
    },
    share: f => ({ command: runCommand(f), url: location.href }),
  };
}
const demo = startDemo(document.querySelector(".demo"), serverSource());
