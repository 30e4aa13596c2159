// What anybody would stumble over on a page, as a list of sentences: for page.evaluate.
() => {
  const faults = [];
  const name = node => `<${node.tagName.toLowerCase()} id="${node.id}"> ${node.textContent.trim().slice(0, 30)}`;
  const visible = node => node.checkVisibility() && !node.closest(".unseen, .skip-link, thead");
  const all = selector => [...document.querySelectorAll(selector)].filter(visible);

  for (const field of all("input:not([type=hidden]), select, textarea"))
    if (!field.labels.length && !field.ariaLabel?.trim()) faults.push(`no label: ${name(field)}`);
  for (const node of all("a, button"))
    if (!node.textContent.trim()) faults.push(`no name: ${name(node)}`);

  const ids = [...document.querySelectorAll("[id]")].map(node => node.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: #${id}`);
  for (const attribute of ["aria-describedby", "aria-labelledby"])
    for (const node of document.querySelectorAll(`[${attribute}]`))
      for (const id of node.getAttribute(attribute).split(/\s+/))
        if (!ids.includes(id)) faults.push(`${name(node)} refers to #${id}, which is not there`);

  let last = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) faults.push(`heading skips a level: ${name(heading)}`);
    last = level;
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");

  // WCAG 2.2, contrast (minimum).
  const linear = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const rgb = text => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = node => {
    const color = rgb(getComputedStyle(node).backgroundColor);
    return color[3] === 0 && node.parentElement ? ground(node.parentElement) : color;
  };
  for (const node of all("body *")) {
    const hasText = [...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!hasText || node.disabled || node.closest("noscript, option")) continue;
    const [dark, bright] = [light(rgb(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => x - y);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${name(node)}`);
  }
  return faults;
}
