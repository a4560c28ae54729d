// SPDX-License-Identifier: BSD-3-Clause
#include "sim/matrix.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "base/printable.h"

namespace mrc::sim {

namespace {

using Words = std::vector<std::string_view>;

constexpr std::string_view kBlanks = " \t\r\v\f";

void split(std::string_view line, Words& words) {
  words.clear();
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

// Times may be written with a fraction; whole picoseconds are what counts.
std::optional<std::uint64_t> number(std::string_view word) {
  const std::size_t dot = word.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view fraction = word.substr(dot + 1);
    if (fraction.empty() || fraction.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    word = word.substr(0, dot);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string quoted(std::string_view word) {
  return "'" + printable_excerpt(word) + "'";
}

/// One file being read: keeps the line for messages.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(printable(name)) {}

  Result<Matrix> read(std::string_view text) {
    if (text.size() > kMaxMatrixBytes)
      return Error{name_ + ": " + std::to_string(text.size()) + " bytes; the limit is " +
                   std::to_string(kMaxMatrixBytes)};
    Words words;
    while (!text.empty()) {
      ++line_;
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.size() > kMaxMatrixLineBytes)
        return fail("a line of " + std::to_string(line.size()) + " bytes; the limit is " +
                    std::to_string(kMaxMatrixLineBytes));
      split(line, words);
      if (words.empty() || words[0][0] == '#') continue;
      if (auto ok = statement(words); !ok) return ok.error();
    }
    return finish();
  }

 private:
  Error fail(const std::string& what) const {
    return Error{name_ + ":" + std::to_string(line_) + ": " + what};
  }

  Result<void> statement(const Words& w) {
    if (w[0] == "Nodes") return header(w, nodes_, 1);
    if (w[0] == "Connections") return header(w, connections_, 0);
    if (w[0] == "Triggers") return header(w, triggers_, 0);
    if (w[0] == "trigger") return trigger(w);
    if (w[0].find("->") != std::string_view::npos) return connection(w);
    return fail(quoted(w[0]) +
                " is no statement; known are Nodes, Connections, Triggers, trigger and SRC->DST");
  }

  Result<void> header(const Words& w, std::optional<std::uint64_t>& into, std::uint64_t least) {
    const std::string key(w[0]);
    const auto value = w.size() == 2 ? number(w[1]) : std::nullopt;
    if (!value || *value < least || *value > kMaxConnections)
      return fail(key + " wants one number from " + std::to_string(least) + " to " +
                  std::to_string(kMaxConnections));
    if (into) return fail(key + " stands here twice");
    into = value;
    return {};
  }

  // Takes `NAME VALUE` at position i.
  Result<std::uint64_t> argument(const Words& w, std::size_t& i, std::uint64_t limit) {
    const std::string key(w[i]);
    const auto value = ++i < w.size() ? number(w[i]) : std::nullopt;
    if (!value) return fail(key + " wants a number");
    if (*value > limit)
      return fail(key + " is " + std::to_string(*value) + "; the limit is " + std::to_string(limit));
    return *value;
  }

  Result<void> connection(const Words& w) {
    if (matrix_.connections.size() >= kMaxConnections)
      return fail("more than " + std::to_string(kMaxConnections) + " connections");
    const auto arrow = w[0].find("->");
    const auto src = number(w[0].substr(0, arrow));
    const auto dst = number(w[0].substr(arrow + 2));
    if (!src || !dst) return fail(quoted(w[0]) + " is not SRC->DST");
    if (!nodes_ || *src >= *nodes_ || *dst >= *nodes_)
      return fail(quoted(w[0]) + " names a node outside 0.." + (nodes_ ? std::to_string(*nodes_ - 1) : "?") +
                  "; Nodes comes first");
    if (*src == *dst) return fail(quoted(w[0]) + ": a node cannot send to itself");
    Connection c;
    c.src = static_cast<std::uint32_t>(*src);
    c.dst = static_cast<std::uint32_t>(*dst);
    constexpr std::uint64_t kIds = 0xFFFFFFFF;
    constexpr std::uint64_t kNumbers = ~std::uint64_t{0} >> 2;
    static constexpr std::string_view kKeys[] = {
        "id", "trigger", "send_done_trigger", "recv_done_trigger", "start", "size", "prio"};
    std::uint32_t* const ids[] = {&c.id, &c.trigger, &c.send_done_trigger, &c.recv_done_trigger};
    enum : std::size_t { kStart = 4, kSize = 5 };
    std::array<bool, std::size(kKeys)> given{};
    for (std::size_t i = 1; i < w.size(); ++i) {
      const auto key = static_cast<std::size_t>(std::find(std::begin(kKeys), std::end(kKeys), w[i]) - kKeys);
      if (key == std::size(kKeys))
        return fail(quoted(w[i]) +
                    " is no attribute; known are id, start, size, trigger, send_done_trigger, "
                    "recv_done_trigger, prio");
      if (std::exchange(given[key], true)) return fail(std::string(w[i]) + " stands here twice");
      const bool is_id = key < std::size(ids);
      const auto value = argument(w, i, is_id ? kIds : kNumbers);
      if (!value) return value.error();
      if (is_id) *ids[key] = static_cast<std::uint32_t>(*value);
      if (key == kStart)
        c.start = nanoseconds(static_cast<std::int64_t>(*value / 1000));  // picoseconds in the file
      if (key == kSize) c.size_bytes = *value;
    }
    if (!given[kSize]) return fail("the connection has no size");
    if (given[kStart] == (c.trigger != kNoTrigger))
      return fail("a connection has either a start or a trigger");
    matrix_.connections.push_back(c);
    return {};
  }

  Result<void> trigger(const Words& w) {
    static constexpr std::pair<std::string_view, TriggerType> kTypes[] = {
        {"oneshot", TriggerType::kOneshot},
        {"multishot", TriggerType::kMultishot},
        {"barrier", TriggerType::kBarrier}};
    if (matrix_.triggers.size() >= kMaxConnections)
      return fail("more than " + std::to_string(kMaxConnections) + " triggers");
    Trigger t;
    bool typed = false;
    bool has_id = false;
    bool has_count = false;
    for (std::size_t i = 1; i < w.size(); ++i) {
      const auto* const type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                            [&](const auto& known) { return known.first == w[i]; });
      const bool is_id = w[i] == "id";
      if (type == std::end(kTypes) && !is_id && w[i] != "count")
        return fail(quoted(w[i]) + " is no attribute; known are id, count, oneshot, multishot, barrier");
      bool& given = type != std::end(kTypes) ? typed : is_id ? has_id : has_count;
      if (std::exchange(given, true)) return fail(std::string(w[i]) + " stands here twice, or with another");
      if (type != std::end(kTypes)) {
        t.type = type->second;
        continue;
      }
      const auto value = argument(w, i, 0xFFFFFFFF);
      if (!value) return value.error();
      (is_id ? t.id : t.count) = static_cast<std::uint32_t>(*value);
    }
    if (t.id == 0 || !typed)
      return fail("a trigger wants an id above 0 and one of oneshot, multishot, barrier");
    if (!ids_.insert(t.id).second) return fail("trigger " + std::to_string(t.id) + " stands here twice");
    matrix_.triggers.push_back(t);
    return {};
  }

  Result<Matrix> finish() {
    if (!nodes_) return Error{name_ + ": no line `Nodes N`"};
    const auto count_matches = [&](const char* what, std::size_t have, std::optional<std::uint64_t> said) {
      return !said || *said == have ? Result<void>{}
                                    : Result<void>{Error{name_ + ": says " + std::to_string(*said) + " " +
                                                         what + " but has " + std::to_string(have)}};
    };
    if (auto ok = count_matches("Connections", matrix_.connections.size(), connections_); !ok)
      return ok.error();
    if (auto ok = count_matches("Triggers", matrix_.triggers.size(), triggers_); !ok) return ok.error();
    for (const Connection& c : matrix_.connections)
      for (const std::uint32_t id : {c.trigger, c.send_done_trigger, c.recv_done_trigger})
        if (id != kNoTrigger && !ids_.contains(id))
          return Error{name_ + ": connection " + std::to_string(c.src) + "->" + std::to_string(c.dst) +
                       " names trigger " + std::to_string(id) + ", which is not defined"};
    matrix_.nodes = static_cast<std::uint32_t>(*nodes_);
    return std::move(matrix_);
  }

  std::string name_;
  std::size_t line_ = 0;
  Matrix matrix_;
  std::set<std::uint32_t> ids_;
  std::optional<std::uint64_t> nodes_;
  std::optional<std::uint64_t> connections_;
  std::optional<std::uint64_t> triggers_;
};

void add(Matrix& m, std::uint32_t src, std::uint32_t dst, std::uint64_t bytes) {
  Connection c;
  c.src = src;
  c.dst = dst;
  c.id = static_cast<std::uint32_t>(m.connections.size() + 1);
  c.size_bytes = bytes;
  m.connections.push_back(c);
}

}  // namespace

std::uint64_t Matrix::total_bytes() const {
  return std::accumulate(connections.begin(), connections.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Connection& c) { return sum + c.size_bytes; });
}

