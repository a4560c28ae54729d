// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html/assets.h"
#include "report/html/comparison.h"
#include "report/html/distribution.h"
#include "report/html/ev_map.h"
#include "report/html/plot.h"
#include "report/html/time_chart.h"

namespace mrc::report::html {
namespace {

std::string header(const Page& page) {
  std::string out = fmt::format("<header><h1>{}</h1><p class=\"sub\">{}</p>\n<ul class=\"badges\">",
                                escaped(page.title), escaped(page.subtitle));
  out += fmt::format("<li class=\"{}\">{} {}</li>", page.pass ? "pass" : "fail", page.pass ? "✓" : "✗",
                     escaped(page.verdict));
  if (!page.clock.empty()) out += fmt::format("<li>{}</li>", escaped(page.clock));
  out += "</ul>\n";
  if (page.figures.empty()) return out + "</header>\n";
  out += "<dl class=\"figures\">\n";
  for (const Figure& f : page.figures)
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd><dd class=\"detail\">{}</dd></div>\n", escaped(f.label),
                       escaped(f.value), escaped(f.detail));
  return out + "</dl></header>\n";
}

std::string events(const Page& page) {
  if (page.markers.empty()) return {};
  std::string out =
      "<section><h2>Events</h2><p class=\"about\">Drawn through every plot over time.</p><ol "
      "class=\"events\">\n";
  for (std::size_t i = 0; i < page.markers.size() && i < kMaxMarkers; ++i)
    out += fmt::format("<li><b>{}</b><span>{}</span>{}</li>\n", i + 1,
                       quantity(page.markers[i].t_ns, Unit::kNanoseconds), escaped(page.markers[i].text));
  out += "</ol>";
  if (page.markers.size() > kMaxMarkers)
    out += fmt::format("<p class=\"about\">The first {} of {}.</p>", kMaxMarkers, page.markers.size());
  return out + "</section>\n";
}

std::string text(const Text& t) {
  const bool whole = t.text.size() <= kMaxTextBytes;
  return fmt::format("<details class=\"table\"><summary>{}</summary><pre>{}</pre>{}</details>\n",
                     escaped(t.title), escaped(std::string_view(t.text).substr(0, kMaxTextBytes)),
                     whole ? "" : "<p class=\"about\">The rest is left out.</p>");
}

std::string table(const Table& t) {
  std::string out =
      fmt::format("<details class=\"table\"{}><summary>{}</summary><div class=\"wide\"><table>\n",
                  t.open ? " open" : "", escaped(t.title));
  const auto row = [&](const std::vector<std::string>& cells, const char* first, const char* rest) {
    out += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
      out += fmt::format("<{}>{}</{}>", i == 0 ? first : rest, escaped(cells[i]),
                         std::string_view(i == 0 ? first : rest).substr(0, 2));
    out += "</tr>\n";
  };
  if (!t.columns.empty()) {
    out += "<thead>";
    row(t.columns, "th scope=\"col\"", "th scope=\"col\"");
    out += "</thead>";
  }
  out += "<tbody>\n";
  for (std::size_t i = 0; i < t.rows.size() && i < kMaxTableRows; ++i)
    row(t.rows[i], "th scope=\"row\"", "td");
  out += "</tbody></table></div>";
  if (t.rows.size() > kMaxTableRows)
    out += fmt::format("<p class=\"about\">The first {} of {} rows.</p>", kMaxTableRows, t.rows.size());
  return out + "</details>\n";
}

std::string edges_json(const Columns& columns) {
  std::string out = "[";
  for (std::size_t k = 0; k <= columns.size(); ++k) {
    const double t = k == columns.size() ? columns.end_ns() : columns.column_begin_ns(k);
    out += fmt::format("{}{:.0f}", k == 0 ? "" : ",", t);
  }
  return out + "]";
}

std::string joined_json(const std::vector<std::string>& objects) {
  std::string out = "[";
  for (const std::string& o : objects) out += (out.size() == 1 ? "" : ",\n") + o;
  return out + "]";
}

/// Times that are no numbers or run backwards would put the axes anywhere: from there on, samples are cut.
Page checked(const Page& page) {
  Page out = page;
  double last = out.start_ns = std::isfinite(out.start_ns) ? out.start_ns : 0;
  std::size_t n = 0;
  while (n < out.times_ns.size() && std::isfinite(out.times_ns[n]) && out.times_ns[n] >= last)
    last = out.times_ns[n++];
  // Maps are stored by row, so their shape must follow.
  if (n != out.times_ns.size()) out.maps.clear();
  out.times_ns.resize(n);
  return out;
}

}  // namespace

std::string write(const Page& given) {
  const Page page = checked(given);
  const Columns columns(page, kMaxColumns);
  const Columns map_columns(page, kMaxMapColumns);
  std::vector<std::string> charts;
  std::vector<std::string> maps;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      // Nothing may be loaded, from anywhere: what the page shows is in it.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n";
  out += fmt::format("<title>{}</title>\n<style>{}</style></head>\n<body>\n", escaped(page.title), kStyle);
  out += header(page) + "<main>\n";
  const auto add = [&](DrawnChart drawn, std::vector<std::string>& json) {
    out += drawn.html;
    if (!drawn.json.empty()) json.push_back(std::move(drawn.json));
  };
  const auto add_maps = [&] {
    for (std::size_t i = 0; i < page.maps.size(); ++i) add(draw(page, page.maps[i], i, map_columns), maps);
  };
  out += events(page);
  for (std::size_t i = 0; i < page.charts.size(); ++i) {
    if (i == page.charts_before_map) add_maps();
    add(draw(page, page.charts[i], columns), charts);
  }
  if (page.charts.size() <= page.charts_before_map) add_maps();
  for (const Distribution& d : page.distributions) out += draw(d);
  for (const Comparison& c : page.comparisons) out += draw(c);
  for (const Curve& c : page.curves) out += draw(c);
  if (!page.tables.empty() || !page.texts.empty()) {
    out += "<section><h2>Figures and configuration</h2>\n";
    for (const Table& t : page.tables) out += table(t);
    for (const Text& t : page.texts) out += text(t);
    out += "</section>\n";
  }
  out += fmt::format("</main>\n<footer>{}</footer>\n<div id=\"tip\" role=\"status\" hidden></div>\n",
                     escaped(page.footer));
  if (columns.size() != 0)
    out += fmt::format(
        "<script type=\"application/json\" "
        "id=\"data\">{{\"plot\":[{},{}],\"start\":{:.0f},\"edges\":{},\"mapEdges\":{},\n"
        "\"charts\":{},\n\"maps\":{}}}</script>\n<script>{}</script>\n",
        kLeft, kPlotWidth, page.start_ns, edges_json(columns), edges_json(map_columns), joined_json(charts),
        joined_json(maps), kScript);
  return out + "</body></html>\n";
}

}  // namespace mrc::report::html
