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
    node.append(...children);
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

  const draw = () => redraws.forEach((redraw) => redraw());
  return { data, axes, state, redraws, draw, element, svg, round, percent, signed, short };
})();
