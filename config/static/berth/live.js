// Keeps the list of projects up to date: looks when its tab is shown again, says when it cannot, and leaves alone what
// is being read. The element #live asks by itself, every few seconds and at the event `look` (htmx), and
// #live-curves every minute.
// Loaded after elsewhere.js.
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
  // Asked by a list that another has taken the place of.
  if (!document.contains(event.detail.elt)) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:oobBeforeSwap", event => {
  if (reads(event.detail.target)) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:afterRequest", event => {
  if (isLive(event)) stale.hidden = event.detail.successful && !isElsewhere(event.detail);
});
