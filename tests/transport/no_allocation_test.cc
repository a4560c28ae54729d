// SPDX-License-Identifier: BSD-3-Clause
// No allocation after construction, and what a QP costs in memory. The hook counts every operator new of
// this program; a run through loss, trims, timers, errors and flush must not move the count.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <new>

#include "solo.h"

namespace {

std::size_t allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++allocations;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* or_throw(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// All forms that the library may call: a form left out would be the sanitizer's own, and escape the count.
void* operator new(std::size_t bytes) {
  return or_throw(counted(bytes));
}
void* operator new[](std::size_t bytes) {
  return or_throw(counted(bytes));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(counted(bytes, static_cast<std::size_t>(alignment)));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(counted(bytes, static_cast<std::size_t>(alignment)));
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace mrc::transport::test {
namespace {

/// Two QPs and a wire of fixed memory, so that the harness itself never allocates.
class FixedPair {
 public:
  FixedPair() {
    QpAttr attr = default_attr();
    attr.path_mtu = 1024;
    for (Qp* qp : {&a, &b}) {
      if (!bring_up(*qp, attr, now).empty()) throw std::runtime_error("bring_up");
    }
  }

  /// One round trip with random loss, trims, marks and duplicates.
  void round(Rng& rng) {
    PortCredits credits;
    credits.up_mask = 0xF;
    credits.credits.fill(64);
    const std::size_t n = a.next_packets(now, credits, packets);
    now = now + microseconds(5);
    wire::RxMeta meta;
    meta.arrival = now;
    for (std::size_t i = 0; i < n; ++i) {
      const TxDesc& d = packets[i];
      if (rng.chance(0.02)) continue;
      meta.port = d.port;
      meta.entropy = (*table)[d.ev].entropy;
      meta.ce = rng.chance(0.05);
      const wire::BthView bth{d.opcode, d.se, d.a, d.rtx, d.ts, d.psn};
      if (rng.chance(0.02)) {
        b.on_trimmed({bth, d.tx_timestamp}, meta);
        continue;
      }
      wire::WriteView w;
      w.bth = bth;
      w.rqmsn = d.rqmsn;
      w.tx_timestamp = d.tx_timestamp;
      w.dmalen = d.dmalen;
      w.payload_bytes = d.payload_bytes;
      w.nominal_bytes = wire::write_nominal_bytes(d.opcode, d.ts, d.payload_bytes);
      for (int copies = rng.chance(0.02) ? 2 : 1; copies > 0; --copies) {
        if (b.on_write(w, meta, Access::kOk) == WriteVerdict::kPlace) b.placed(d.psn);
      }
    }
    reply(rng);
    for (Qp* qp : {&a, &b}) {
      if (qp->wake().deadline <= now) qp->on_timer(now);
    }
  }
  void reply(Rng& rng) {
    exchange(b, a, rng);
    exchange(a, b, rng);
    exchange(b, a, rng);
    std::array<Completion, 64> done;
    completed += a.poll_completions(done);
    received += b.poll_completions(done);
  }
  void exchange(Qp& from, Qp& to, Rng& rng) {
    PortCredits credits;
    credits.up_mask = 0xF;
    credits.credits.fill(64);
    const std::size_t n = from.next_control(now, credits, controls);
    now = now + microseconds(5);
    wire::RxMeta meta;
    meta.arrival = now;
    for (std::size_t i = 0; i < n; ++i) {
      if (rng.chance(0.05)) continue;
      meta.entropy = controls[i].entropy;
      if (controls[i].opcode == wire::Opcode::kSack) to.on_sack(controls[i].sack, meta);
      if (controls[i].opcode == wire::Opcode::kNack) to.on_nack(controls[i].nack, meta);
      if (controls[i].opcode == wire::Opcode::kAck) to.on_ack(controls[i].ack, meta);
      if (controls[i].opcode == wire::Opcode::kProbe) to.on_probe(controls[i].probe, meta);
    }
  }

  std::shared_ptr<const path::EvTable> table = make_table(16, 4);
  cc::Qpcc cc{cc::FixedWindow(200000)};
  Qp a{0x100, {}, {}, table, cc, 1};
  Qp b{0x101, {}, {}, table, cc, 2};
  Time now{1'000'000'000};
  std::array<TxDesc, 64> packets;
  std::array<ControlDesc, 64> controls;
  std::uint64_t completed = 0;
  std::uint64_t received = 0;
};

TEST(NoAllocation, NothingIsAllocatedAfterConstruction) {
  Rng rng(11);
  FixedPair pair;
  const std::size_t before = allocations;
  ASSERT_GT(before, 0U);  // the hook counts
  for (int i = 0; i < 20000; ++i) {
    while (pair.b.post_recv({1}) == PostResult::kOk) {
    }
    const bool imm = i % 5 == 0;
    pair.a.post_send({1, imm ? WrOpcode::kRdmaWriteWithImm : WrOpcode::kRdmaWrite, false,
                      static_cast<std::uint32_t>(i * 97 % 6000), 1, 0, 0, 0});
    pair.round(rng);
    if (i == 10000) pair.a.on_port_change(2, false, pair.now);
    if (i == 10500) pair.a.on_port_change(2, true, pair.now);
    if (i == 15000) pair.a.on_poll_gap(pair.now, milliseconds(1));
  }
  const std::size_t in_service = allocations;
  pair.b.on_write({}, {}, Access::kDenied);
  pair.a.on_nack({}, {});
  (void)pair.a.modify(QpState::kError, {}, 0, pair.now);
  (void)pair.b.modify(QpState::kError, {}, 0, pair.now);
  pair.reply(rng);
  EXPECT_EQ(in_service, before);
  EXPECT_EQ(allocations, before);
  EXPECT_GT(pair.completed, 19000U);
  EXPECT_GT(pair.received, 3000U);
  EXPECT_GT(pair.a.counters().tx_rtx, 500U);
  EXPECT_GT(pair.a.ev_set().counters().assumed_bad, 10U);
}

// The numbers of lib/transport/README.md.
TEST(Memory, BytesPerQpAndPerPsn) {
  const auto table = make_table(16, 4);
  cc::Qpcc cc{cc::FixedWindow(1)};
  const Qp small(1, {.max_mpr = 8, .max_mpr_dest = 8}, {}, table, cc, 1);
  const Qp large(1, {.max_mpr = 16, .max_mpr_dest = 16}, {}, table, cc, 1);
  EXPECT_EQ(sizeof(PsnRecord), 16U);
  EXPECT_EQ(sizeof(SendWr), 64U);
  EXPECT_LE(sizeof(Qp), 8960U);
  // Requestor: 16 B and 3 bits a PSN; responder: 5 bits and a stash slot of 12 B. Rings are powers of two
  // with 64 spare, so the rings of bits and the stash are up to twice the window.
  const std::size_t growth = large.heap_bytes() - small.heap_bytes();
  EXPECT_LE(growth / 1024, 16U + 2 * 12 + 2);
  EXPECT_LE(small.heap_bytes(), 68U * 1024);
  std::printf("sizeof(Qp) %zu, heap %zu, per PSN %zu\n", sizeof(Qp), small.heap_bytes(), growth / 1024);
}

}  // namespace
}  // namespace mrc::transport::test
