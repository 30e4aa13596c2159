// Copies the text of the element that a button's data-copy names. Without this script there is no such button.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const answer = document.querySelector("[data-copied]");

  button.hidden = false;
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.textContent);
      answer.textContent = "Copied.";
    } catch {
      // No permission, or no TLS: the text is selected, and the keyboard does the rest.
      answer.textContent = "Press Ctrl+C or ⌘C to copy.";
    }
  });
}
