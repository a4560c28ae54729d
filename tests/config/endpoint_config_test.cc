// SPDX-License-Identifier: BSD-3-Clause
#include "config/endpoint_config.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/loader.h"

namespace mrc::config {
namespace {

std::string error_of(std::string_view text) {
  const Result<EndpointConfig> r = load_endpoint_text(text, "e.yaml");
  return r ? "" : r.error().message;
}

TEST(EndpointConfig, EmptyFileGivesTheDefaultsOfTheLibraries) {
  const Result<EndpointConfig> r = load_endpoint_text("", "e.yaml");
  ASSERT_TRUE(r) << r.error().message;
  const transport::QpAttr attr;
  const transport::QpPolicy policy;
  EXPECT_EQ(r->qp.attr.path_mtu, attr.path_mtu);
  EXPECT_EQ(r->qp.attr.timeout, attr.timeout);
  EXPECT_EQ(r->qp.policy.sack_gen_threshold, policy.sack_gen_threshold);
  EXPECT_TRUE(r->workload.verify);
  EXPECT_EQ(r->plane_count, 4U);
}

TEST(EndpointConfig, ReadsEveryKindOfValue) {
  const Result<EndpointConfig> r = load_endpoint_text(R"(
profile: af_packet
seed: 0xABCDEF0123456789
planes:
  - {device: v0, ip: "10.1.0.1", mac: "02:00:00:00:00:01", vlan: 7}
  - {device: v1, ip: 10.1.1.1}
qp: {mtu: 1024, timestamps: off, base_rtt_us: 12.5}
cc: {window: 2M}
workload:
  kind: write_imm
  sweep: [0, 1, 4K, 1M]
  duration_s: 0.5
  pin_ev: 3
eal: {args: ["--log-level=7", "--no-telemetry"]}
)",
                                                      "e.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->profile, Profile::kAfPacket);
  EXPECT_EQ(r->seed, 0xABCDEF0123456789U);
  EXPECT_EQ(r->planes[0].vlan, 7);
  EXPECT_EQ(r->qp.attr.path_mtu, 1024);
  EXPECT_FALSE(r->qp.policy.use_timestamps);
  EXPECT_EQ(r->qp.policy.base_rtt.ns, 12500);
  EXPECT_EQ(r->cc.window_bytes, 2U << 20);
  EXPECT_EQ(r->workload.sweep_bytes, (std::vector<std::uint64_t>{0, 1, 4096, 1048576}));
  EXPECT_EQ(r->workload.pin_ev, 3);
  EXPECT_EQ(r->eal.args.size(), 2U);
}

// What a user gets wrong, and the whole line that answers it.
TEST(EndpointConfig, SaysWhereWhatAndHow) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"qp:\n  timout: 16\n", "e.yaml:2: qp.timout: unknown key; did you mean 'timeout'?"},
      {"qp:\n  mpr: 300\n", "e.yaml:2: qp.mpr: 300 is above the limit 255; use 1 to 255"},
      {"qp:\n  mpr: 0\n", "e.yaml:2: qp.mpr: 0 is below the limit 1; use 1 to 255"},
      {"qp:\n  mpr: many\n", "e.yaml:2: qp.mpr: expected a whole number from 1 to 255, found 'many'"},
      {"qp:\n  mpr: \"8\"\n",
       "e.yaml:2: qp.mpr: expected a whole number from 1 to 255, found the quoted text '8'"},
      {"qp:\n  mpr: -1\n", "e.yaml:2: qp.mpr: expected a whole number from 1 to 255, found '-1'"},
      {"qp:\n  mpr: 010\n", "e.yaml:2: qp.mpr: expected a whole number from 1 to 255, found '010'"},
      {"qp:\n  mpr: [1]\n", "e.yaml:2: qp.mpr: expected a whole number from 1 to 255, found a list"},
      {"qp: 7\n", "e.yaml:1: qp: expected a map of 'key: value' lines, found '7'"},
      {"qp:\n  mtu: 1500\n", "e.yaml:2: qp.mtu: 1500 is not one of 256, 512, 1024, 2048, 4096, auto"},
      {"qp: {ev_flush: maybe}\n", "e.yaml:1: qp.ev_flush: expected true or false, found 'maybe'"},
      {"profile: afpacket\n",
       "e.yaml:1: profile: 'afpacket' is not one of virtual, ring, vhost, memif, af_packet, af_xdp, pcap, "
       "ethdev; did "
       "you mean 'af_packet'?"},
      {"fabric: {loss: 1.5}\n", "e.yaml:1: fabric.loss: 1.5 is above the limit 0.5; use 0 to 0.5"},
      {"fabric: {loss: nan}\n", "e.yaml:1: fabric.loss: expected a number from 0 to 0.5, found 'nan'"},
      {"planes:\n  - ip: 10.0.0.256\n",
       "e.yaml:2: planes[0].ip: expected an IPv4 or IPv6 address, found '10.0.0.256'"},
      {"planes:\n  - mac: 01:00:00:00:00:01\n",
       "e.yaml:2: planes[0].mac: expected a unicast MAC address like 02:00:00:00:00:01, found "
       "'01:00:00:00:00:01'"},
      {"planes:\n  - mac: 00:00:00:00:00:00\n",
       "e.yaml:2: planes[0].mac: expected a unicast MAC address like 02:00:00:00:00:01, found "
       "'00:00:00:00:00:00'"},
      {"workload:\n  size: 3G\n",
       "e.yaml:2: workload.size: 3G is above the limit 2147483648; use 0 to 2147483648"},
      {"workload: {iterations: 5, duration_s: 1}\n",
       "e.yaml:1: workload: iterations and duration_s are both set; keep one"},
      {"profile: pcap\n", "e.yaml: planes: profile pcap needs one entry a plane with its 'device'"},
      {"dscp:\n  control: 12\n",
       "e.yaml:1: dscp.trimmed: 12 is also dscp.control; a receiver tells them apart by this number alone"},
      {"planes:\n- {ip: 10.0.0.1}\n- {ip: 'fd00::1'}\n",
       "e.yaml:1: planes: IPv4 and IPv6 addresses are mixed; use one family on all planes"},
      {"planes:\n- {ip: 10.0.0.1}\n- {ip: 10.0.0.1}\n",
       "e.yaml:3: planes[1].ip: 10.0.0.1 is used by another plane; each plane has its own"},
      {"ev: {count: 2}\n", "e.yaml:1: ev.count: 2 EVs for 4 planes; each plane needs one at least"},
      {"ev: {mode: explicit}\n",
       "e.yaml:1: ev.values: mode explicit needs the EVs; give a list, or use mode auto"},
      {"qp: {mtu: 4096}\ncc: {window: 4187, send_test: uet}\n",
       "e.yaml:2: cc.window: 4187 holds no packet of 4188 bytes, so that send_test uet never sends; raise it "
       "or use mrc"},
      {"qp: {mtu: 4096, timestamps: false}\ncc: {window: 4184, send_test: uet}\n", ""},
      {"cc: {window: 256}\n", ""},
      {"ev:\n  denied:\n  - {index: 3}\n  - {index: 127}\n", ""},
      {"ev:\n  denied:\n  - {index: 3}\n  - {index: 128}\n",
       "e.yaml:4: ev.denied[1].index: 128 but there are EVs 0 to 127"},
      {"ev:\n  denied:\n  - {ev: 0xc001}\n",
       "e.yaml:3: ev.denied[0].ev: mode auto draws its values from the seed; give an 'index'"},
      {"ev:\n  denied:\n  - {plane: 1}\n",
       "e.yaml:3: ev.denied[0]: names no EV; give 'index', or 'ev' (its value, as results print it), not "
       "both"},
      {"ev:\n  denied:\n  - {index: 1, plane: 1}\n",
       "e.yaml:3: ev.denied[0].index: 'plane' narrows a value; an index has its plane already"},
      {"plane_count: 2\nev:\n  mode: explicit\n  values: [{ev: 0xc001}, {ev: 0xc001, plane: 1}]\n  denied:\n"
       "  - {ev: 0xc001, plane: 1}\n",
       ""},
      {"plane_count: 2\nev:\n  mode: explicit\n  values: [{ev: 0xc001}, {ev: 0xc002, plane: 1}]\n  denied:\n"
       "  - {ev: 0xc002, plane: 0}\n",
       "e.yaml:6: ev.denied[0].ev: no EV of the profile has the value 0xc002 on plane 0"},
      {"plane_count: 2\nev:\n  mode: explicit\n  values: [{ev: 0xc001}, {ev: 0xc001, plane: 1}]\n  denied:\n"
       "  - {ev: 0xc001}\n",
       "e.yaml:5: ev.denied: all 2 EVs are on it; leave one at least to send on"},
      {"ev: {denied: [{index: 1}]}\nworkload: {pin_ev: 1}\n",
       "e.yaml:1: ev.denied: workload.pin_ev leaves one EV; set one of the two"},
      {"fabric: {ecn: true}\n",
       "e.yaml:1: fabric.ecn: needs fabric.link_gbps; a path without a rate has no queue"},
      {"fabric: {trim: true}\n",
       "e.yaml:1: fabric.trim: needs fabric.link_gbps; a path without a rate has no queue"},
      {"fabric: {ecn: true, trim: true, link_gbps: 1}\n", ""},
      {"fabric: {ecn: true, link_gbps: 1, ecn_min: 900K}\n",
       "e.yaml:1: fabric.ecn_min: 921600 is above ecn_max, 786432"},
      {"fabric: {ecn: true, link_gbps: 1, ecn_max: 2M}\n",
       "e.yaml:1: fabric.ecn_max: 2097152 is above fabric.queue, 1048576"},
      {"ev: {format: srv6}\n", ""},
      {"ev: {format: srv6_srh, count: 36}\n",
       "e.yaml:1: ev.count: 36 EVs, but 4 planes have fabric.paths_per_plane 8 ways each; use at most 32, or "
       "auto"},
      {"ev:\n  format: srv6\n  denied: [{index: 32}]\n",
       "e.yaml:3: ev.denied[0].index: 32 but there are EVs 0 to 31"},
      {"ev:\n  format: srv6\n  mode: explicit\n  values: [{ev: 0xfc}, {ev: 0xfc, plane: 1}, {ev: 0xfc, "
       "plane: 2}, "
       "{ev: 0xfc, plane: 3}]\n",
       "e.yaml:3: ev.mode: explicit: on profile virtual the fabric's switches have the uSIDs, other "
       "addresses lead "
       "nowhere; use mode auto, or a profile with a network of your own"},
      {"paths: {active: 129}\n", "e.yaml:1: paths.active: 129 is above the number of EVs, 128"},
      {"paths: {active: 8}\nqp: {ev_min_active: 9}\n",
       "e.yaml:2: qp.ev_min_active: 9 is above paths.active 8"},
      {"paths: {selector: best}\n",
       "e.yaml:1: paths.selector: 'best' is not one of mrc, oblivious, bitmap, score, reps, single"},
      {"workload: {pin_ev: 500}\n", "e.yaml:1: workload.pin_ev: 500 but there are EVs 0 to 127"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(error_of(text), want) << text;
}

TEST(EndpointConfig, ReportsAllErrorsAtOnce) {
  EXPECT_EQ(error_of("sede: 1\nqp:\n  mpr: 0\n  mtuu: 1\n"),
            "e.yaml:3: qp.mpr: 0 is below the limit 1; use 1 to 255\n"
            "e.yaml:4: qp.mtuu: unknown key; did you mean 'mtu'?\n"
            "e.yaml:1: sede: unknown key; did you mean 'seed'?");
}

TEST(EndpointConfig, PrintLoadsBackToTheSame) {
  const Result<EndpointConfig> r = load_endpoint_text(R"(
profile: memif
planes: [{device: "/run/a \"b\" \\c.sock", ip: "fd00::1"}, {device: /run/d.sock}]
ev: {mode: generated, format: stev, count: 30, fields: [{width: 16, init: 0x100, mask: 0xf, min: 1, max: 15}]}
workload: {sweep: [64, 1M], pin_ev: 5, verify: false}
eal: {args: [--log-level=8]}
qp: {base_rtt_us: 7.25, dynamic_mpr: true}
)",
                                                      "e.yaml");
  ASSERT_TRUE(r) << r.error().message;
  for (const bool annotate : {false, true}) {
    const std::string once = print_endpoint(*r, annotate);
    const Result<EndpointConfig> again = load_endpoint_text(once, "printed");
    ASSERT_TRUE(again) << again.error().message << "\n" << once;
    EXPECT_EQ(print_endpoint(*again, annotate), once);
    EXPECT_EQ(again->planes[0].device, "/run/a \"b\" \\c.sock");
    EXPECT_EQ(again->ev.fields[0].mask, 0xFU);
    EXPECT_EQ(again->qp.policy.base_rtt.ns, 7250);
  }
}

