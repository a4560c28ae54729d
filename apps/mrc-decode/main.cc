// SPDX-License-Identifier: BSD-3-Clause
// mrc-decode: shows MRC packets from captures or hex, for people or as JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/program_name.h"
#include "report/capture_reader.h"
#include "report/packet_fields.h"
#include "report/say.h"
#include "wire/headers.h"

namespace {

using mrc::Error;
using mrc::printable;
using mrc::Result;
using mrc::report::CapturedPacket;
using mrc::report::CaptureInterface;
using mrc::report::CaptureReader;
using mrc::report::DecodedPacket;
using mrc::report::PacketStart;
using mrc::report::Verdict;
using Json = nlohmann::ordered_json;

enum ExitCode : int { kAllFine = 0, kSomePacketBad = 1, kUsageOrFile = 2 };

/// {0}: what was typed to get here.
constexpr const char* kFirstCommand =
    "mrc-decode: nothing to decode. A first command that works (a Transport ACK from its IP header on):\n\n"
    "  {0} --ip-hex "
    "45b8003000004000401126030a0000020a000001c0de12b7001c0000d100ffff000000a1000004561f000008a2561d2d\n\n"
    "or a capture:  {0} FILE.pcapng [--json]     All options:  {0} --help\n";

struct Options {
  std::vector<std::string> files;
  std::string ip_hex;
  std::string ib_hex;
  bool json = false;
  bool explain_icrc = false;
  std::string ev_order = "B";
  std::vector<std::uint16_t> ports = {mrc::wire::kUdpPortRoce, mrc::wire::kUdpPortPrinted};  // C1
  std::vector<unsigned> dscp;
  bool no_ip_checksum = false;
};

struct Totals {
  std::uint64_t packets = 0;
  std::uint64_t mrc = 0;
  std::uint64_t bad = 0;
};

Result<mrc::wire::DecodeOptions> decode_options(const Options& o) {
  mrc::wire::DecodeOptions out;
  out.check_pkey = false;  // an onlooker is in every partition
  out.verify_ip_checksum = !o.no_ip_checksum;
  out.order = o.ev_order == "A" ? mrc::wire::EntropyOrder::kA : mrc::wire::EntropyOrder::kB;
  out.udp_ports = {o.ports.front(), o.ports.back()};
  if (!o.dscp.empty()) {
    mrc::wire::DscpMap::Numbers numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(o.dscp[i]);
    if (!mrc::wire::DscpMap::is_valid(numbers)) {
      return Error{
          fmt::format("--dscp {}: the two trimmed numbers must differ from each other and from all others",
                      fmt::join(o.dscp, ","))};
    }
    out.dscp = mrc::wire::DscpMap(numbers);
  }
  return out;
}

/// Hex digits; blanks and colons between bytes are ignored.
Result<std::vector<std::uint8_t>> parse_hex(const char* option, const std::string& text) {
  std::vector<std::uint8_t> out;
  int high = -1;
  for (std::size_t i = text.starts_with("0x") ? 2 : 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isspace(c) != 0 || c == ':') continue;
    if (std::isxdigit(c) == 0) {
      return Error{fmt::format("{}: character {} ('{}') is no hex digit", option, i + 1,
                               printable(std::string_view(&text[i], 1)))};
    }
    const int digit = std::isdigit(c) != 0 ? c - '0' : std::tolower(c) - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      out.push_back(static_cast<std::uint8_t>(high * 16 + digit));
      high = -1;
    }
  }
  if (high >= 0) return Error{fmt::format("{}: odd number of hex digits, half a byte is missing", option)};
  if (out.empty()) return Error{fmt::format("{}: no bytes", option)};
  return out;
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const std::uint8_t b : bytes) fmt::format_to(std::back_inserter(out), "{:02x}", b);
  return out;
}

/// "  icrc runs over N bytes:", sixteen a line.
std::string explain_icrc_text(const DecodedPacket& packet) {
  const auto input = icrc_input(packet);
  if (input.empty()) return "  icrc     there is none in this packet";
  std::string out = fmt::format("  icrc     runs over these {} bytes, masked fields are ff:", input.size());
  for (std::size_t i = 0; i < input.size(); i += 16) {
    const std::size_t n = std::min<std::size_t>(16, input.size() - i);
    out += fmt::format("\n           {:04x}  {:02x}", i, fmt::join(std::span(input).subspan(i, n), " "));
  }
  return out;
}

class Printer {
 public:
  explicit Printer(const Options& options) : options_(options) {}

