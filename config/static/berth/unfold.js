// Unfolds a section of a form in which the browser finds an invalid field, so that it can focus and explain that field.
"use strict";

document.addEventListener("invalid", event => {
  const folded = event.target.closest("details:not([open])");
  if (folded) folded.open = true;
}, true);
