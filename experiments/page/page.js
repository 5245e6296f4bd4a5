"use strict";
// What the page's scripts share: the data, what the reader chose, and small makers of elements and numbers.
// All text goes in as text nodes: names come from configs and data.
const page = (() => {
  const data = JSON.parse(document.getElementById("curves").textContent);
  const axes = new Map(data.axes.map((axis) => [axis.key, axis]));
  const state = { axis: "samples", panels: "group", bands: true, hidden: new Set() };
  const redraws = [];

  const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "color") node.style.setProperty("--c", value);
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const round = (value) => Math.round(value * 100) / 100;
  const percent = (value, digits = 1) => (100 * value).toFixed(digits).replace("-", "−");
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(100 * value).toFixed(1);
  function short(value) {
    const units = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    const [size, unit] = units.find(([size]) => value >= 0.9995 * size) ?? [1, ""];
    return String(Number((value / size).toPrecision(3))) + unit;
  }

  // How a strategy looks in every figure: what uses the gold is gray, and no method.
  const DASHES = ["", "7 4", "2 4", "10 3 2 3", "", "5 3", "12 4"];
  const MARKS = ["circle", "square", "triangle", "down", "plus", "circle", "square"];
  let methods = 0, lines = 0;
  const entrants = data.entrants.map((one, index) => {
    const gold = one.gold || one.name === one.oracle, label = gold ? `${one.name} (uses gold)` : one.name;
    if (gold) return { ...one, index, gold, label, color: "var(--gold)", dash: "6 4", mark: "diamond" };
    const slot = methods++ % 7, several = data.groups[0].curves[index].points.length > 1;
    return { ...one, index, gold, label, color: `var(--s${slot})`, dash: several ? DASHES[lines++ % 7] : "1 4", mark: MARKS[slot] };
  });

  // On a narrow screen the words in a large panel would be too small to read.
  const roomy = (host) => host.clientWidth >= 480;
  const draw = () => redraws.forEach((redraw) => redraw());
  return { data, axes, entrants, state, DASHES, MARKS, redraws, draw, roomy, element, svg, round, percent, signed, short };
})();
