// Keeps the list of projects up to date: refreshes it when its tab is shown again, says when it cannot, and does not
// replace text that is selected. htmx refreshes #live every few seconds and at the event `look`, and #live-curves
// every minute. Loaded after elsewhere.js.
"use strict";

const stale = document.querySelector("[data-stale]");
const isLive = event => asksByItself(event.detail.elt);
const ANSWERED_WITHIN = 10000; // milliseconds after which a list without an answer is not up to date
let late;

function reads(part) {
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) htmx.trigger("#live", "look");
});

document.addEventListener("htmx:beforeSwap", event => {
  // The answer is for a list that has been replaced meanwhile.
  if (!document.contains(event.detail.elt)) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:oobBeforeSwap", event => {
  if (reads(event.detail.target)) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:beforeSend", event => {
  if (!isLive(event)) return;
  clearTimeout(late);
  late = setTimeout(() => { stale.hidden = false; }, ANSWERED_WITHIN);
});

// What was typed or chosen before this script was there is searched for.
document.addEventListener("htmx:load", () => {
  const [text, order] = ["q", "sort"].map(id => document.getElementById(id));
  if (text && (text.value !== text.defaultValue || !order.selectedOptions[0].defaultSelected)) htmx.trigger("#find", "submit");
}, { once: true });

document.addEventListener("htmx:afterRequest", event => {
  if (isLive(event)) clearTimeout(late);
  if (isLive(event)) stale.hidden = event.detail.successful && !isElsewhere(event.detail);
});