Result<Matrix> parse_matrix(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

void write_matrix(std::ostream& out, const Matrix& m) {
  out << "Nodes " << m.nodes << "\nConnections " << m.connections.size() << "\n";
  if (!m.triggers.empty()) out << "Triggers " << m.triggers.size() << "\n";
  for (const Connection& c : m.connections) {
    out << c.src << "->" << c.dst;
    if (c.id != 0) out << " id " << c.id;
    if (c.trigger != kNoTrigger)
      out << " trigger " << c.trigger;
    else
      out << " start " << c.start.ns * 1000;
    out << " size " << c.size_bytes;
    if (c.send_done_trigger != kNoTrigger) out << " send_done_trigger " << c.send_done_trigger;
    if (c.recv_done_trigger != kNoTrigger) out << " recv_done_trigger " << c.recv_done_trigger;
    out << "\n";
  }
  for (const Trigger& t : m.triggers) {
    out << "trigger id " << t.id;
    if (t.type == TriggerType::kBarrier) out << " barrier count " << t.count << "\n";
    if (t.type == TriggerType::kOneshot) out << " oneshot\n";
    if (t.type == TriggerType::kMultishot) out << " multishot\n";
  }
}

Matrix make_point_to_point(std::uint32_t nodes, std::uint32_t src, std::uint32_t dst, std::uint64_t bytes) {
  Matrix m;
  m.nodes = nodes;
  add(m, src, dst, bytes);
  return m;
}

Matrix make_permutation(std::uint32_t nodes, std::uint64_t bytes, Rng& rng) {
  Matrix m;
  m.nodes = nodes;
  std::vector<std::uint32_t> to(nodes);
  std::iota(to.begin(), to.end(), 0U);
  // Sattolo's shuffle gives one cycle: nobody keeps its own number.
  for (std::uint32_t i = nodes; i-- > 1;) std::swap(to[i], to[rng.below(i)]);
  for (std::uint32_t n = 0; n < nodes; ++n) add(m, n, to[n], bytes);
  return m;
}

Matrix make_incast(std::uint32_t nodes, std::uint32_t receiver, std::uint32_t senders, std::uint64_t bytes) {
  Matrix m;
  m.nodes = nodes;
  for (std::uint32_t n = 0; n < nodes && m.connections.size() < senders; ++n)
    if (n != receiver) add(m, n, receiver, bytes);
  return m;
}

Matrix make_ring_all_reduce(std::uint32_t nodes, std::uint64_t bytes) {
  Matrix m;
  m.nodes = nodes;
  const std::uint64_t chunk = (bytes + nodes - 1) / nodes;
  const std::uint32_t steps = 2 * (nodes - 1);
  // Trigger s x nodes + n + 1: node n has received its chunk of step s.
  for (std::uint32_t s = 0; s < steps; ++s) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const std::uint32_t to = (n + 1) % nodes;
      add(m, n, to, chunk);
      Connection& c = m.connections.back();
      if (s > 0) c.trigger = (s - 1) * nodes + n + 1;
      if (s + 1 < steps) c.recv_done_trigger = s * nodes + to + 1;
    }
  }
  for (std::uint32_t id = 1; id <= (steps - 1) * nodes; ++id)
    m.triggers.push_back({id, TriggerType::kOneshot, 1});
  return m;
}

Matrix make_all_to_all(std::uint32_t nodes, std::uint64_t bytes) {
  Matrix m;
  m.nodes = nodes;
  for (std::uint32_t round = 1; round < nodes; ++round)
    for (std::uint32_t n = 0; n < nodes; ++n) add(m, n, (n + round) % nodes, bytes);
  return m;
}

Matrix make_mix(std::uint32_t nodes, std::uint32_t count, double elephants, std::uint64_t elephant_bytes,
                std::uint64_t mouse_bytes, Duration span, Rng& rng) {
  Matrix m;
  m.nodes = nodes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto src = static_cast<std::uint32_t>(rng.below(nodes));
    const auto dst = static_cast<std::uint32_t>((src + 1 + rng.below(nodes - 1)) % nodes);
    add(m, src, dst, rng.chance(elephants) ? elephant_bytes : mouse_bytes);
    m.connections.back().start =
        nanoseconds(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(span.ns))));
  }
  return m;
}

}  // namespace mrc::sim
