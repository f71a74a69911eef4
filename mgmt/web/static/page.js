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
      const moved = [...main.querySelectorAll(".table, .net")].map((e) => e.scrollLeft);
      main.replaceChildren(...fresh.childNodes);
      [...main.querySelectorAll(".table, .net")].forEach((e, i) => { e.scrollLeft = moved[i] || 0; });
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

  const events = new EventSource("/events");
  events.onopen = () => { if (!paused) say("live"); };
  events.onerror = () => say(events.readyState === EventSource.CLOSED ? "not live: the server sends no updates" : "not live: connecting again");
  events.addEventListener("changed", renew);
  events.addEventListener("beat", renew);
  button();
})();
