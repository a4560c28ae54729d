// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/assets.h"

namespace mrc::report::html {

// Series colours after Okabe and Ito, darkened or lightened until they stand out by 3:1 from the ground of
// their theme; lines differ in dashes too, so colour is never the only difference.
const char* const kStyle = R"css(
:root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--ink:#1c2024;--soft:#5b646e;--hair:#e3e6ea;--grid:#eceef1;
--accent:#0b62a8;--good:#0a7a58;--bad:#b93a00;--marker:#b93a00;
--c0:#0b62a8;--c1:#c24e00;--c2:#00805c;--c3:#a3477f;--c4:#9a6a00;--c5:#2b8fc6;--c6:#6b6b1a;--c7:#5a5f66;
--l0:#f1f4f7;--l1:#c9dff0;--l2:#93c1e2;--l3:#5399cb;--l4:#1d6ba6;--ls:#f0b429;--lb:#d24a00;--lp:#a3477f;--ld:#2b2f36}
@media (prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1b1f24;--ink:#e8ebee;--soft:#a3adb8;--hair:#2e343b;
--grid:#272c32;--accent:#6db8f2;--good:#45cf9f;--bad:#ff9257;--marker:#ff9257;
--c0:#6db8f2;--c1:#ff9257;--c2:#45cf9f;--c3:#e6a1cb;--c4:#f0c04a;--c5:#a5d8fa;--c6:#d6d27a;--c7:#b6bcc4;
--l0:#22272d;--l1:#1d3a52;--l2:#225a85;--l3:#3183bd;--l4:#63b1ea;--ls:#f3bf3f;--lb:#ff7a3d;--lp:#d889b8;--ld:#f2f4f6}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans",
"DejaVu Sans",sans-serif}
main,header,footer{max-width:1120px;margin:0 auto;padding:0 24px}
header{padding-top:32px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:17px;margin:0 0 2px}
.sub{color:var(--soft);margin:0 0 16px;overflow-wrap:anywhere}
.badges{display:flex;flex-wrap:wrap;gap:8px;margin:0 0 20px;padding:0;list-style:none}
.badges li{border:1px solid var(--hair);border-radius:999px;padding:2px 12px;font-size:13px;color:var(--soft);
background:var(--card);overflow-wrap:anywhere}
.badges .pass{color:var(--good);border-color:currentColor;font-weight:600}
.badges .fail{color:var(--bad);border-color:currentColor;font-weight:600}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:12px;margin:0 0 20px;padding:0}
.figures div,section{background:var(--card);border:1px solid var(--hair);border-radius:10px}
.figures div{padding:12px 16px;display:flex;flex-direction:column}
.figures dt{font-size:13px;color:var(--soft)}
.figures dd{margin:0;font-size:24px;font-weight:600;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.figures dd.detail{font-size:13px;font-weight:400;color:var(--soft);letter-spacing:0}
section{padding:18px 20px;margin:0 0 16px}
.about{color:var(--soft);font-size:13.5px;margin:0 0 8px;max-width:92ch}
.absent{color:var(--soft);border:1px dashed var(--hair);border-radius:8px;padding:18px;text-align:center;margin:8px 0 0}
svg.plot{display:block;width:100%;height:auto;overflow:visible}
svg text{font-size:12px;fill:var(--soft);font-variant-numeric:tabular-nums}
svg .name{fill:var(--ink)}
.grid{stroke:var(--grid);fill:none}
.strip{fill:none;stroke:var(--hair)}
.between{stroke:var(--ink);stroke-opacity:.45;fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
path.band,path.fill{stroke:none}.band{fill-opacity:.16}.fill{fill-opacity:.22}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1);stroke-dasharray:7 4}.s2{stroke:var(--c2);stroke-dasharray:2 4}
.s3{stroke:var(--c3);stroke-dasharray:9 3 2 3}.s4{stroke:var(--c4);stroke-dasharray:12 4}
.s5{stroke:var(--c5);stroke-dasharray:4 3}.s6{stroke:var(--c6);stroke-dasharray:9 3 2 3 2 3}.s7{stroke:var(--c7);stroke-dasharray:1 5}
.band.s0,.fill.s0{fill:var(--c0)}.band.s1{fill:var(--c1)}.band.s2{fill:var(--c2)}.band.s3{fill:var(--c3)}
.band.s4{fill:var(--c4)}.band.s5{fill:var(--c5)}.band.s6{fill:var(--c6)}.band.s7{fill:var(--c7)}
.marker path{stroke:var(--marker);stroke-width:1.2;stroke-dasharray:3 3}
.marker text{fill:var(--marker);font-weight:600}
.marker text,.figure text{paint-order:stroke;stroke:var(--card);stroke-width:4px}
.cells{stroke-width:1}.cell{fill:none;stroke-dasharray:none;shape-rendering:crispEdges}
.l0{stroke:var(--l0)}.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}.l4{stroke:var(--l4)}
.ls{stroke:var(--ls)}.lb{stroke:var(--lb)}.lp{stroke:var(--lp)}.ld{stroke:var(--ld)}
.dot{stroke-width:2;stroke-dasharray:none}.dot.s0{fill:var(--c0)}.dot.s1{fill:var(--card)}.limit{stroke:var(--ink);stroke-width:1.2}
.misses{fill:var(--bad)}
.bar{fill:var(--c0);fill-opacity:.75}
.figure path{stroke:var(--c1);stroke-width:1.2}.figure text{fill:var(--ink)}
p.key{display:flex;flex-wrap:wrap;gap:6px 22px;font-size:13px;color:var(--soft);margin:8px 0 0}
p.key svg{height:12px;width:auto;vertical-align:-1px;margin-right:4px}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:3px 14px 3px 0;text-align:left;vertical-align:top;font-weight:400;overflow-wrap:break-word}
.legend td,.legend thead th{text-align:right}.legend thead th,details thead th{color:var(--soft)}
.legend{margin-top:6px}.legend svg{width:28px;height:10px;margin-right:8px;vertical-align:middle}
details summary{cursor:pointer;font-weight:600}section details summary{font-weight:400;color:var(--soft);font-size:13.5px}
details.table{margin:0 0 10px}details.table summary{font-weight:600;color:var(--ink);font-size:15px}
details.table tbody tr{border-top:1px solid var(--hair)}.wide{overflow-x:auto}pre{overflow-x:auto;font-size:12.5px;line-height:1.45;margin:6px 0 0}
ol.events{margin:6px 0 0;padding-left:0;list-style:none;font-size:13.5px}
ol.events b{color:var(--marker);display:inline-block;min-width:2em}ol.events span{display:inline-block;min-width:7em;
font-variant-numeric:tabular-nums}
footer{color:var(--soft);font-size:13px;padding-bottom:40px;overflow-wrap:anywhere}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--ground);border-radius:8px;padding:8px 12px;
font-size:13px;line-height:1.45;font-variant-numeric:tabular-nums;max-width:360px;box-shadow:0 4px 16px rgba(0,0,0,.25)}
#tip[hidden]{display:none}#tip b{font-weight:600}#tip td{padding:0 12px 0 0}#tip td+td{text-align:right;padding-right:0}
.cross{stroke:var(--ink);stroke-opacity:.55}
@media print{section{break-inside:avoid}#tip{display:none}}
)css";

