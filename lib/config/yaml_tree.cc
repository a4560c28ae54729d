// SPDX-License-Identifier: BSD-3-Clause
#include "config/yaml_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <istream>
#include <memory>
#include <streambuf>
#include <unordered_map>

#include "base/printable.h"
#include "config/yaml_bounds.h"

namespace mrc::config {
namespace {

/// Thrown out of yaml-cpp's callbacks only; never leaves this file.
struct Refusal {
  std::uint32_t line;
  std::string what;
};

std::uint32_t line_of(const YAML::Mark& mark) {
  return static_cast<std::uint32_t>(std::max(0, mark.line)) + 1;
}

/// Builds the tree from events. yaml-cpp's own Node keeps duplicate keys silently and resolves aliases, which
/// is how eight lines become a gigabyte; events let both be refused before memory is taken.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlNode& root) : root_(root) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(mark, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{line_of(mark), "aliases (*name) are not supported; write the value out"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) {
      throw Refusal{line_of(mark), fmt::format("tag {:.40} is not supported; remove it", tag)};
    }
    if (value.size() > kMaxScalarBytes) {
      throw Refusal{line_of(mark), fmt::format("a value of {} bytes is longer than the limit of {} bytes",
                                               value.size(), kMaxScalarBytes)};
    }
    if (wants_key()) {
      take_key(mark, value);
      return;
    }
    YamlNode& node = add(mark, YamlNode::Kind::kScalar);
    node.scalar = value;
    node.quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open(mark, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open(mark, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode* node;
    bool key_pending = false;  // a map whose key was read and whose value is next
    std::unordered_map<std::string, std::uint32_t> seen;
  };

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refusal{line_of(mark), "anchors (&name) are not supported; remove it"};
  }
  [[nodiscard]] bool wants_key() const {
    return !stack_.empty() && stack_.back().node->kind == YamlNode::Kind::kMap && !stack_.back().key_pending;
  }
  void take_key(const YAML::Mark& mark, const std::string& key) {
    Frame& frame = stack_.back();
    const auto [it, fresh] = frame.seen.try_emplace(key, line_of(mark));
    if (!fresh) {
      throw Refusal{
          line_of(mark),
          fmt::format("{:.80}: this key was given already in line {}; keep one of them", key, it->second)};
    }
    count(mark);
    frame.node->entries.push_back({key, line_of(mark), {}});
    frame.key_pending = true;
  }
  void count(const YAML::Mark& mark) {
    if (++nodes_ > kMaxNodes) {
      throw Refusal{line_of(mark), fmt::format("more than {} values in one file", kMaxNodes)};
    }
  }
  YamlNode& add(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (wants_key()) throw Refusal{line_of(mark), "a key must be plain text"};
    count(mark);
    YamlNode* node = &root_;
    std::uint32_t line = line_of(mark);
    if (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.node->kind == YamlNode::Kind::kMap) {
        YamlNode::Entry& entry = frame.node->entries.back();
        node = &entry.value;
        if (kind == YamlNode::Kind::kNull) line = entry.line;  // yaml-cpp names the line after
        frame.key_pending = false;
      } else {
        node = &frame.node->items.emplace_back();
      }
    }
    node->kind = kind;
    node->line = line;
    node->column = static_cast<std::uint32_t>(std::max(0, mark.column)) + 1;
    return *node;
  }
  void open(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (stack_.size() >= kMaxDepth) {
      throw Refusal{line_of(mark), fmt::format("nested deeper than {} levels", kMaxDepth)};
    }
    stack_.push_back({&add(mark, kind), false, {}});
  }
  void close() { stack_.pop_back(); }

  YamlNode& root_;
  std::vector<Frame> stack_;  // pointers stay valid: a parent gets no new child while its child is open
  std::size_t nodes_ = 0;
};

/// A stream over memory without a copy.
struct MemoryBuffer : std::streambuf {
  explicit MemoryBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // NOLINT: the get area is never written
    setg(begin, begin, begin + text.size());
  }
};

Error at(const std::string& name, std::uint32_t line, const std::string& what) {
  return Error{printable(fmt::format("{}:{}: {}", name, line, what))};
}

}  // namespace

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return fmt::format("{}'{:.60}'", node.quoted ? "the quoted text " : "", node.scalar);
}

std::uint32_t find_line(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  std::uint32_t line = 0;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string_view part = path.substr(0, end);
    const YamlNode* next = nullptr;
    if (node->kind == YamlNode::Kind::kMap) {
      for (const YamlNode::Entry& entry : node->entries) {
        if (entry.key == part) {
          next = &entry.value;
          line = entry.line;
        }
      }
    } else if (node->kind == YamlNode::Kind::kSequence && part.ends_with(']')) {
      std::size_t i = 0;
      std::from_chars(part.data(), part.data() + part.size(), i);
      if (i < node->items.size()) {
        next = &node->items[i];
        line = next->line;
      }
    }
    if (next == nullptr) break;
    node = next;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return line;
}

