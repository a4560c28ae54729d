// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/ev_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

namespace mrc::report::html {
namespace {

constexpr double kTop = 34;
constexpr double kTargetHeight = 420;

// Levels of a cell: what it is painted with, and what the script is told, one character each.
constexpr std::size_t kShades =
    5;  ///< GOOD: nothing sent, then four quarters of what the busiest cells carry
constexpr std::size_t kLevels = kShades + 4;
constexpr std::string_view kLetters = "01234sbpd";
static_assert(kLetters.size() == kLevels);

/// Levels by row and column. A GOOD cell is shaded by what its EV carried in the block of columns around it:
/// blocks are so long that an EV carries a few packets in one, or the map would be dust.
struct Cells {
  std::size_t rows = 0, columns = 0;
  std::size_t block = 1;   ///< columns
  std::uint64_t busy = 1;  ///< packets a block from which on a cell is darkest
  std::vector<std::uint8_t> levels;

  [[nodiscard]] std::size_t level(std::size_t row, std::size_t column) const {
    return levels[row * columns + column];
  }
};

constexpr double kPktsABlock = 4;
constexpr std::size_t kFewestBlocks = 24;

/// Sums by row and column, and the worst state in each.
struct Sums {
  std::vector<std::uint8_t> states;
  std::vector<std::uint64_t> pkts;
};

Sums sums_of(const EvMap& map, const Columns& columns, std::size_t rows) {
  Sums out{std::vector<std::uint8_t>(rows * columns.size()),
           std::vector<std::uint64_t>(rows * columns.size())};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const std::size_t cell = r * columns.size() + k;
      for (std::size_t s = columns.first(k); s < columns.first(k + 1); ++s) {
        const std::size_t at = r * columns.samples() + s;
        if (at < map.states.size()) out.states[cell] = std::max(out.states[cell], map.states[at]);
        if (at < map.pkts.size()) out.pkts[cell] += map.pkts[at];
      }
    }
  }
  return out;
}

/// Packets a full block, by row and block: what was carried while GOOD, for as long as it was. No value where
/// it never was.
std::vector<double> block_loads(const Sums& sums, const Cells& c, std::size_t blocks) {
  std::vector<double> out(c.rows * blocks, -1);
  for (std::size_t r = 0; r < c.rows; ++r) {
    for (std::size_t b = 0; b < blocks; ++b) {
      double pkts = 0;
      std::size_t good = 0;
      for (std::size_t k = b * c.block; k < std::min((b + 1) * c.block, c.columns); ++k) {
        if (sums.states[r * c.columns + k] != 0) continue;
        pkts += static_cast<double>(sums.pkts[r * c.columns + k]);
        ++good;
      }
      if (good != 0) out[r * blocks + b] = pkts * static_cast<double>(c.block) / static_cast<double>(good);
    }
  }
  return out;
}

