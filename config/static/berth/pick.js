// Shows how many projects are selected, and selects all of them at once.
"use strict";

const picks = () => [...document.querySelectorAll(".pick")];

function count() {
  const all = document.getElementById("all");
  if (!all) return;
  const number = picks().filter(pick => pick.checked).length;
  all.closest("label").hidden = false;
  all.checked = number > 0 && number === picks().length;
  all.indeterminate = number > 0 && !all.checked;
  document.querySelector("[data-chosen]").textContent = `${number} selected:`;
}

document.addEventListener("change", event => {
  if (event.target.id === "all") for (const pick of picks()) pick.checked = event.target.checked;
  count();
});
addEventListener("pageshow", count);
document.addEventListener("htmx:load", count);
