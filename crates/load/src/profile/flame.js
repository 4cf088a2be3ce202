
"use strict";
const MARGIN = 10, LETTER = 7.3;
let frames = [], scale = 0, term = "";

function start() {
  /* In a report it is inside a page of its own. */
  const svg = document.querySelector("svg");
  scale = svg.viewBox.baseVal.width - 2 * MARGIN;
  for (const g of document.querySelectorAll(".f")) {
    const frame = {
      g, x: +g.dataset.x, w: +g.dataset.w, name: g.dataset.n,
      rect: g.querySelector("rect"), text: g.querySelector("text"),
      y: +g.querySelector("rect").getAttribute("y"),
    };
    frame.fill = frame.rect.getAttribute("fill");
    frames.push(frame);
    g.addEventListener("click", () => zoom(frame));
    g.addEventListener("mouseover", () => tell(g.querySelector("title").textContent));
    g.addEventListener("mouseout", () => tell(" "));
  }
  addEventListener("keydown", (event) => {
    if (event.key === "F3" || (event.ctrlKey && event.key === "f")) {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape") {
      reset();
    }
  });
}

function tell(text) {
  document.getElementById("detail").textContent = text;
}

/* The chosen function takes the whole width; those below it, that called it, as well. */
function zoom(to) {
  const end = to.x + to.w, near = 1e-6;
  for (const f of frames) {
    const calls = f.y > to.y && f.x <= to.x + near && f.x + f.w >= end - near;
    const called = f.y <= to.y && f.x >= to.x - near && f.x + f.w <= end + near;
    f.g.classList.toggle("out", !calls && !called);
    f.g.classList.toggle("far", calls);
    if (calls) place(f, 0, 1);
    else if (called) place(f, (f.x - to.x) / to.w, f.w / to.w);
  }
  document.getElementById("reset").classList.remove("out");
  found();
}

function place(f, x, w) {
  f.rect.setAttribute("x", MARGIN + x * scale);
  f.rect.setAttribute("width", Math.max(w * scale, 0));
  f.text.setAttribute("x", MARGIN + x * scale + 3);
  const letters = Math.floor((w * scale - 6) / LETTER);
  f.text.textContent = letters < 3 ? "" :
    f.name.length <= letters ? f.name : f.name.slice(0, letters - 2) + "..";
}

function reset() {
  for (const f of frames) {
    f.g.classList.remove("out", "far");
    place(f, f.x, f.w);
  }
  document.getElementById("reset").classList.add("out");
  found();
}

function ask() {
  const answer = prompt("Functions with (regular expression):", term);
  if (answer !== null) search(answer);
}

function search(wanted) {
  term = wanted;
  found();
}

/* Colours what is found, and says what part of what is shown has it on its stacks. */
function found() {
  let pattern = null;
  try {
    pattern = term === "" ? null : new RegExp(term, "i");
  } catch (error) {
    tell("no regular expression: " + term);
  }
  const hits = [];
  let shown = 0;
  for (const f of frames) {
    const hit = pattern !== null && pattern.test(f.name);
    f.rect.setAttribute("fill", hit ? "rgb(230,0,230)" : f.fill);
    if (f.g.classList.contains("out") || f.g.classList.contains("far")) continue;
    shown = Math.max(shown, f.w);
    if (hit) hits.push(f);
  }
  /* Outermost first: what lies above a hit is counted with it. */
  hits.sort((a, b) => b.y - a.y);
  const counted = [];
  for (const f of hits) {
    const inside = (c) => f.x >= c.x - 1e-9 && f.x + f.w <= c.x + c.w + 1e-9;
    if (!counted.some(inside)) counted.push(f);
  }
  const part = counted.reduce((sum, f) => sum + f.w, 0) / (shown || 1);
  document.getElementById("found").textContent =
    pattern === null ? " " : "found: " + (100 * part).toFixed(2) + " %";
}
