// After the end of a session, requests are answered with the sign-in page. That page replaces no part of this one:
// the browser loads it instead, except after automatic requests, which must not interrupt a reader. A hidden tab sends
// no automatic requests.
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