TEST(EndpointConfig, AnnotatedDefaultsDocumentEveryKey) {
  const std::string text = print_endpoint(EndpointConfig{}, true);
  for (const char* key :
       {"udp_port", "mpr_dest", "sack_threshold", "hugepages", "drops_only", "peer_timeout_s", "mask"}) {
    EXPECT_NE(text.find(key), std::string::npos) << key;
  }
  EXPECT_TRUE(load_endpoint_text(text, "printed")) << load_endpoint_text(text, "printed").error().message;
}

TEST(EndpointConfig, MakesUpSocketsWhereNoneIsNamed) {
  const auto filled = [](const char* text) {
    Result<EndpointConfig> r = load_endpoint_text(text, "e.yaml", {}, Profile::kVhost);
    EXPECT_TRUE(r) << r.error().message;
    fill_sockets(*r, "/d");
    return *r;
  };
  const EndpointConfig unsaid = filled("plane_count: 3");
  EXPECT_EQ(unsaid.profile, Profile::kVhost);
  ASSERT_EQ(unsaid.planes.size(), 3U);
  EXPECT_EQ(unsaid.planes[2].device, "/d/vhost2.sock");
  const EndpointConfig some = filled("profile: memif\nplanes: [{device: /x.sock}, {ip: 'fd00::2'}]");
  EXPECT_EQ(some.planes[0].device, "/x.sock");
  EXPECT_EQ(some.planes[1].device, "/d/memif1.sock");
  EXPECT_TRUE(filled("profile: virtual").planes.empty());
}