  /// `where` has the capture's words on the packet; `title` the same for people.
  void print(const DecodedPacket& packet, Json where, const std::string& title, bool in_capture) {
    ++totals_.packets;
    const bool foreign = packet.verdict == Verdict::kNotMrc;
    if (!foreign && packet.verdict != Verdict::kIncomplete) ++totals_.mrc;
    // A capture has ARP and other traffic in it; bytes given by hand must be MRC.
    if (packet.verdict == Verdict::kMalformed || packet.verdict == Verdict::kBadIcrc ||
        (foreign && !in_capture)) {
      ++totals_.bad;
    }
    if (options_.json) {
      where.update(to_json(packet));
      if (foreign && in_capture) where["not_mrc"] = true;
      if (options_.explain_icrc && packet.icrc) where["icrc"]["masked"] = hex_of(icrc_input(packet));
      mrc::report::say(stdout, "{}\n", where.dump(-1, ' ', true, Json::error_handler_t::replace));
      return;
    }
    if (packet.verdict == Verdict::kFine || packet.verdict == Verdict::kBadIcrc) {
      mrc::report::say(stdout, "{}\n{}\n", title, to_text(packet));
      if (options_.explain_icrc) mrc::report::say(stdout, "{}\n", explain_icrc_text(packet));
      if (packet.verdict == Verdict::kFine) return;
    }
    const char* kind = foreign && in_capture                    ? "not MRC"
                       : packet.verdict == Verdict::kIncomplete ? "incomplete"
                                                                : "malformed";
    mrc::report::say(stdout, "{}: {} at byte {}: {}\n", title, kind, packet.error_byte, packet.error);
  }

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  const Options& options_;
  Totals totals_;
};

/// How packets of a link type start.
struct LinkStart {
  PacketStart start;
  std::size_t skip_bytes;
  int ethertype_at;  ///< of a Linux cooked header; -1: none
};
std::optional<LinkStart> link_start(std::uint16_t link_type) {
  using namespace mrc::report;
  switch (link_type) {
    case kLinkEthernet:
      return LinkStart{PacketStart::kEthernet, 0, -1};
    case kLinkRaw:
    case kLinkIpv4:
    case kLinkIpv6:
      return LinkStart{PacketStart::kIp, 0, -1};
    case kLinkLinuxSll:
      return LinkStart{PacketStart::kIp, 16, 14};
    case kLinkLinuxSll2:
      return LinkStart{PacketStart::kIp, 20, 0};
    default:
      return std::nullopt;
  }
}

/// Cooked headers name the protocol behind them; what is no IP packet is no business of ours.
bool is_foreign(const LinkStart& link, std::span<const std::uint8_t> bytes) {
  if (link.ethertype_at < 0 || bytes.size() < link.skip_bytes) return false;
  const std::uint16_t type = mrc::wire::load_be16(bytes.data() + link.ethertype_at);
  return type != mrc::wire::kEthertypeIpv4 && type != mrc::wire::kEthertypeIpv6;
}

std::string time_text(std::uint64_t ns) {
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

Result<void> decode_capture_packet(const CapturedPacket& packet, const CaptureInterface& interface,
                                   const std::string& file, const mrc::wire::DecodeOptions& options,
                                   Printer& printer) {
  static constexpr const char* kDirection[] = {"", "in", "out"};
  const auto start = link_start(interface.link_type);
  if (!start) {
    return Error{fmt::format(
        "{}: byte {}: link type {} of packet {} is not understood; Ethernet (1), raw IP (101, 228, "
        "229) and Linux cooked (113, 276) are",
        printable(file), packet.file_offset, interface.link_type, packet.number)};
  }
  const std::size_t skip = std::min(start->skip_bytes, packet.bytes.size());
  auto decoded = mrc::report::decode_any(packet.bytes.subspan(skip),
                                         packet.original_bytes - static_cast<std::uint32_t>(skip),
                                         start->start, options);
  if (is_foreign(*start, packet.bytes)) decoded.verdict = Verdict::kNotMrc;
  Json where{
      {"packet", packet.number}, {"time", time_text(packet.time_ns)}, {"interface", packet.interface_id}};
  std::string title = fmt::format("packet {}  {}", packet.number, time_text(packet.time_ns));
  if (!interface.name.empty()) {
    where["interface_name"] = interface.name;
    title += "  " + printable(interface.name);
  }
  if (packet.direction != mrc::report::Direction::kUnknown) {
    where["direction"] = kDirection[static_cast<int>(packet.direction)];
    title += fmt::format("  {}", kDirection[static_cast<int>(packet.direction)]);
  }
  where["length"] = packet.original_bytes;
  title += fmt::format("  {} bytes", packet.original_bytes);
  if (!packet.comment.empty()) {
    where["comment"] = packet.comment;
    title += fmt::format("  [{}]", printable(packet.comment));
  }
  printer.print(decoded, std::move(where), title, true);
  return {};
}

Result<void> decode_file(const std::string& file, const mrc::wire::DecodeOptions& options, Printer& printer) {
  Result<CaptureReader> reader = CaptureReader::open(file);
  if (!reader) return reader.error();
  CapturedPacket packet;
  for (;;) {
    const Result<bool> more = reader->next(packet);
    if (!more) return more.error();
    if (!*more) return {};
    const auto& interface = reader->interfaces()[packet.interface_id];
    if (const Result<void> r = decode_capture_packet(packet, interface, file, options, printer); !r)
      return r.error();
  }
}

int fail(const Error& error) {
  std::fflush(stdout);
  mrc::report::say(stderr, "mrc-decode: {}\n", error.message);
  return kUsageOrFile;
}

int decode_hex(const char* option, const std::string& text, PacketStart start,
               const mrc::wire::DecodeOptions& options, Printer& printer) {
  const auto bytes = parse_hex(option, text);
  if (!bytes) return fail(bytes.error());
  const auto size = static_cast<std::uint32_t>(bytes->size());
  printer.print(mrc::report::decode_any(*bytes, size, start, options), Json::object(),
                fmt::format("packet  {} bytes", size), false);
  return kAllFine;
}

/// Thrown errors are CLI11's, which names the option.
std::vector<std::uint16_t> parse_ports(const std::string& text) {
  std::vector<std::uint16_t> ports;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), port);
    if (error != std::errc{} || end != word.data() + word.size() || port == 0)
      throw CLI::ValidationError("--ports", fmt::format("'{:.40}' is no port, 1 to 65535", word));
    ports.push_back(port);
  }
  if (ports.empty() || ports.size() > 2)
    throw CLI::ValidationError("--ports", fmt::format("'{:.40}': give one or two, like 4791,4971", text));
  return ports;
}

