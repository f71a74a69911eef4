// Lists what is wrong with the page as the browser has laid it out: a page wider than the window, texts over each other,
// numbers on two lines, cells wider than their place, and labels of the picture on a crossing of links.
(() => {
  const found = [];
  const short = (s) => JSON.stringify(s.trim().replace(/\s+/g, " ").slice(0, 50));
  const named = (e) => e.tagName.toLowerCase() + (e.getAttribute("class") ? "." + e.getAttribute("class") : "");

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 &&
      !e.parentElement.closest(".table, .frame"));
    found.push("the page scrolls sideways: " + document.documentElement.scrollWidth + " pixels of " + width + ": " +
      wide.slice(0, 5).map((e) => named(e) + " " + short(e.textContent)).join("; "));
  }

  // clipped returns the part of the window in which an element's content is visible, or null for hidden content.
  const known = new Map();
  const clipped = (e) => {
    if (!e) return { left: 0, top: -1e6, right: 1e6, bottom: 1e6 };
    if (known.has(e)) return known.get(e);
    const style = getComputedStyle(e);
    let box = clipped(e.parentElement);
    if (!e.checkVisibility() || style.visibility !== "visible" || style.clipPath !== "none") box = null;
    else if (box && style.overflowX !== "visible" && !(e instanceof SVGElement && e.parentElement.closest("svg"))) {
      const r = e.getBoundingClientRect();
      box = { left: Math.max(box.left, r.left), top: Math.max(box.top, r.top), right: Math.min(box.right, r.right),
        bottom: Math.min(box.bottom, r.bottom) };
    }
    known.set(e, box);
    return box;
  };

  const texts = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const of = node.parentElement;
    if (!node.data.trim() || of.closest("title, desc, option, script, style")) continue;
    const box = clipped(of);
    if (!box) continue;
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) {
      const t = { left: Math.max(r.left, box.left), top: Math.max(r.top, box.top), right: Math.min(r.right, box.right),
        bottom: Math.min(r.bottom, box.bottom), node };
      if (t.right - t.left > 2 && t.bottom - t.top > 2) texts.push(t);
    }
    // A number is digits with points, commas or colons between, and no part of a name.
    for (const m of node.data.matchAll(/(?<![\p{L}\d_.,:\/-])[-−]?\d[\d.,:]*\d(?![\p{L}\d_])/gu)) {
      range.setStart(node, m.index);
      range.setEnd(node, m.index + m[0].length);
      const tops = [...range.getClientRects()].map((r) => r.top);
      if (Math.max(...tops) - Math.min(...tops) > 4) found.push("a number on two lines: " + m[0] + " in " + short(node.data));
    }
  }
  texts.sort((a, b) => a.top - b.top);
  texts.forEach((a, i) => {
    for (let k = i + 1; k < texts.length && texts[k].top < a.bottom - 2; k++) {
      const b = texts[k];
      if (a.node === b.node || Math.min(a.right, b.right) - Math.max(a.left, b.left) <= 2 ||
        Math.min(a.bottom, b.bottom) - b.top <= 2) continue;
      found.push("texts over each other: " + short(a.node.data) + " and " + short(b.node.data));
    }
  });

  for (const e of document.querySelectorAll("td, tbody th, dd, button, nav a")) {
    if (clipped(e) && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline") {
      found.push("wider than its place: " + named(e) + " " + short(e.textContent));
    }
  }

  // Crossings of links in the picture: two lines that are no neighbours at a node.
  const links = [...document.querySelectorAll(".topology .hit")].map((l) =>
    ["x1", "y1", "x2", "y2"].map((name) => +l.getAttribute(name)));
  const labels = [...document.querySelectorAll(".topology .label")].map((t) => [t.textContent, t.getBBox()]);
  if (labels.length) links.forEach(([ax, ay, bx, by], i) => links.slice(0, i).forEach(([cx, cy, dx, dy]) => {
    const det = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
    const t = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / det, u = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / det;
    if (!det || t < 0.001 || t > 0.999 || u < 0.001 || u > 0.999) return;
    const x = ax + t * (bx - ax), y = ay + t * (by - ay);
    for (const [text, b] of labels) {
      if (x > b.x && x < b.x + b.width && y > b.y && y < b.y + b.height) found.push("a label on a crossing: " + short(text));
    }
  }));
  return [...new Set(found)].slice(0, 20);
})()