TEST(EndpointConfig, FillsAddressesPerHostAndPlane) {
  EndpointConfig a;
  EndpointConfig b;
  fill_addresses(a, 1);
  fill_addresses(b, 2);
  ASSERT_EQ(a.planes.size(), 4U);
  EXPECT_EQ(a.planes[3].ip, "fd4d:5243:3::1");
  EXPECT_EQ(b.planes[0].mac, "02:4d:52:02:00:01");
  for (const PlaneConfig& p : a.planes) {
    EXPECT_TRUE(is_ip_address(p.ip));
    EXPECT_TRUE(is_mac_address(p.mac));
  }
}

TEST(EndpointConfig, TheOtherEndHasAddressesOfItsOwnAndOfTheSameFamily) {
  EndpointConfig c;
  c.planes.resize(2);
  c.planes[0].ip = "192.0.2.1";
  c.planes[1].next_hop_mac = "02:00:00:00:00:01";
  fill_addresses(c, 1);
  EXPECT_EQ(c.planes[1].ip, "10.77.1.1");
  const EndpointConfig other = other_end(c, 2);
  EXPECT_EQ(other.planes[0].ip, "10.77.0.2");
  EXPECT_EQ(other.planes[1].ip, "10.77.1.2");
  EXPECT_EQ(other.planes[1].mac, "02:4d:52:02:01:01");
  EXPECT_EQ(other.planes[1].next_hop_mac, "");
  c.planes[0].ip = c.planes[1].ip = "fd00::1";
  EXPECT_EQ(other_end(c, 2).planes[0].ip, "fd4d:5243:0::2");
}

TEST(ParseCount, AcceptsWhatPeopleWrite) {
  std::uint64_t v = 0;
  EXPECT_TRUE(parse_count("64K", true, v));
  EXPECT_EQ(v, 65536U);
  EXPECT_TRUE(parse_count("0x10", false, v));
  EXPECT_EQ(v, 16U);
  EXPECT_TRUE(parse_count("18446744073709551615", false, v));
  for (const char* bad :
       {"", "K", "0x", "1.5", " 1", "1 ", "18446744073709551616", "17179869184G", "+1", "0x-1"}) {
    EXPECT_FALSE(parse_count(bad, true, v)) << bad;
  }
  EXPECT_FALSE(parse_count("64K", false, v));
}

}  // namespace
}  // namespace mrc::config
