// Keeps the list of projects up to date: refreshes it when its tab is shown again, says when it cannot, and does not
// replace text that is selected. htmx refreshes #live every few seconds and at the event `look`, and #live-curves
// every minute. Loaded after elsewhere.js.
"use strict";

const stale = document.querySelector("[data-stale]");
const isLive = event => asksByItself(event.detail.elt);

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

document.addEventListener("htmx:afterRequest", event => {
  if (isLive(event)) stale.hidden = event.detail.successful && !isElsewhere(event.detail);
});
