// Asks for the page again when the server says that something has changed. Without it the page is the same, but still.
(() => {
  "use strict";
  const state = () => document.getElementById("live");
  const say = (text) => { const e = state(); if (e && e.textContent !== text) e.textContent = text; };
  let paused = false, asking = false, again = false;

  // busy: whoever types or chooses is not interrupted.
  const busy = () => {
    const e = document.activeElement;
    return e && (e.tagName === "INPUT" || e.tagName === "SELECT") || !document.getSelection().isCollapsed;
  };

  const button = () => {
    const b = document.getElementById("pause");
    if (!b) return;
    b.hidden = false;
    b.textContent = paused ? "Go on" : "Pause";
    b.onclick = () => { paused = !paused; button(); say(paused ? "paused" : "live"); if (!paused) renew(); };
  };

  // where is the place of the focus among what can have it, so that it stays there.
  const focusable = "main a, main button, main [tabindex]";
  const renew = async () => {
    if (paused || busy()) return;
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) { say("the server answers " + answer.status + "; this page is as it was"); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
      const main = document.querySelector("main");
      if (!fresh || paused || busy()) return;
      const at = [...document.querySelectorAll(focusable)].indexOf(document.activeElement);
      const moved = [...main.querySelectorAll(".table, .frame")].map((e) => [e.scrollLeft, e.scrollTop]);
      main.replaceChildren(...fresh.childNodes);
      picture();
      [...main.querySelectorAll(".table, .frame")].forEach((e, i) => { [e.scrollLeft, e.scrollTop] = moved[i] || [0, 0]; });
      if (at >= 0) document.querySelectorAll(focusable)[at]?.focus({ preventScroll: true });
      button();
      say("live");
    } catch {
      say("the server cannot be reached; this page is as it was");
    } finally {
      asking = false;
      if (again) { again = false; renew(); }
    }
  };

  // complete lists how the filter may continue, each time that it changes.
  let typed = 0;
  document.addEventListener("input", (e) => {
    if (e.target.id !== "where") return;
    clearTimeout(typed);
    typed = setTimeout(async () => {
      const form = e.target.form, text = e.target.value;
      const ask = new URLSearchParams(new FormData(form));
      for (const name of ["by", "sort", "top"]) ask.delete(name);
      try {
        const answer = await fetch(form.action + ".complete?" + ask);
        if (!answer.ok || e.target.value !== text) return;
        const next = await answer.json(), bytes = new TextEncoder().encode(text);
        const before = new TextDecoder().decode(bytes.slice(0, next.from));
        document.getElementById("where-next").replaceChildren(...next.candidates.map((c) => {
          const o = document.createElement("option");
          o.value = before + c.text + " ";
          o.label = c.text + (c.help ? ": " + c.help : "");
          return o;
        }));
        e.target.title = next.hint ? "want " + next.hint : "";
      } catch { /* the filter works without */ }
    }, 150);
  });

  // A range is chosen on a chart, from where a pointer goes down to where it goes up.
  let down = null;
  const timeAt = (svg, e) => {
    const box = svg.getBoundingClientRect(), from = BigInt(svg.dataset.from), to = BigInt(svg.dataset.to);
    const share = Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
    return from + (to - from) * BigInt(Math.round(share * 1e6)) / 1000000n;
  };
  document.addEventListener("pointerdown", (e) => {
    const svg = e.target.closest?.("svg[data-from]");
    down = svg && { svg, at: timeAt(svg, e), x: e.clientX };
  });
  document.addEventListener("pointerup", (e) => {
    if (!down?.svg.isConnected || Math.abs(e.clientX - down.x) < 4) return; // the page may be new since
    const ends = [down.at, timeAt(down.svg, e)].sort((a, b) => (a < b ? -1 : 1));
    const snap = BigInt(down.svg.dataset.snap || 0); // whole slots, so that no report is only in part of the range
    if (snap > 0n) {
      const from = BigInt(down.svg.dataset.from);
      ends[0] -= (ends[0] - from) % snap;
      ends[1] += (snap - (ends[1] - from) % snap) % snap;
    }
    const to = new URL(location.href);
    for (const name of ["since", "page"]) to.searchParams.delete(name);
    to.searchParams.set("after", ends[0]);
    to.searchParams.set("before", ends[1]);
    location.assign(to);
  });

  // The picture of the network is zoomed by its size, and moved by scrolling.
  let zoom = 1;
  const frame = () => document.querySelector(".frame");
  const picture = () => {
    const svg = document.querySelector(".topology");
    if (!svg) return;
    document.getElementById("zoom").hidden = document.getElementById("pointed").hidden = false;
    svg.setAttribute("width", svg.viewBox.baseVal.width * zoom);
    svg.setAttribute("height", svg.viewBox.baseVal.height * zoom);
  };
  // zoomTo keeps the point x, y of the frame where it is.
  const zoomTo = (to, x = frame().clientWidth / 2, y = frame().clientHeight / 2) => {
    const f = frame(), was = zoom;
    zoom = Math.min(4, Math.max(0.05, to));
    const left = (f.scrollLeft + x) * zoom / was - x, top = (f.scrollTop + y) * zoom / was - y;
    picture();
    f.scrollTo(left, top);
  };
  const whole = () => {
    const box = document.querySelector(".topology").viewBox.baseVal, f = frame();
    return Math.min(f.clientWidth / box.width, innerHeight * 0.8 / box.height);
  };
  const zooms = { "+": () => zoomTo(zoom * 1.25), "=": () => zoomTo(zoom * 1.25), "-": () => zoomTo(zoom * 0.8),
    "0": () => zoomTo(1), "1:1": () => zoomTo(1), fit: () => zoomTo(whole()) };
  const steps = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
  document.addEventListener("click", (e) => {
    const by = e.target.closest?.("[data-zoom]")?.dataset.zoom;
    if (by) (zooms[by] || (() => zoomTo(zoom * by)))();
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !e.target.closest?.(".frame")) return;
    if (zooms[e.key]) zooms[e.key]();
    else if (steps[e.key]) frame().scrollBy(...steps[e.key]);
    else return;
    e.preventDefault();
  });
  document.addEventListener("wheel", (e) => { // alone, it moves the picture or the page
    const f = e.target.closest?.(".frame");
    if (!f || !e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const box = f.getBoundingClientRect();
    zoomTo(zoom * Math.exp(-Math.max(-100, Math.min(100, e.deltaY)) / 400), e.clientX - box.left, e.clientY - box.top);
  }, { passive: false });
  let drag = null; // a mouse drags the picture; a finger scrolls it
  document.addEventListener("pointerdown", (e) => {
    const f = e.pointerType === "mouse" && e.button === 0 && e.target.closest?.(".frame");
    drag = f && { f, x: e.clientX, y: e.clientY, moved: false };
  });
  document.addEventListener("pointermove", (e) => {
    if (!drag || !drag.moved && Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 4) return;
    drag.moved = true;
    drag.f.classList.add("moves");
    drag.f.scrollBy(drag.x - e.clientX, drag.y - e.clientY);
    [drag.x, drag.y] = [e.clientX, e.clientY];
  });
  let dropped = -Infinity; // when a drag ended: the click that it causes follows no link
  document.addEventListener("pointerup", (e) => {
    drag?.f.classList.remove("moves");
    if (drag?.moved) dropped = e.timeStamp;
    drag = null;
  });
  document.addEventListener("click", (e) => { if (e.timeStamp - dropped < 50) e.preventDefault(); }, true);
  document.addEventListener("dragstart", (e) => { if (e.target.closest?.(".frame")) e.preventDefault(); });
  // What has the focus or the pointer is named below the picture.
  const point = (e) => {
    const of = e.target.closest?.(".link, .node");
    if (of) document.getElementById("pointed").textContent = of.getAttribute("aria-label");
  };
  document.addEventListener("focusin", point);
  document.addEventListener("pointerover", point);

  const events = new EventSource("/events");
  events.onopen = () => { if (!paused) say("live"); };
  events.onerror = () => say(events.readyState === EventSource.CLOSED ? "not live: the server sends no updates" : "not live: connecting again");
  events.addEventListener("changed", renew);
  events.addEventListener("beat", renew);
  button();
  picture();
})();
