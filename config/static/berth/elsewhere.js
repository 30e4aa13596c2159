// After the end of a session, requests are answered with the sign-in page, and a proxy may answer with a page of its own.
// Such a page replaces no part of this one: the browser loads it instead, except after automatic requests, which must
// not interrupt a reader. A hidden tab sends no automatic requests. Shows the sentence marked data-unanswered while the
// last request of the user's has no answer.
"use strict";

const asksByItself = element => Boolean(element?.matches("#live, #live-curves, #steps"));

const isPage = xhr => xhr.status < 400 && /<html[\s>]/i.test(xhr.responseText);

function isElsewhere({ xhr, pathInfo }) {
  return isPage(xhr) || new URL(xhr.responseURL).pathname !== new URL(pathInfo.requestPath, location.href).pathname;
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

document.addEventListener("htmx:afterRequest", event => {
  const unanswered = document.querySelector("[data-unanswered]");
  if (!unanswered || asksByItself(event.detail.elt)) return;
  unanswered.hidden = event.detail.successful && !isElsewhere(event.detail);
});
