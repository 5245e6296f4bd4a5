"use strict";
// The sample browser. The index is small and read at once; each question's own block is parsed when it is opened.
(() => {
  const read = (id) => { const block = document.getElementById(id); return block ? JSON.parse(block.textContent) : null; };
  const { questions, strategies, fields } = read("exhibits");
  const PAGE = 100;
  const list = document.getElementById("list"), exhibit = document.getElementById("exhibit"), counter = document.getElementById("counter");
  const controls = Object.fromEntries([...document.querySelectorAll("#filters [name]")].map((control) => [control.name, control]));
  let shown = PAGE, matches = [], open = -1;

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.filter((child) => child !== null));
    return node;
  }

  const STATES = {
    all: () => true,
    solvable: (question, strategy) => question.solved > 0 && strategy >= 0 && (question.credits[strategy] ?? 0) < 0.5,
    unanswered: (question) => question.answered < question.drawn || question.drawn === 0,
    silent: (question) => question.answered === 0,
    never: (question) => question.solved === 0,
    always: (question) => question.drawn > 0 && question.solved === question.drawn,
  };

  function filter() {
    const strategy = Number(controls.strategy.value), wanted = controls.words.value.trim().toLowerCase();
    matches = questions.flatMap((question, index) => {
      const kept = fields.every((field, at) => controls[`field${at}`].value === "" || question.values[at].includes(controls[`field${at}`].value))
        && STATES[controls.state.value](question, strategy)
        && (wanted === "" || question.id.toLowerCase().includes(wanted) || question.opening.toLowerCase().includes(wanted));
      return kept ? [index] : [];
    });
    shown = PAGE;
    show();
    if (matches.length) view(matches.includes(open) ? open : matches[0]);
    else exhibit.replaceChildren(element("p", { class: "note" }, "No question matches these filters."));
  }

  function show() {
    counter.textContent = `${matches.length} of ${questions.length} questions`;
    list.replaceChildren(...matches.slice(0, shown).map((index) => {
      const question = questions[index];
      const share = question.drawn ? `${question.solved} of ${question.drawn} right` : question.problem ? "failed" : "no samples";
      const button = element("button", { type: "button", "data-index": index },
        question.id, element("small", {}, element("span", {}, question.values.map((values) => values[0] ?? "").filter(Boolean).slice(0, 2).join(" · ")), element("span", {}, share)));
      button.addEventListener("click", () => view(index));
      if (index === open) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    }));
    if (matches.length > shown) {
      const more = element("button", { type: "button" }, `Show ${Math.min(PAGE, matches.length - shown)} more`);
      more.addEventListener("click", () => { const first = shown; shown += PAGE; show(); list.querySelectorAll("button")[first]?.focus(); });
      list.append(element("li", {}, more));
    }
  }

  function picture(key, alt) {
    const media = key === null ? null : read(`media-${key}`);
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

  function sampleCard(sample) {
    const right = sample.answer !== null && sample.credit > 0.5;
    const verdict = sample.answer === null ? `no answer: ${sample.status}` : right ? "✓ right" : sample.credit > 0 ? `partly right: ${sample.credit}` : "✗ wrong";
    const head = element("header", {}, element("b", {}, `Sample ${sample.index}`),
      element("span", {}, sample.answer === null ? "–" : `answer ${sample.answer}`),
      element("span", { class: sample.answer === null ? "" : right ? "verdict-right" : "verdict-wrong" }, verdict),
      element("span", {}, `${sample.tokens ?? "uncounted"} tokens${sample.cut ? ", cut at the limit" : ""}`), element("span", {}, `rule: ${sample.rule}`));
    if (sample.ungraded) head.append(element("span", { class: "verdict-wrong" }, "judge failed"));
    return element("article", { class: "sample", "aria-label": `sample ${sample.index}` }, head,
      element("pre", { tabindex: "0" }, sample.text === "" ? `(no reply) ${sample.reason}` : sample.text));
  }

  function view(index) {
    open = index;
    for (const button of list.querySelectorAll("[data-index]"))
      if (Number(button.dataset.index) === index) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    const question = questions[index], detail = read(`exhibit-${index}`);
    const loose = detail.media.filter((one) => one.marker === 0);
    const options = detail.options.map((option, at) => {
      const letter = String.fromCharCode(65 + at), key = detail.gold.includes(letter);
      return element("li", { class: key ? "key-answer" : "" }, element("span", { class: "letter" }, letter), ...withImages(option, detail.media),
        key ? element("span", { class: "tag" }, "gold") : null);
    });
    const credits = strategies.map((name, at) => (question.credits[at] === null ? null : `${name} ${(100 * question.credits[at]).toFixed(0)} %`)).filter(Boolean);
    exhibit.replaceChildren(element("h3", {}, question.id),
      element("p", { class: "note" }, detail.facts.join(" · ")),
      element("div", { class: "asked" }, ...loose.map((one) => picture(one.key, one.kind)), ...withImages(detail.text, detail.media)),
      options.length ? element("ul", { class: "options" }, ...options) : element("p", {}, "Gold: ", element("span", { class: "key-answer" }, detail.gold.join(" or ") || "hidden")),
      credits.length ? element("p", { class: "note" }, "Chance of a right answer at each strategy's largest k: " + credits.join(" · ")) : "",
      ...detail.draws.flatMap((draw) => [
        element("h4", {}, draw.drawn === 1 ? `${draw.name}: 1 sample` : `${draw.name}: answers of ${draw.drawn} samples`),
        draw.drawn > 1 ? tally(draw) : null,
        draw.samples.length < draw.drawn ? element("h4", {}, `The first ${draw.samples.length} of them`) : null,
        ...draw.samples.map(sampleCard),
      ]).filter((node) => node !== null));
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button")];
    const target = buttons[Math.min(Math.max(buttons.indexOf(document.activeElement) + step, 0), buttons.length - 1)];
    target.focus();
    if (target.dataset.index) view(Number(target.dataset.index));
  });
  for (const control of Object.values(controls)) control.addEventListener("input", filter);
  filter();
})();
