// Copies the text of the element that a button's data-copy names. Also adds a button to each element marked
// data-copyable. Without this script there are no such buttons.
"use strict";

async function copyText(source) {
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    return "Copied.";
  } catch {
    // No permission, or no TLS: the text is selected, and the keyboard does the rest.
    return "Press Ctrl+C or ⌘C to copy.";
  }
}

function makeCopyable(source, name) {
  const frame = document.createElement("div");
  const button = document.createElement("button");
  const said = document.createElement("span");
  frame.className = `copyable ${source.className}`;
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy ${name}`);
  said.className = "copied";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    said.textContent = await copyText(source);
  });
  source.replaceWith(frame);
  frame.append(source, button, said);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    document.querySelector("[data-copied]").textContent = await copyText(document.getElementById(button.dataset.copy));
  });
}

for (const source of document.querySelectorAll("[data-copyable]")) makeCopyable(source, source.dataset.copyable);
