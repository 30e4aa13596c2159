// A form marked data-once goes off once, and its button shows that it is under way. The server knows a form that
// comes twice; this spares people the wondering.
"use strict";

for (const form of document.querySelectorAll("[data-once]")) {
  form.addEventListener("submit", event => {
    if (form.dataset.once === "sent") return event.preventDefault();
    form.dataset.once = "sent";
    event.submitter?.classList.add("busy");
  });
  // Back from the next page, which the browser may have kept this one for.
  addEventListener("pageshow", () => {
    form.dataset.once = "";
    form.querySelectorAll(".busy").forEach(button => button.classList.remove("busy"));
  });
}