// Everything is drawn without it. It finds the column under the pointer and says its values, on every plot at
// once.
const char* const kScript = R"js(
(() => {
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const [LEFT, WIDTH] = data.plot, tip = document.getElementById('tip'), NS = 'http://www.w3.org/2000/svg';
const units = [[[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [0, '']], ['', 'b/s', 'B', null, 'pkt/s']];
const times = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [0, 'ns']];
function quantity(v, unit) {
  if (v === null || v === undefined) return '–';
  const [f, p] = (unit === 3 ? times : units[0]).find(([f]) => Math.abs(v) >= f);
  return (v / (f || 1)).toPrecision(4).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') +
    ' ' + p + (unit === 3 ? '' : units[1][unit]);
}
const start = data.start, end = data.edges[data.edges.length - 1];
function column(edges, t) {
  let a = 0, b = edges.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (edges[m] <= t) a = m; else b = m; }
  return a;
}
const charts = data.charts.map(c => ({...c, svg: document.getElementById(c.id)}));
const maps = data.maps.map(m => ({...m, svg: document.getElementById(m.id)}));
for (const c of [...charts, ...maps]) {
  c.cross = document.createElementNS(NS, 'path');
  c.cross.setAttribute('class', 'cross');
  c.cross.setAttribute('visibility', 'hidden');
  c.svg.append(c.cross);
  c.svg.addEventListener('pointermove', e => show(c, e));
  c.svg.addEventListener('pointerleave', hide);
}
function hide() {
  tip.hidden = true;
  for (const c of [...charts, ...maps]) c.cross.setAttribute('visibility', 'hidden');
}
function row(name, value) {
  const tr = document.createElement('tr');
  for (const text of [name, value]) { const td = document.createElement('td'); td.textContent = text; tr.append(td); }
  return tr;
}
const words = {s: 'SKIP', b: 'ASSUMED_BAD', p: 'its plane is out of service: no link, or silent (D9)', d: 'DENIED', 0: 'GOOD, nothing sent'};
function show(c, e) {
  const box = c.svg.getBoundingClientRect(), k = box.width / c.svg.viewBox.baseVal.width;
  const x = (e.clientX - box.left) / k, y = (e.clientY - box.top) / k, at = (x - LEFT) / WIDTH;
  if (at < 0 || at > 1) return hide();
  const t = start + at * (end - start), table = document.createElement('table'), head = document.createElement('b');
  for (const o of [...charts, ...maps]) {
    o.cross.setAttribute('d', `M${x} 30V${o.svg.viewBox.baseVal.height - 34}`);
    o.cross.setAttribute('visibility', 'visible');
  }
  head.textContent = quantity(t, 3);
  if (c.series) {
    const i = column(data.edges, t);
    for (const s of c.series) table.append(row(s.name, quantity(s.v[i], c.unit)));
  } else {
    const r = Math.floor((y - c.top) / c.row);
    if (r < 0 || r >= c.cells.length) return hide();
    const l = c.cells[r][column(data.mapEdges, t)];
    table.append(row(c.labels[r], words[l] || 'GOOD'));
  }
  tip.replaceChildren(head, table);
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, e.clientX + 16 + w > innerWidth ? e.clientX - w - 16 : e.clientX + 16) + 'px';
  tip.style.top = Math.max(4, Math.min(e.clientY + 16, innerHeight - h - 4)) + 'px';
}
document.documentElement.dataset.script = 'ready';
})();
)js";

}  // namespace mrc::report::html