int run(const Options& o) {
  const auto options = decode_options(o);
  if (!options) return fail(options.error());
  Printer printer(o);
  if (!o.ip_hex.empty()) {
    if (const int r = decode_hex("--ip-hex", o.ip_hex, PacketStart::kIp, *options, printer); r != kAllFine)
      return r;
  }
  if (!o.ib_hex.empty()) {
    if (const int r = decode_hex("--ib-hex", o.ib_hex, PacketStart::kBth, *options, printer); r != kAllFine)
      return r;
  }
  for (const auto& file : o.files) {
    if (const Result<void> r = decode_file(file, *options, printer); !r) return fail(r.error());
  }
  const Totals& t = printer.totals();
  if (t.mrc == 0 && !o.files.empty()) {
    return fail(Error{fmt::format("no MRC packet among {}; UDP ports looked for: {} (--ports)", t.packets,
                                  fmt::join(o.ports, ", "))});
  }
  return t.bad == 0 ? kAllFine : kSomePacketBad;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string& program = mrc::program_name();
  const auto first_command = [&program] {
    mrc::report::say(stderr, fmt::runtime(kFirstCommand), program);
    return kUsageOrFile;
  };
  if (argc <= 1) return first_command();
  Options o;
  CLI::App app{
      "Shows MRC packets: from pcap and pcapng files (- is standard input) or from hex.\n"
      "Text shows the ICRC as its four bytes stand in the packet; JSON as the number, whose least "
      "significant byte "
      "comes first there.\n"
      "Exit code: 0 all fine, 1 a packet is malformed or its ICRC is wrong, 2 usage or file error."};
  app.add_option("FILE", o.files, "Captures, pcap or pcapng");
  app.add_option("--ip-hex", o.ip_hex, "A packet from its outermost IP header on, ICRC included");
  app.add_option("--ib-hex", o.ib_hex, "A packet from its BTH on, without ICRC");
  app.add_flag("--json", o.json, "One JSON object a packet, one a line");
  app.add_flag("--explain-icrc", o.explain_icrc, "Print the masked bytes that the ICRC runs over");
  app.add_option("--ev-order", o.ev_order, "Which EV half is in the UDP source port (C7): B high, A low")
      ->check(CLI::IsMember({"A", "B"}))
      ->capture_default_str();
  // One word, so that a FILE may follow.
  app.add_option_function<std::string>(
         "--ports", [&o](const std::string& text) { o.ports = parse_ports(text); },
         "UDP destination ports of MRC, one or two: 4791,4971")
      ->default_str("4791,4971");
  app.add_option("--dscp", o.dscp,
                 "Six DSCP numbers: no-trim,trimmable,retransmission,trimmed,trimmed-lasthop,control "
                 "(default 0,4,8,12,16,46)")
      ->delimiter(',')
      ->expected(6)
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 63));
  app.add_flag("--no-ip-checksum", o.no_ip_checksum,
               "Ignore IPv4 checksums (captures made before a NIC filled them in)");
  app.set_version_flag("--version", "mrc-decode " MRC_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    mrc::report::say(stdout, "{}", app.help());
    return kAllFine;
  } catch (const CLI::CallForVersion& e) {
    mrc::report::say(stdout, "{}\n", e.what());
    return kAllFine;
  } catch (const CLI::ParseError& e) {
    mrc::report::say(stderr, "mrc-decode: {}\nTry '{} --help'.\n", e.what(), program);
    return kUsageOrFile;
  }
  if (o.files.empty() && o.ip_hex.empty() && o.ib_hex.empty()) return first_command();
  int code = kUsageOrFile;
  try {
    code = run(o);
  } catch (const std::bad_alloc&) {
    mrc::report::say(stderr, "mrc-decode: out of memory\n");
  }
  if (mrc::report::delivered(stdout)) return code;
  mrc::report::say(stderr,
                   "mrc-decode: standard output cannot be written: it is closed, full, or nobody reads it\n");
  return kUsageOrFile;
}
