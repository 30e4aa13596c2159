// Updates relative times as time passes, and shows the exact time in the reader's own zone on hover. The words are
// those of projects/rules/spans.py.
"use strict";

const UNITS = [[86400, 172800, "day"], [3600, 3600, "hour"], [60, 60, "minute"]];

function span(seconds) {
  const unit = UNITS.find(([, least]) => seconds >= least);
  if (!unit) return "less than a minute";
  const number = Math.floor(seconds / unit[0]);
  return `${number} ${unit[2]}${number === 1 ? "" : "s"}`;
}

function tell() {
  for (const node of document.querySelectorAll("time[data-ago], time[data-lasting]")) {
    const at = new Date(node.dateTime);
    const seconds = (Date.now() - at) / 1000;
    const text = "lasting" in node.dataset ? span(seconds) : seconds < 60 ? "just now" : `${span(seconds)} ago`;
    if (node.textContent !== text) node.textContent = text;
    node.title = at.toLocaleString([], { dateStyle: "medium", timeStyle: "long" });
  }
}

tell();
setInterval(tell, 15000); // milliseconds
document.addEventListener("htmx:load", tell);
