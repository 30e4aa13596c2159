// A session that has ended answers with another page, that of signing in. It takes the place of no part: the browser
// goes there, but for what asks by itself while somebody reads. In a hidden tab that does not ask.
"use strict";

const asksByItself = element => Boolean(element?.matches("#live, #live-curves, #steps"));

function isElsewhere({ xhr, pathInfo }) {
  return new URL(xhr.responseURL).pathname !== new URL(pathInfo.requestPath, location.href).pathname;
}

document.addEventListener("htmx:beforeRequest", event => {
  if (asksByItself(event.detail.elt) && document.hidden) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", event => {
  const { elt, xhr } = event.detail;
  if (!isElsewhere(event.detail)) return;
  event.detail.shouldSwap = false;
  if (!asksByItself(elt)) location.assign(xhr.responseURL);
});
