// Keeps the parts of a page that are marked data-live up to date while the page is visible: requests the parts that
// have changed, and replaces them. Focus, selection and scroll positions stay. Without it the page does not change.
"use strict";

const EVERY = 4000; // milliseconds
const ANSWERED_WITHIN = 10000; // milliseconds after which a page without an answer is not up to date
const { address } = document.currentScript.dataset;
const stale = document.querySelector("[data-stale]");
const seen = new Map();

function exchange(part, fresh) {
  const selection = getSelection();
  const reading = !selection.isCollapsed && part.contains(selection.anchorNode);
  if (reading) return;
  seen.set(part.id, fresh.dataset.mark);
  if (fresh.innerHTML === part.innerHTML) return;
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...part.querySelectorAll(".log")].map(log => log.scrollTop);
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll(".log").forEach((log, index) => { log.scrollTop = scrolled[index] ?? 0; });
  if (!focused) return;
  const same = [...part.querySelectorAll("a, button")].find(each => each.textContent === focused.textContent);
  (document.getElementById(focused.id) ?? same)?.focus({ preventScroll: true });
}

function tellChecked(at) {
  const time = document.createElement("time");
  time.dateTime = at;
  time.textContent = `${at.slice(11, 19)} UTC`;
  document.getElementById("checked").replaceChildren("As of ", time);
  seen.delete("checked"); // so that the server sends this part again with the next change, even if it is the same
}

async function refresh() {
  const marks = [...seen.values()].map(mark => `&seen=${mark}`).join("");
  // `quick` says that this script reads the time of the last check from a header. Older versions of it do not.
  const answer = await fetch(`${address}&quick=1${marks}`, { cache: "no-store", signal: AbortSignal.timeout(20000) });
  const isGone = answer.status === 404 && answer.headers.has("X-Request-ID"); // not the 404 of a proxy
  const away = isGone ? "/" : answer.headers.get("HX-Redirect"); // deleted
  if (away) location.assign(away);
  if (!answer.ok || answer.redirected) throw new Error(`The page was not refreshed: ${answer.status}`);
  if (answer.headers.has("Checked-At")) tellChecked(answer.headers.get("Checked-At"));
  if (answer.status === 204) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = fresh.querySelectorAll("[data-mark]");
  if (!parts.length) throw new Error("Something else has answered, such as a proxy.");
  const status = document.getElementById("status")?.textContent;
  for (const part of parts) {
    const shown = document.getElementById(part.id);
    if (shown && "live" in shown.dataset) exchange(shown, part);
    else seen.set(part.id, part.dataset.mark);
  }
  // A message about an earlier action does not apply to the new status.
  if (document.getElementById("status")?.textContent !== status)
    for (const message of document.querySelectorAll(".messages .success")) message.remove();
}

async function keepRefreshing() {
  for (;;) {
    await new Promise(done => setTimeout(done, EVERY));
    if (document.hidden) await new Promise(done => document.addEventListener("visibilitychange", done, { once: true }));
    const late = setTimeout(() => { stale.hidden = false; }, ANSWERED_WITHIN);
    stale.hidden = await refresh().then(() => true, () => false);
    clearTimeout(late);
  }
}

keepRefreshing();
