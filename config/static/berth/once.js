// Sends a form marked data-once only once, and marks its button as busy. The server recognises a form that arrives
// twice; this script shows people that the first request is being handled.
"use strict";

for (const form of document.querySelectorAll("[data-once]")) {
  form.addEventListener("submit", event => {
    if (form.dataset.once === "sent") return event.preventDefault();
    form.dataset.once = "sent";
    event.submitter?.classList.add("busy");
  });
  // The browser may show this page again from its cache when the user goes back to it.
  addEventListener("pageshow", () => {
    form.dataset.once = "";
    form.querySelectorAll(".busy").forEach(button => button.classList.remove("busy"));
  });
}