Cells cells_of(const EvMap& map, const Columns& columns) {
  Cells c;
  c.rows = std::min(map.rows.size(), kMaxMapRows);
  c.columns = columns.size();
  const Sums sums = sums_of(map, columns, c.rows);
  const auto total =
      static_cast<double>(std::accumulate(sums.pkts.begin(), sums.pkts.end(), std::uint64_t{0}));
  if (total > 0) {
    const double wanted = kPktsABlock * static_cast<double>(c.rows * c.columns) / total;
    const std::size_t longest = std::max<std::size_t>(c.columns / kFewestBlocks, 1);
    c.block = static_cast<std::size_t>(std::clamp(std::ceil(wanted), 1.0, static_cast<double>(longest)));
  }
  const std::size_t blocks = (c.columns + c.block - 1) / c.block;
  const std::vector<double> loads = block_loads(sums, c, blocks);
  std::vector<double> carried;
  std::copy_if(loads.begin(), loads.end(), std::back_inserter(carried), [](double v) { return v > 0; });
  if (!carried.empty()) {  // the 95th percentile, so that one burst does not pale all the rest
    const auto nth = carried.begin() + static_cast<std::ptrdiff_t>((carried.size() - 1) * 95 / 100);
    std::nth_element(carried.begin(), nth, carried.end());
    c.busy = std::max<std::uint64_t>(static_cast<std::uint64_t>(std::llround(*nth)), 1);
  }
  c.levels.resize(c.rows * c.columns);
  for (std::size_t r = 0; r < c.rows; ++r) {
    for (std::size_t k = 0; k < c.columns; ++k) {
      const std::uint8_t state = sums.states[r * c.columns + k];
      const double load = loads[r * blocks + k / c.block] / static_cast<double>(c.busy);
      const double shade = load <= 0 ? 0 : 1 + std::floor(load * (kShades - 1) * 0.999);
      c.levels[r * c.columns + k] =
          state != 0
              ? static_cast<std::uint8_t>(kShades - 1 + std::min<std::size_t>(state, kLevels - kShades))
              : static_cast<std::uint8_t>(std::min<double>(shade, kShades - 1));
    }
  }
  return c;
}

/// The place of a column's left edge, in kMapUnits over the plot: short numbers.
constexpr double kMapUnits = 2000;
long long edge(const Columns& columns, std::size_t column) {
  return std::llround((columns.x(columns.column_begin_ns(column)) - kLeft) / kPlotWidth * kMapUnits);
}

/// One path a level: a horizontal stroke, a row high, for each run of equal cells. Few elements, small text.
std::string paint(const Cells& cells, const Columns& columns, double top, double row_height) {
  std::array<std::string, kLevels> paths;
  for (std::size_t r = 0; r < cells.rows; ++r) {
    for (std::size_t k = 0; k < cells.columns;) {
      const std::size_t level = cells.level(r, k);
      std::size_t end = k + 1;
      while (end < cells.columns && cells.level(r, end) == level) ++end;
      paths[level] += fmt::format("M{} {}h{}", edge(columns, k), r, edge(columns, end) - edge(columns, k));
      k = end;
    }
  }
  std::string out =
      fmt::format("<g class=\"cells\" transform=\"translate({} {}) scale({} {}) translate(0 .5)\">\n",
                  coordinate(kLeft), coordinate(top), kPlotWidth / kMapUnits, row_height);
  for (std::size_t level = 0; level < kLevels; ++level)
    if (!paths[level].empty())
      out += fmt::format("<path class=\"cell l{}\" d=\"{}\"/>\n", kLetters[level], paths[level]);
  return out + "</g>\n";
}

/// Names of the planes beside their rows, and lines between them.
std::string planes(const EvMap& map, std::size_t rows, double top, double row_height) {
  std::string out = "<g class=\"axis\">";
  for (std::size_t r = 0; r < rows;) {
    std::size_t end = r + 1;
    while (end < rows && map.rows[end].plane == map.rows[r].plane) ++end;
    const double from = top + static_cast<double>(r) * row_height;
    const double to = top + static_cast<double>(end) * row_height;
    if (to - from >= 11) {
      out += fmt::format(
          "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\".35em\">plane {}</text>",
          coordinate(kLeft - 8), coordinate((from + to) / 2), map.rows[r].plane);
      out += fmt::format("<text class=\"value\" x=\"{}\" y=\"{}\" dy=\".35em\">{} EV{}</text>",
                         coordinate(kLeft + kPlotWidth + 8), coordinate((from + to) / 2), end - r,
                         end - r == 1 ? "" : "s");
    }
    if (r != 0)
      out += fmt::format("<path class=\"between\" d=\"M{} {}H{}\"/>", coordinate(kLeft - 6), coordinate(from),
                         coordinate(kLeft + kPlotWidth + 6));
    r = end;
  }
  return out + "</g>\n";
}

