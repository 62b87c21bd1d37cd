"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const { palette, names } = JSON.parse(byId("viewer-data").textContent);

// Light and dark: as the system says, or as chosen here. Storage may be refused to a file; the choice then lasts a visit.
const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.style.colorScheme = theme === "auto" ? "" : theme;
  document.documentElement.dataset.theme = theme;
  const button = byId("theme");
  button.querySelector(".theme-name").textContent = theme;
  button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "as the system" : theme}`);
  try { localStorage.setItem("theme", theme); } catch { /* not kept */ }
}
function storedTheme() {
  try { return localStorage.getItem("theme"); } catch { return null; }
}
byId("theme").addEventListener("click", () => {
  const place = themes.indexOf(document.documentElement.dataset.theme);
  setTheme(themes[(place + 1) % themes.length]);
});
setTheme(themes.includes(storedTheme()) ? storedTheme() : "auto");

// One panel of several, chosen by row.
function choosePanel(group, row) {
  const panels = all(`[data-panel="${group}"]`);
  const chosen = panels.find((panel) => panel.dataset.row === row) ?? panels.at(-1);
  for (const panel of panels) panel.classList.toggle("chosen", panel === chosen);
}
for (const group of new Set(all("[data-panel]").map((panel) => panel.dataset.panel))) {
  const select = document.querySelector(`[data-chooses="${group}"]`);
  choosePanel(group, select?.value);
  select?.addEventListener("change", () => choosePanel(group, select.value));
}

// Curves are hidden and shown by row in every panel.
for (const box of all("[data-curve]")) {
  box.addEventListener("change", () => {
    for (const series of all(".series")) {
      if (series.dataset.series === box.dataset.curve) series.classList.toggle("off", !box.checked);
    }
  });
}

// Heat maps: the cell under the pointer or moved to by the arrow keys is read out.
function readOut(cells, i, j) {
  const value = cells.values[i][j];
  if (cells.kind === "confusion") {
    return `true ${names[i]}, predicted ${names[j]}: ${value.toFixed(1)} % (${cells.counts[i][j].toLocaleString("en")} pixels)`;
  }
  return `${names[i]} above ${names[j]}: mean score ${value}`;
}
for (const figure of all(".heat-figure")) {
  const frame = figure.querySelector(".heat-frame");
  const svg = frame.querySelector("svg");
  const cursor = frame.querySelector(".heat-cursor");
  const cells = JSON.parse(figure.querySelector(".cells").textContent);
  const [margin, size, n] = frame.dataset.grid.split(" ").map(Number);
  let at = [0, 0];
  const move = (i, j) => {
    at = [Math.min(n - 1, Math.max(0, i)), Math.min(n - 1, Math.max(0, j))];
    cursor.setAttribute("x", margin + size * at[1]);
    cursor.setAttribute("y", margin + size * at[0]);
    cursor.setAttribute("visibility", "visible");
    figure.querySelector(".readout").textContent = readOut(cells, ...at);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const i = Math.floor(((event.clientY - box.top) * unit - margin) / size);
    const j = Math.floor(((event.clientX - box.left) * unit - margin) / size);
    if (i >= 0 && j >= 0 && i < n && j < n) move(i, j);
  });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  frame.addEventListener("focus", () => move(...at));
  frame.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    move(at[0] + step[0], at[1] + step[1]);
  });
}

byId("copy")?.addEventListener("click", async (event) => {
  const button = event.currentTarget;
  try {
    await navigator.clipboard.writeText(byId("command").textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(byId("command"));
    button.textContent = "Selected";
  }
});

// The viewer. Label maps are pictures in class colours; drawn on a canvas, their pixels give the labels back.
const labelOf = new Map(palette.map(([r, g, b], label) => [(r << 16) | (g << 8) | b, label]));
const VOID = names.length;
const nameOf = (label) => (label === VOID ? "void" : names[label]);

async function pixelsOf(image) {
  await image.decode();
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

async function labelsOf(image) {
  const { data, width, height } = await pixelsOf(image);
  const labels = new Uint16Array(width * height);
  for (let k = 0; k < labels.length; k++) {
    labels[k] = labelOf.get((data[4 * k] << 16) | (data[4 * k + 1] << 8) | data[4 * k + 2]) ?? VOID;
  }
  return labels;
}

class Viewer {
  constructor(articles) {
    this.articles = articles;
    this.index = 0;
    this.loaded = new Map();
    this.canvas = byId("canvas");
    this.cursor = null;
    for (const id of ["blend", "outline", "errors"]) byId(id).addEventListener("input", () => this.draw());
    for (const radio of all('[name="layer"]')) radio.addEventListener("change", () => this.draw());
    byId("previous").addEventListener("click", () => this.open(this.index - 1));
    byId("next").addEventListener("click", () => this.open(this.index + 1));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.step(event));
    articles.forEach((article, index) => {
      for (const button of all("[data-layer]", article)) {
        button.addEventListener("click", async () => {
          await this.open(index, button.dataset.layer);
          byId("viewer").scrollIntoView({ block: "nearest" });
          this.canvas.focus({ preventScroll: true });
        });
      }
    });
    byId("viewer").hidden = false;
  }

  get layer() {
    return document.querySelector('[name="layer"]:checked').value;
  }

  async open(index, layer) {
    this.index = (index + this.articles.length) % this.articles.length;
    const article = this.articles[this.index];
    const buttons = new Map(all("[data-layer]", article).map((button) => [button.dataset.layer, button]));
    for (const radio of all('[name="layer"]')) {
      radio.disabled = !buttons.has(radio.value);
      radio.checked = radio.value === (layer ?? this.layer);
      const accuracy = buttons.get(radio.value)?.dataset.accuracy;
      radio.parentElement.querySelector("small").textContent = accuracy ?? "";
    }
    if (document.querySelector('[name="layer"]:checked:disabled')) document.querySelector('[value="truth"]').checked = true;
    byId("example-name").textContent = `${article.dataset.name} (${this.index + 1} of ${this.articles.length})`;
    if (!this.loaded.has(this.index)) this.loaded.set(this.index, this.load(buttons));
    this.example = await this.loaded.get(this.index);
    this.cursor = null;
    this.draw();
  }

  async load(buttons) {
    const image = await pixelsOf(buttons.get("image").querySelector("img"));
    const maps = new Map();
    for (const [key, button] of buttons) {
      if (key !== "image") maps.set(key, { name: button.querySelector("span").firstChild.textContent.trim(), labels: await labelsOf(button.querySelector("img")) });
    }
    return { image, maps };
  }

  draw() {
    if (!this.example) return;
    const { image, maps } = this.example;
    const { width, height } = image;
    const shown = new ImageData(new Uint8ClampedArray(image.data), width, height);
    const labels = maps.get(this.layer)?.labels;
    if (labels) this.paint(shown, labels, maps.get("truth").labels);
    this.shown = shown;
    this.canvas.width = width;
    this.canvas.height = height;
    this.list(labels);
    this.refresh();
  }

  refresh() {
    const context = this.canvas.getContext("2d", { willReadFrequently: true }); // it is written pixel by pixel
    context.putImageData(this.shown, 0, 0);
    if (this.cursor) this.cross(context);
    this.tell();
  }

  paint(shown, labels, truth) {
    const { width, height, data } = shown;
    const blend = byId("blend").value / 100;
    const outline = byId("outline").checked;
    const errors = byId("errors").checked;
    for (let y = 0, k = 0; y < height; y++) {
      for (let x = 0; x < width; x++, k++) {
        const color = palette[labels[k]];
        for (let c = 0; c < 3; c++) data[4 * k + c] += (color[c] - data[4 * k + c]) * blend;
        const edge = (x + 1 < width && labels[k] !== labels[k + 1]) || (y + 1 < height && labels[k] !== labels[k + width]);
        const wrong = errors && truth[k] !== VOID && labels[k] !== truth[k];
        if (outline && edge) data.fill(255, 4 * k, 4 * k + 3);
        else if (wrong && (x + y) % 6 < 2) data.fill((x + y) % 6 ? 255 : 0, 4 * k, 4 * k + 3);
      }
    }
  }

  cross(context) {
    const [x, y] = this.cursor;
    for (const [color, width] of [["#000", 3], ["#fff", 1]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(x - 3.5, y - 3.5, 8, 8);
    }
  }

  list(labels) {
    const counts = new Map();
    for (const label of labels ?? []) counts.set(label, (counts.get(label) ?? 0) + 1);
    const items = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([label, count]) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.className = `swatch swatch-${label}`;
      const share = document.createElement("small");
      share.textContent = `${Math.round((100 * count) / labels.length)} %`;
      item.append(swatch, nameOf(label), share);
      return item;
    });
    byId("in-picture").replaceChildren(...items);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const { width, height } = this.canvas;
    const scale = Math.min(box.width / width, box.height / height); // the picture is centred where the box is wider
    const x = Math.floor((event.clientX - box.left - (box.width - width * scale) / 2) / scale);
    const y = Math.floor((event.clientY - box.top - (box.height - height * scale) / 2) / scale);
    if (x >= 0 && y >= 0 && x < width && y < height) this.moveTo(x, y);
  }

  step(event) {
    const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const { width, height } = this.canvas;
    const [x, y] = this.cursor ?? [width >> 1, height >> 1];
    const stride = event.shiftKey ? 1 : 6;
    const within = (value, size) => Math.min(size - 1, Math.max(0, value));
    this.moveTo(within(x + stride * step[0], width), within(y + stride * step[1], height));
  }

  moveTo(x, y) {
    this.cursor = [x, y];
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.refresh());
  }

  tell() {
    if (!this.cursor || !this.example) return;
    const place = this.cursor[1] * this.canvas.width + this.cursor[0];
    const truth = this.example.maps.get("truth").labels[place];
    const parts = [];
    for (const [key, { name, labels }] of this.example.maps) {
      const value = document.createElement("b");
      value.textContent = nameOf(labels[place]);
      if (key !== "truth" && truth !== VOID) value.className = labels[place] === truth ? "right" : "wrong";
      const layer = document.createElement("span");
      layer.className = "layer-name";
      layer.textContent = `${name} `;
      if (parts.length) parts.push(" · ");
      parts.push(layer, value);
    }
    byId("under").replaceChildren(...parts);
  }
}

const articles = all(".example");
if (articles.length) new Viewer(articles).open(0);
