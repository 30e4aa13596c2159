// Sends no POST form of a page again while its answer is pending, and marks its button as busy: the browser would show
// the answer to the second request, after the first has done the work. A form marked data-again may be sent again at
// once. Forms that another script sends are left to that script.
"use strict";

{
  const AT_MOST = 60000; // milliseconds; ends the protection in browsers that do not report stopped navigations
  const pending = new Map(); // by the address of the form
  let latest = "";

  function release(address) {
    const { button, timer } = pending.get(address) ?? {};
    button?.classList.remove("busy");
    clearTimeout(timer);
    pending.delete(address);
  }

  document.addEventListener("submit", event => {
    if (event.defaultPrevented || !event.target.matches("[method=post]:not([data-again])")) return;
    const address = event.target.getAttribute("action") ?? ""; // a field named `action` hides the property
    if (pending.has(address)) return event.preventDefault();
    latest = address;
    pending.set(address, { button: event.submitter, timer: setTimeout(() => release(address), AT_MOST) });
    event.submitter?.classList.add("busy");
  });

  // The user stopped the page.
  globalThis.navigation?.addEventListener("navigate", ({ signal }) => {
    const address = latest;
    signal.addEventListener("abort", () => release(address));
  });

  // The browser may show this page again from its cache when the user goes back to it.
  addEventListener("pageshow", () => [...pending.keys()].forEach(release));
}
