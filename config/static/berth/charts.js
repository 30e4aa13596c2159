// Keeps the charts of a project up to date, replaces them with those of another period without loading the page, and
// shows the times at their edges in the reader's own zone. Without it the links load the page with the other period.
"use strict";

const CHARTS_EVERY = 60000; // milliseconds
const charts = document.getElementById("charts");
let shown = charts.querySelector("[aria-current]").dataset.span;
let asked = 0; // the number of the last request; only its answer is shown
let answered = 0;

function tellEdges() {
  const options = shown === "7d" ? { weekday: "short", day: "numeric", hour: "2-digit" } : { hour: "2-digit", minute: "2-digit" };
  for (const node of charts.querySelectorAll("time[data-clock]")) {
    const zone = node.matches(":last-child") ? { timeZoneName: "short" } : {}; // the table below is in UTC
    node.textContent = new Date(node.dateTime).toLocaleString([], { ...options, ...zone });
  }
}

async function showCharts(wanted) {
  const number = ++asked;
  try {
    const answer = await fetch(`${charts.dataset.address}?span=${wanted}`, { cache: "no-store", signal: AbortSignal.timeout(20000) });
    if (answer.status !== 200 || answer.redirected) throw new Error(`The charts were not fetched: ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!fresh.querySelector("[data-span]")) throw new Error("Something else has answered, such as a proxy.");
    if (number !== asked) return;
    const isOpen = charts.querySelector("details")?.open;
    const focused = charts.contains(document.activeElement) ? document.activeElement.dataset.span : "";
    charts.replaceChildren(...fresh.body.childNodes);
    if (isOpen) charts.querySelector("details")?.setAttribute("open", "");
    if (focused) charts.querySelector(`[data-span="${focused}"]`)?.focus({ preventScroll: true });
    shown = wanted;
    tellEdges();
  } finally {
    answered = Math.max(answered, number);
  }
}

charts.addEventListener("click", event => {
  const link = event.target.closest("[data-span]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  showCharts(link.dataset.span).catch(() => location.assign(link.href));
});

setInterval(() => {
  const isRead = charts.querySelector("details")?.open; // a table must not change while it is read
  if (!document.hidden && !isRead && answered === asked) showCharts(shown).catch(() => {}); // refresh.js says that the page is not up to date
}, CHARTS_EVERY);

tellEdges();
