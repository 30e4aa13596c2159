// A session that has ended answers with another page, that of signing in. It takes the place of no part: the browser
// goes there, but for the element #live, which asks by itself while somebody reads.
"use strict";

function isElsewhere({ xhr, pathInfo }) {
  return new URL(xhr.responseURL).pathname !== new URL(pathInfo.requestPath, location.href).pathname;
}

document.addEventListener("htmx:beforeSwap", event => {
  const { elt, xhr } = event.detail;
  if (!isElsewhere(event.detail)) return;
  event.detail.shouldSwap = false;
  if (elt?.id !== "live") location.assign(xhr.responseURL);
});
