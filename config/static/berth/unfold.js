// Unfolds the fields of a form among which the browser finds one wrong, so that it can lead there and say what is wrong.
"use strict";

document.addEventListener("invalid", event => {
  const folded = event.target.closest("details:not([open])");
  if (folded) folded.open = true;
}, true);
