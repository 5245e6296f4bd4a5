"use strict";
// Goes through the report as a reader would, and leaves what it saw as JSON in an element named probe.
const said = { axes: {}, states: {} };
(async () => {
  const all = (selector) => [...document.querySelectorAll(selector)], one = (selector) => document.querySelector(selector);
  const place = () => one("#list [aria-current]").dataset.index;
  const shown = async () => { while (one("#exhibit").dataset.shown !== place()) await new Promise((done) => setTimeout(done, 10)); };
  const choose = (name, value, kind = "input") => {
    const control = one(`[name=${name}]`);
    control.value = value;
    control.dispatchEvent(new Event(kind));
  };
  const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  said.panels = all("#accuracy [data-figure] svg").length;
  said.lines = all("#accuracy [data-figure] polyline").length;
  for (const input of all("input[name=axis]").filter((input) => !input.disabled)) {
    input.click();
    const rows = (host) => all(`[${host}] tbody tr`).length;
    said.axes[input.value] = [rows("data-areas"), rows("data-matched"), one("[data-kind=gap] figcaption span")?.textContent ?? "none"];
  }
  const panel = one("#accuracy figure");
  key(panel, "ArrowRight"); key(panel, "ArrowRight");
  said.read = one("#live").textContent;
  said.hidden = [all("#accuracy polyline").length];
  one(".legend button[aria-pressed=true]:nth-child(2)").click();
  said.hidden.push(all("#accuracy polyline").length);
  said.risk = { lines: all("#risk polyline").length, rows: all("#risk tbody tr").map((row) => row.innerText.split("\t").length) };
  said.verifiers = one("#verifiers h3").textContent;
  choose("strategy", [...one("[name=strategy]").options].find((option) => option.textContent.startsWith("best_of_n")).value);
  for (const state of all("[name=state] option").map((option) => option.value)) {
    choose("state", state);
    said.states[state] = one("#counter").textContent;
  }
  choose("state", "fooled");
  await shown();
  said.gold = one("#exhibit .key-answer .letter").textContent;
  said.samples = all("#exhibit .sample summary").map((row) => row.innerText.replace(/\s+/g, " "));
  said.steps = all("#exhibit .sample:first-child .steps tr").map((row) => [...row.children].map((cell) => cell.textContent));
  choose("kind", "wrong", "change");
  said.wrong = all("#exhibit .verdict-wrong").length === all("#exhibit .sample").length;
  choose("kind", "all", "change"); choose("state", "all");
  const difficulty = all("#filters select").find((control) => [...control.options].some((option) => option.value === "Hard"));
  difficulty.value = "Hard"; difficulty.dispatchEvent(new Event("input"));
  said.hard = [one("#counter").textContent, all("#list small span:first-child").every((node) => node.textContent.includes("Hard"))];
  difficulty.value = ""; difficulty.dispatchEvent(new Event("input"));
  one("#list button").focus(); one("#list button").click();
  key(document.activeElement, "ArrowDown");
  await shown();
  said.second = place() === document.activeElement.dataset.index && place() === all("#list button")[1].dataset.index;
  const last = all("#list button").at(-1).firstChild.textContent;
  choose("words", last.toUpperCase());
  said.found = [last, ...all("#list button").map((button) => button.firstChild.textContent)];
  await shown();
  await Promise.all(all("#exhibit img").map((image) => image.decode()));
  said.images = all("#exhibit .asked img, #exhibit .options img").map((image) => image.naturalWidth > 0 && image.alt !== "");
  const steps = all("#exhibit .step").map((cell) => cell.textContent);
  said.hostile = { text: steps.find((text) => text.includes("onerror")), taken: document.title === "taken" || one("#taken") !== null };
  const nameless = (node) => node.textContent.trim() === "" && !node.ariaLabel && !node.closest("label");
  said.nameless = all("button, select, input, a, summary").filter(nameless).map((node) => node.outerHTML);
})().catch((error) => { said.failed = String(error); })
  .finally(() => document.body.prepend(page.element("pre", { id: "probe" }, JSON.stringify(said))));