namespace {

void mark_lines(YamlNode& node) {
  node.line = kCommandLine;
  for (YamlNode& item : node.items) mark_lines(item);
  for (YamlNode::Entry& entry : node.entries) {
    entry.line = kCommandLine;
    mark_lines(entry.value);
  }
}

YamlNode& child(YamlNode& map, std::string_view key) {
  for (YamlNode::Entry& entry : map.entries) {
    if (entry.key == key) return entry.value;
  }
  map.entries.push_back({std::string(key), kCommandLine, {}});
  map.entries.back().value.line = kCommandLine;
  return map.entries.back().value;
}

/// The number of "12]", whole.
bool index_of(std::string_view part, std::size_t& out) {
  const char* const bracket = part.data() + part.size() - 1;
  const auto [end, error] = std::from_chars(part.data(), bracket, out);
  return error == std::errc{} && end == bracket;
}

/// An empty node becomes what the path needs; anything else must be it already.
bool become(YamlNode& node, YamlNode::Kind kind) {
  if (node.kind == YamlNode::Kind::kNull) node.kind = kind;
  return node.kind == kind;
}

}  // namespace

Result<void> set_in_tree(YamlNode& root, std::string_view path, std::string_view value) {
  const Error bad{fmt::format("command line: {}: not a key; keys look like qp.mtu or planes[0].ip",
                              printable_excerpt(path))};
  Result<YamlNode> parsed = parse_yaml("v: " + std::string(value), "command line");
  if (!parsed || parsed->entries.size() != 1) {
    return Error{fmt::format("command line: {}: '{}' is not a YAML value", printable_excerpt(path),
                             printable_excerpt(value))};
  }
  if (std::count_if(path.begin(), path.end(), [](char c) { return c == '.' || c == '['; }) >=
      static_cast<std::ptrdiff_t>(kMaxDepth))
    return bad;
  YamlNode* node = &root;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (part.ends_with(']')) {
      std::size_t i = node->items.size();
      if (part != "+]" && !index_of(part, i)) return bad;
      if (i > node->items.size() || !become(*node, YamlNode::Kind::kSequence)) return bad;
      if (i == node->items.size()) node->items.emplace_back().line = kCommandLine;
      node = &node->items[i];
    } else {
      if (part.empty() || !become(*node, YamlNode::Kind::kMap)) return bad;
      node = &child(*node, part);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  mark_lines(parsed->entries[0].value);
  *node = std::move(parsed->entries[0].value);
  return {};
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxFileBytes) {
    return Error{
        fmt::format("{}: {} bytes; a configuration has at most {} bytes", name, text.size(), kMaxFileBytes)};
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return at(name,
              static_cast<std::uint32_t>(
                  1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n')),
              "a zero byte; this is not a text file");
  }
  if (const auto harm = find_harm(text)) return at(name, harm->line, harm->what);

  YamlNode root;
  root.kind = YamlNode::Kind::kMap;
  MemoryBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    Builder builder(root);
    if (parser.HandleNextDocument(builder)) {
      YamlNode second;
      Builder ignored(second);
      if (parser.HandleNextDocument(ignored))
        return at(name, second.line, "a second document; one is allowed");
    }
  } catch (const Refusal& r) {
    return at(name, r.line, r.what);
  } catch (const YAML::Exception& e) {
    return at(name, line_of(e.mark), fmt::format("not YAML: {}", e.msg));
  } catch (const std::exception& e) {
    return Error{printable(fmt::format("{}: not YAML: {}", name, e.what()))};
  }
  if (root.kind == YamlNode::Kind::kNull) root.kind = YamlNode::Kind::kMap;
  if (root.kind != YamlNode::Kind::kMap) {
    return at(name, root.line, fmt::format("expected 'key: value' lines, found {}", describe(root)));
  }
  return root;
}

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  // A pipe is opened whether or not somebody writes to it; only reading waits, for a writer that is there.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NOLINT(*-vararg)
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fd < 0 ? nullptr : ::fdopen(fd, "rb"),
                                                             &std::fclose);
  if (file == nullptr)
    return Error{fmt::format("{}: cannot be opened: {}", printable(path), std::strerror(errno))};
  ::fcntl(fd, F_SETFL, O_RDONLY);  // NOLINT(*-vararg)
  std::string text;
  std::array<char, 65536> block;
  for (std::size_t n = block.size(); n == block.size() && text.size() <= max_bytes;) {
    n = std::fread(block.data(), 1, block.size(), file.get());
    text.append(block.data(), n);
  }
  if (std::ferror(file.get()) != 0)
    return Error{fmt::format("{}: cannot be read: {}", printable(path), std::strerror(errno))};
  if (text.size() > max_bytes)
    return Error{fmt::format("{}: larger than the limit of {} bytes", printable(path), max_bytes)};
  struct stat what {};
  if (text.empty() && ::fstat(fd, &what) == 0 && S_ISFIFO(what.st_mode))
    return Error{fmt::format("{}: a pipe that nobody writes to", printable(path))};
  return text;
}

}  // namespace mrc::config
