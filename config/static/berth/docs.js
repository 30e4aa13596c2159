// Lets people send the requests that the page describes. /api accepts no cookie, so a signed-in user gets a token for
// ten minutes through a form of the dashboard. The token stays in the memory of this page.
"use strict";

const panel = document.getElementById("try");
const said = panel.querySelector("[data-token]");
let token = "";
let ending;

function make(tag, text = "", attributes = {}) {
  const node = document.createElement(tag);
  node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

async function offer() {
  const answer = await fetch(panel.dataset.address);
  if (!answer.ok || answer.redirected) return;
  const text = await answer.text();
  if (/<html[\s>]/i.test(text)) return; // the page of a proxy
  panel.querySelector("[data-offer]").innerHTML = text;
  panel.hidden = false;
}

async function getToken(form) {
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (!answer.ok || answer.redirected) throw new Error(`No token: ${answer.status}`);
  return await answer.json();
}

panel.addEventListener("submit", async event => {
  event.preventDefault();
  const given = await getToken(event.target).catch(() => null);
  if (!given) return (said.textContent = "That did not work. Try again, or sign in again.");
  token = given.token;
  const until = new Date(given.expires_at);
  said.textContent = `The token works until ${until.toLocaleTimeString([], { timeStyle: "short" })}.`;
  clearTimeout(ending);
  ending = setTimeout(() => {
    token = "";
    said.textContent = "The token has expired. Get another one.";
  }, until - Date.now());
});

const LABELS = { path: "in the address", query: "parameter", header: "header" };
const LANGUAGES = { curl: "curl", python: "Python", javascript: "JavaScript" };

function fields(operation) {
  return [...operation.querySelectorAll("[data-in]")].map((place, number) => {
    const { example, in: where } = place.dataset;
    const name = place.querySelector("dt").firstChild.textContent.trim();
    const input = make("input", "", { id: `${operation.querySelector("h3").id}-${number}`, "data-name": name, "data-in": where });
    input.required = where === "path";
    input.placeholder = example ?? "";
    const field = make("div", "", { class: "field" });
    field.append(make("label", `${name}, ${LABELS[where]}`, { for: input.id }), input);
    return field;
  });
}

function bodyField(operation) {
  const sample = operation.querySelector(".sample.javascript").textContent;
  const [, body] = /body: JSON\.stringify\((.*)\),\n\}\);/s.exec(sample) ?? [];
  if (!body) return [];
  const area = make("textarea", "", { id: `${operation.querySelector("h3").id}-body`, rows: "8", spellcheck: "false" });
  area.value = JSON.stringify(JSON.parse(body), null, 2);
  const field = make("div", "", { class: "field" });
  field.append(make("label", "Body, as JSON", { for: area.id }), area);
  return [field];
}

function requestOf(operation, form) {
  let [method, path] = operation.dataset.operation.split(" ");
  const query = new URLSearchParams();
  const headers = {};
  if (token && "token" in operation.dataset) headers.Authorization = `Bearer ${token}`;
  for (const { dataset, value } of form.querySelectorAll("input")) {
    if (!value) continue;
    if (dataset.in === "path") path = path.replace(`{${dataset.name}}`, encodeURIComponent(value));
    if (dataset.in === "query") query.set(dataset.name, value);
    if (dataset.in === "header") headers[dataset.name] = value;
  }
  const body = form.querySelector("textarea")?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return [query.size ? `${path}?${query}` : path, { method, headers, body, credentials: "omit" }];
}

async function tell(answer, shown) {
  shown.textContent = `${answer.status} ${answer.statusText}\n`;
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "", part; reader && !(part = await reader.read()).done; ) {
    text += part.value;
    let told = text;
    try {
      told = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Not JSON, or incomplete so far.
    }
    shown.textContent = `${answer.status} ${answer.statusText}\n${told}`;
  }
}

function open(operation, button) {
  const form = make("form", "", { class: "try-form" });
  const send = make("button", "Send", { class: "primary" });
  const stop = make("button", "Stop", { type: "button" });
  const shown = make("pre", "", { tabindex: "0", role: "status", "aria-label": "The answer" });
  const actions = make("div", "", { class: "actions" });
  let request = null;
  stop.hidden = shown.hidden = true;
  stop.addEventListener("click", () => request.abort());
  actions.append(send, stop);
  form.append(...fields(operation), ...bodyField(operation), actions, shown);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    request = new AbortController();
    shown.hidden = stop.hidden = false;
    send.disabled = true;
    try {
      const [path, options] = requestOf(operation, form);
      await tell(await fetch(path, { ...options, signal: request.signal }), shown);
    } catch (error) {
      shown.textContent += `\n${error.name === "AbortError" ? "Stopped." : error.message}`;
    }
    send.disabled = false;
    stop.hidden = true;
  });
  button.replaceWith(form);
  form.querySelector("input, textarea, button").focus();
}

for (const operation of document.querySelectorAll("[data-operation]")) {
  const button = make("button", "Try it", { type: "button" });
  button.append(make("span", ` ${operation.querySelector("h3").id}`, { class: "unseen" }));
  button.addEventListener("click", () => open(operation, button));
  operation.append(button);
  for (const sample of operation.querySelectorAll(".sample")) {
    sample.tabIndex = 0; // so that it can be scrolled with the keyboard
    makeCopyable(sample, `${LANGUAGES[sample.classList[1]]} of ${operation.querySelector("h3").id}`);
  }
}

function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  target?.closest("details")?.setAttribute("open", "");
  target?.scrollIntoView();
}

addEventListener("hashchange", reveal);
reveal();
offer().catch(() => {}); // without an answer the page is only read
