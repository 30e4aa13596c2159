// The form of a new project. If a deploy is refused, the form is loaded again with its errors. This script copies the
// credentials into it, so that they need not be typed again.
"use strict";

const SECRETS = "#new-form [type=password], #new-form [data-credentials]";
let typed = [];

const field = id => document.getElementById(id);
// The form has a field named `id`, which hides the form's own `id` property.
const isDeploy = event => event.detail.requestConfig?.elt.getAttribute("id") === "new-form";
const isForm = xhr => xhr.responseText.includes('id="new-project"');
// A whole page, such as the sign-in page or that of a proxy, replaces no part of this one.
const isPage = xhr => xhr.status < 400 && /<html[\s>]/i.test(xhr.responseText);
const isElsewhere = ({ xhr, pathInfo }) =>
  isPage(xhr) || new URL(xhr.responseURL).pathname !== pathInfo.requestPath.split("?")[0];

function show() {
  for (const button of document.querySelectorAll("[data-scripted]")) button.hidden = false;
}

document.addEventListener("htmx:beforeRequest", event => {
  const progress = field("progress");
  if (event.detail.requestConfig.elt === progress && progress.hidden) event.preventDefault();
  if (!isDeploy(event)) return;
  progress.hidden = false;
  progress.scrollIntoView({ block: "nearest" });
  htmx.trigger(progress, "begun");
});

document.addEventListener("htmx:beforeSwap", event => {
  const { detail } = event;
  if (isElsewhere(detail)) detail.shouldSwap = false;
  else if (isDeploy(event) && isForm(detail.xhr)) Object.assign(detail, { shouldSwap: true, isError: false });
  if (isDeploy(event)) typed = [...document.querySelectorAll(SECRETS)].map(({ id, value }) => [id, value]);
});

document.addEventListener("htmx:afterSwap", event => {
  if (!isDeploy(event)) return;
  for (const [id, value] of typed) if (field(id)) field(id).value = value;
  show();
});

// The answer to a field's check says nothing about a deploy that stayed without one, nor the other way round.
const unanswered = new Set();

function showTrouble() {
  document.querySelector("[data-trouble]").hidden = ![...unanswered].some(element => element.isConnected);
}

// A sign-in in another tab has replaced the browser's CSRF token. The server has refused the one of this page.
const tokenIn = page => page.querySelector("#new-form [name=csrfmiddlewaretoken]");
const renewed = new Set();

async function renewToken() {
  const answer = await fetch(location.href, { cache: "no-store" });
  tokenIn(document).value = tokenIn(new DOMParser().parseFromString(await answer.text(), "text/html")).value;
}

function isRepeated({ xhr, requestConfig: { elt, verb, path } }) {
  const repeats = xhr.status === 403 && !isForm(xhr) && !renewed.has(elt);
  if (!repeats) return renewed.delete(elt) && false;
  renewed.add(elt);
  renewToken().catch(() => {}).then(() => htmx.ajax(verb, path, { source: elt }));
  return true;
}

document.addEventListener("htmx:afterRequest", event => {
  const { xhr, successful, requestConfig } = event.detail;
  if (requestConfig.elt === field("progress") || isRepeated(event.detail)) return;
  const isAnswer = xhr.status && !isElsewhere(event.detail) && (successful || isForm(xhr));
  if (isAnswer && isDeploy(event)) unanswered.clear();
  else if (isAnswer) unanswered.delete(requestConfig.elt);
  else unanswered.add(requestConfig.elt);
  showTrouble();
  if (isDeploy(event) && !isAnswer) field("progress").hidden = true;
});

// A request that a later one has replaced is no failure to report.
document.addEventListener("htmx:sendAbort", event => {
  unanswered.delete(event.detail.requestConfig.elt);
  showTrouble();
});

// What was typed or chosen before this script was there is checked like what is typed later.
document.addEventListener("htmx:load", () => {
  for (const source of document.querySelectorAll("#new-form [hx-trigger^='input changed']")) {
    if (source.value) htmx.ajax("POST", source.getAttribute("hx-post"), { source });
  }
  const type = document.querySelector("#new-form [name=type]:checked");
  if (type && !type.defaultChecked) htmx.trigger(type, "change");
}, { once: true });

show();