std::string legend(const Cells& cells, const Columns& columns) {
  std::array<std::uint64_t, kLevels> seen{};
  for (std::size_t r = 0; r < cells.rows; ++r)
    for (std::size_t k = 0; k < cells.columns; ++k) ++seen[cells.level(r, k)];
  std::string out = "<p class=\"key\"><span><svg viewBox=\"0 0 60 12\" aria-hidden=\"true\">";
  for (std::size_t i = 0; i < kShades; ++i)
    out += fmt::format("<path class=\"cell l{}\" d=\"M{} 6h12\" stroke-width=\"12\"/>", kLetters[i], i * 12);
  const double block_ns = (columns.end_ns() - columns.begin_ns()) * static_cast<double>(cells.block) /
                          static_cast<double>(std::max<std::size_t>(cells.columns, 1));
  out += fmt::format("</svg> GOOD: from nothing to {} packets and more in {}</span>", cells.busy,
                     quantity(block_ns, Unit::kNanoseconds));
  constexpr std::array<const char*, 4> kNames{
      "SKIP: rests for one turn", "ASSUMED_BAD: probed, carries no data",
      "its plane is out of service: no link, or silent (D9)", "DENIED: taken out"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    out += fmt::format(
        "<span><svg viewBox=\"0 0 16 12\" aria-hidden=\"true\"><path class=\"cell l{}\" d=\"M0 6h16\" "
        "stroke-width=\"12\"/></svg> {} ({} cells)</span>",
        kLetters[kShades + i], kNames[i], seen[kShades + i]);
  return out + "</p>\n";
}

std::string json_of(const EvMap& map, const Cells& cells, const std::string& id, double top,
                    double row_height) {
  std::string out = fmt::format("{{\"id\":{},\"top\":{},\"row\":{},\"labels\":[", json_string(id),
                                coordinate(top), row_height);
  for (std::size_t r = 0; r < cells.rows; ++r) out += (r == 0 ? "" : ",") + json_string(map.rows[r].label);
  out += "],\"cells\":[";
  for (std::size_t r = 0; r < cells.rows; ++r) {
    out += r == 0 ? "\"" : ",\"";
    for (std::size_t k = 0; k < cells.columns; ++k) out += kLetters[cells.level(r, k)];
    out += "\"";
  }
  return out + "]}";
}

}  // namespace

DrawnChart draw(const Page& page, const EvMap& map, std::size_t number, const Columns& columns) {
  DrawnChart drawn;
  drawn.html =
      fmt::format("<section><h2>{}</h2><p class=\"about\">{}</p>\n", escaped(map.title), escaped(map.about));
  const Cells cells = cells_of(map, columns);
  if (cells.rows == 0 || cells.columns == 0) {
    drawn.html += fmt::format("<p class=\"absent\">{}</p></section>\n",
                              map.absent.empty() ? "No EVs were sampled." : escaped(map.absent));
    return drawn;
  }
  const double row_height =
      std::clamp(std::floor(kTargetHeight / static_cast<double>(cells.rows)), 1.0, 12.0);
  const double bottom = kTop + row_height * static_cast<double>(cells.rows);
  const std::string id = fmt::format("ev-map-{}", number);
  drawn.html += open_svg(bottom + kAxisHeight, "map", id, map.title, map.about);
  drawn.html += time_axis(columns, kTop, bottom) + paint(cells, columns, kTop, row_height);
  drawn.html +=
      planes(map, cells.rows, kTop, row_height) + marker_lines(page, columns, kTop, bottom) + "</svg>\n";
  drawn.html += legend(cells, columns);
  if (map.rows.size() > cells.rows)
    drawn.html += fmt::format("<p class=\"about\">The first {} of {} EVs.</p>", cells.rows, map.rows.size());
  drawn.html += "</section>\n";
  drawn.json = json_of(map, cells, id, kTop, row_height);
  return drawn;
}

}  // namespace mrc::report::html
