// Follows an agent's log. Searches, filters, wraps and copies the lines shown.
"use strict";

const MOST = 2000; // lines that a page keeps
const AGAIN = 10000; // milliseconds until a log that has ended, or could not be followed, is requested again
const NOT_FOLLOWED = "The log cannot be followed now. It is tried again.";

const tools = document.getElementById("log-tools");

// There are no tools if the log cannot be read.
if (tools) {
  const lines = document.querySelector("#lines pre");
  const shown = document.getElementById("log-count");
  const said = document.getElementById("log-said");
  const search = document.getElementById("log-search");
  const level = document.getElementById("log-level");
  const followed = document.getElementById("log-follow");
  const wrapped = document.getElementById("log-wrap");
  const follows = tools.dataset.address;
  let source = null;
  let waiting = [];
  let before = "info";
  let late = 0;

  const SHOWN = { all: null, warning: ["warning", "error"], error: ["error"], status: ["status"] };
  const fits = line =>
    (!SHOWN[level.value] || SHOWN[level.value].includes(line.dataset.level)) &&
    line.textContent.toLowerCase().includes(search.value.trim().toLowerCase());

  function narrow(list) {
    for (const line of list) line.hidden = !fits(line);
    const all = lines.children.length;
    const left = [...lines.children].filter(line => !line.hidden).length;
    shown.textContent = left === all ? `${all} lines` : `${left} of ${all} lines`;
  }

  function make({ at, level: own, text }) {
    const line = document.createElement("div");
    const goesOn = !own && (/^\s|^$/.test(text) || before === "error");
    before = own ?? (goesOn ? before : "info");
    line.className = "line";
    line.dataset.level = before;
    if (at) {
      line.dataset.at = at;
      const time = document.createElement("time");
      time.dateTime = at;
      time.textContent = at.slice(11, 19);
      line.append(time, " ");
    }
    line.append(text);
    return line;
  }

  function flush() {
    if (!waiting.length) return;
    const fresh = waiting.map(make);
    waiting = [];
    document.querySelector("#log > .empty")?.remove();
    lines.append(...fresh);
    while (lines.children.length > MOST) lines.firstElementChild.remove();
    narrow(fresh);
  }

  function beginToFollow() {
    if (source || document.hidden || followed.getAttribute("aria-pressed") !== "true") return;
    const last = [...lines.querySelectorAll("[data-at]")].pop()?.dataset.at ?? "";
    source = new EventSource(`${follows}?after=${encodeURIComponent(last)}`);
    source.addEventListener("message", event => { waiting.push(JSON.parse(event.data)); });
    source.addEventListener("open", () => {
      clearTimeout(late);
      late = 0;
      said.textContent = "";
    });
    source.addEventListener("end", () => end(""));
    source.addEventListener("error", event => {
      if (event.data) end(event.data);
      else if (source?.readyState === EventSource.CLOSED) end(NOT_FOLLOWED);
      else late ||= setTimeout(() => { said.textContent = NOT_FOLLOWED; }, AGAIN); // the browser asks again by itself
    });
  }

  function end(sentence) {
    clearTimeout(late);
    late = 0;
    source?.close();
    source = null;
    flush();
    said.textContent = sentence;
  }

  tools.hidden = false;
  before = lines.lastElementChild?.dataset.level ?? "info";
  narrow([]);
  search.addEventListener("input", () => narrow(lines.children));
  level.addEventListener("change", () => narrow(lines.children));
  wrapped.addEventListener("click", () => {
    const on = wrapped.getAttribute("aria-pressed") !== "true";
    wrapped.setAttribute("aria-pressed", on);
    document.getElementById("lines").classList.toggle("unwrapped", !on);
  });
  document.getElementById("log-copy").addEventListener("click", async () => {
    const text = [...lines.children].filter(line => !line.hidden).map(line => line.textContent).join("\n");
    said.textContent = await navigator.clipboard.writeText(text).then(() => "Copied.", () => "The browser does not let this page copy. Download the log.");
  });

  if (follows) {
    document.getElementById("log").removeAttribute("data-live");
    followed.addEventListener("click", () => {
      const on = followed.getAttribute("aria-pressed") !== "true";
      followed.setAttribute("aria-pressed", on);
      if (on) beginToFollow(); else end("Paused.");
    });
    document.addEventListener("visibilitychange", () => { if (document.hidden) end(""); else beginToFollow(); });
    addEventListener("pagehide", () => end(""));
    setInterval(flush, 250); // milliseconds
    setInterval(beginToFollow, AGAIN);
    beginToFollow();
  }
}
