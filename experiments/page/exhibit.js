"use strict";
// One question of the sample browser: its images, the answers counted, and every sample with its steps and their scores.
const drawExhibit = (() => {
  const { element, percent } = page;
  const read = (id) => { const block = document.getElementById(id); return block ? JSON.parse(block.textContent) : null; };
  const index = read("exhibits");
  const OPEN = 3;
  // What the reader chose for the samples; it stays from one question to the next.
  const look = { kind: "all", order: "drawn" };

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (character) => character.charCodeAt(0));
    const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter();
    writer.write(bytes);
    writer.close();
    const reader = stream.readable.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    return JSON.parse(text);
  }

  function picture(key, alt) {
    const media = read(`media-${key}`);
    if (media === null) return element("span", { class: "note" }, `[${alt}: left out of this page]`);
    if (!media.frames.length) return element("span", { class: "note" }, `[${alt}: ${media.problem}]`);
    const images = media.frames.map((source, index) => element("img", {
      src: source, class: media.tiny ? "tiny" : "", alt: media.frames.length > 1 ? `${alt}, frame ${index + 1} of ${media.frames.length} shown` : alt,
    }));
    return element("span", { class: "frames" }, ...images);
  }

  // Text with each marker replaced by its image.
  function withImages(text, media) {
    return text.split(/(<(?:image|video) \d+>)/).map((piece) => {
      const found = /^<(image|video) (\d+)>$/.exec(piece);
      if (!found) return piece.trim();  // an image stands on a line of its own
      const item = media.find((one) => one.marker === Number(found[2]) && one.kind === found[1]);
      return item ? picture(item.key, `${item.kind} ${item.marker}`) : piece;
    });
  }

  function tally(draw) {
    const most = Math.max(...draw.tally.map((row) => row.count), 1);
    return element("ul", { class: "tally" }, ...draw.tally.map((row) => {
      const right = row.credit > 0.5, bar = element("div", { class: right ? "good" : "", "aria-hidden": "true" });
      bar.style.width = `${(100 * row.count) / most}%`;
      return element("li", {}, element("span", { title: row.answer, class: right ? "good-text" : "" }, right ? `${row.answer} ✓` : row.answer), bar, element("span", {}, String(row.count)));
    }));
  }

  const rounded = (value) => Number(value.toPrecision(3)).toString().replace("-", "−");

  function score(sample, place, name) {
    const found = sample.scores[place];
    if (found === null) return null;
    const said = found.score === null ? `no score (${found.status})` : rounded(found.score);
    return element("span", {}, `${name} `, element("b", {}, said));
  }

  function steps(sample, names) {
    if (!sample.steps.length) return element("p", { class: "note" }, `(no reply) ${sample.reason}`);
    const scored = names.map((name, place) => ({ name, steps: sample.scores[place]?.steps ?? [] })).filter((one) => one.steps.length);
    const beside = scored.filter((one) => one.steps.length === sample.steps.length);
    const others = scored.filter((one) => !beside.includes(one));
    const rows = sample.steps.map((text, at) => element("tr", {}, element("th", { scope: "row" }, String(at + 1)),
      ...beside.map((one) => {
        const cell = element("td", { class: "chance" }, one.steps[at].toFixed(2));
        cell.style.setProperty("--wrong", `${Math.round(55 * (1 - one.steps[at]))}%`);
        return cell;
      }), element("td", { class: "step" }, text.trimEnd())));
    const heads = ["step", ...beside.map((one) => one.name), "reply"].map((name) => element("th", { scope: "col" }, name));
    const head = element("thead", beside.length ? {} : { class: "hidden-visually" }, element("tr", {}, ...heads));
    const table = element("table", { class: "steps" }, head, element("tbody", {}, ...rows));
    const apart = others.map((one) => element("p", { class: "note" }, `${one.name} scored ${one.steps.length} other steps: ${one.steps.map(rounded).join(", ")}`));
    return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Steps of sample ${sample.index}` }, table, ...apart);
  }

  const KINDS = {
    all: () => true,
    right: (sample) => sample.credit > 0.5,
    wrong: (sample) => sample.answer !== null && sample.credit <= 0.5,
    unanswered: (sample) => sample.answer === null,
  };

  function card(sample, names, open) {
    const right = KINDS.right(sample);
    const verdict = sample.answer === null ? `no answer: ${sample.status}` : right ? "✓ right" : sample.credit > 0 ? `partly right: ${sample.credit}` : "✗ wrong";
    const head = element("summary", {}, element("b", {}, `Sample ${sample.index}`),
      element("span", { class: "given" }, sample.answer ?? "–"),
      element("span", { class: sample.answer === null ? "" : right ? "verdict-right" : "verdict-wrong" }, verdict),
      sample.ungraded ? element("span", { class: "verdict-wrong" }, "judge failed") : null,
      ...names.map((name, place) => score(sample, place, name)),
      element("span", {}, `${sample.tokens ?? "uncounted"} tokens${sample.cut ? ", cut at the limit" : ""}`));
    const body = element("div", { class: "reply" }, steps(sample, names), element("p", { class: "note" }, `Answer read by rule: ${sample.rule}${sample.seen ? `; it saw the options in the order ${sample.seen}` : ""}`));
    return element("details", open ? { class: "sample", open: "" } : { class: "sample" }, head, body);
  }

  function samples(draw) {
    const value = (sample) => sample.scores[draw.verifiers.indexOf(look.order)]?.score ?? -Infinity;
    const kept = draw.samples.filter(KINDS[look.kind]);
    if (draw.verifiers.includes(look.order)) kept.sort((a, b) => value(b) - value(a) || a.index - b.index);
    const all = draw.samples.length;
    return [
      element("h4", {}, draw.drawn === 1 ? `${draw.name}: 1 sample` : `${draw.name}: answers of ${draw.drawn} samples`),
      draw.drawn > 1 ? tally(draw) : null,
      all < draw.drawn || kept.length < all ? element("p", { class: "note" }, `${kept.length} of the ${all < draw.drawn ? "first " : ""}${all} samples`) : null,
      element("div", { class: "cards" }, ...kept.map((sample, at) => card(sample, draw.verifiers, at < OPEN))),
    ].filter((node) => node !== null);
  }

  // What is shown of the samples, and in which order; `redraw` shows them anew.
  function controls(detail, redraw) {
    const verifiers = [...new Set(detail.draws.flatMap((draw) => draw.verifiers))];
    const choice = (label, name, values) => {
      const select = element("select", { name }, ...values.map(([value, text]) => element("option", { value }, text)));
      select.value = values.some(([value]) => value === look[name]) ? look[name] : values[0][0];
      select.addEventListener("change", () => { look[name] = select.value; redraw(); });
      return element("label", {}, label, select);
    };
    const all = element("button", { type: "button" }, "Open all");
    all.addEventListener("click", () => document.querySelectorAll("#exhibit details").forEach((one) => { one.open = true; }));
    return element("div", { class: "filters look" }, choice("Samples", "kind", Object.keys(KINDS).map((kind) => [kind, kind])),
      verifiers.length ? choice("Order", "order", [["drawn", "as drawn"], ...verifiers.map((name) => [name, `by ${name}, highest first`])]) : null, all);
  }

  // The question's parts as nodes; its block is unpacked first.
  async function exhibit(place) {
    const question = index.questions[place], detail = await unpack(`exhibit-${place}`);
    const loose = detail.media.filter((one) => one.marker === 0);
    const options = detail.options.map((option, at) => {
      const letter = String.fromCharCode(65 + at), key = detail.gold.includes(letter);
      return element("li", { class: key ? "key-answer" : "" }, element("span", { class: "letter" }, letter), ...withImages(option, detail.media),
        key ? element("span", { class: "tag" }, "gold") : null);
    });
    const credits = index.strategies.flatMap((name, at) => (question.credits[at] === null ? [] : [`${name} ${percent(question.credits[at], 0)} %`]));
    const below = element("div", {});
    const redraw = () => below.replaceChildren(...detail.draws.flatMap(samples));
    redraw();
    return [
      element("h3", {}, question.id),
      element("p", { class: "note" }, detail.facts.join(" · ")),
      element("div", { class: "asked" }, ...loose.map((one) => picture(one.key, one.kind)), ...withImages(detail.text, detail.media)),
      options.length ? element("ul", { class: "options" }, ...options) : element("p", {}, "Gold: ", element("span", { class: "key-answer" }, detail.gold.join(" or ") || "hidden")),
      credits.length ? element("p", { class: "note" }, `Chance of a right answer at each strategy's largest k: ${credits.join(" · ")}`) : "",
      detail.draws.length ? controls(detail, redraw) : "", below,
    ];
  }

  return Object.assign(exhibit, { index, look });
})();
