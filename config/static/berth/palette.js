// The command palette and the shortcuts that it lists. Shortcuts do not work while the user types in a field, or with
// Ctrl, Alt or ⌘, which belong to the browser. The exception is Ctrl+K, which opens the palette.
"use strict";

{
  const palette = document.getElementById("palette");
  const opener = document.getElementById("open-palette");
  const text = document.getElementById("palette-text");
  const found = document.getElementById("palette-found");
  const PREFIX_FOR = 1500; // milliseconds that `g` waits for its second key

  function addOwnLinks() {
    for (const link of document.querySelectorAll(".page-head a.button")) {
      const item = document.createElement("li");
      const copy = document.createElement("a");
      copy.href = link.href;
      copy.textContent = link.textContent.trim();
      const there = [...found.querySelectorAll("a")].some(each => each.href === copy.href);
      if (there) continue;
      item.append(copy);
      found.querySelector("[data-search]").closest("li").before(item);
    }
  }

  const shown = () => [...found.querySelectorAll("li:not([hidden]) a")];

  function narrow() {
    const wanted = text.value.trim().toLowerCase();
    for (const item of found.children) {
      const link = item.querySelector("a");
      if ("search" in link.dataset) link.search = wanted ? new URLSearchParams({ q: text.value.trim() }) : "";
      else item.hidden = !link.textContent.toLowerCase().includes(wanted);
    }
  }

  function open() {
    if (palette.open) return;
    text.value = "";
    narrow();
    palette.showModal();
    text.focus();
  }

  function move(event, step) {
    const stops = [text, ...shown()];
    const next = stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length];
    event.preventDefault();
    next.focus();
  }

  palette.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") move(event, 1);
    if (event.key === "ArrowUp") move(event, -1);
    if (event.key === "Enter" && event.target === text) {
      event.preventDefault();
      shown()[0]?.click();
    }
  });
  text.addEventListener("input", narrow);
  opener.hidden = false;
  opener.addEventListener("click", open);

  let pressed = "";
  let pressedAt = 0;

  function search() {
    const field = document.getElementById("q");
    if (field) field.focus();
    else open();
  }

  document.addEventListener("keydown", event => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      return open();
    }
    const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]");
    if (typing || palette.open || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = pressed && event.timeStamp - pressedAt < PREFIX_FOR ? `${pressed} ${event.key}` : event.key;
    [pressed, pressedAt] = [event.key === "g" ? "g" : "", event.timeStamp];
    const target = found.querySelector(`[data-keys="${CSS.escape(keys).replaceAll("\\ ", " ")}"]`);
    if (!target && keys !== "/" && keys !== "?") return;
    event.preventDefault();
    if (target) target.click();
    else if (keys === "/") search();
    else open();
  });

  addOwnLinks();
}
