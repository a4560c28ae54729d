// SPDX-License-Identifier: BSD-3-Clause
// Defects put in on purpose, to prove that the property tests and the fault runs would find them. In the
// product each question is a constant false and leaves no code behind; tests/property and tests/fault compile
// the transport a second time with MRC_SEEDED_DEFECTS and switch one on.
#pragma once

#include <cstdint>
#include <iterator>

namespace mrc {

enum class Defect : std::uint8_t {
  kNone,
  kAckBeforePlaced,    ///< Transport ACK for what was received and is not in memory yet (D4)
  kAcceptDuplicate,    ///< a duplicate above the hole is placed again (3.2)
  kForgetWrap,         ///< arriving PSNs are compared as plain numbers
  kSackBaseOffByOne,   ///< sack_offset is one too large (D5)
  kIgnoreMpr,          ///< one packet beyond the PSN window (D2)
  kIgnoreWimmLimit,    ///< WriteIMMs beyond the peer's limit (D15)
  kDeliverEarly,       ///< an immediate is delivered before earlier messages are in memory (D15)
  kSameEv,             ///< a retransmission takes the EV it was lost on (D10)
  kCompleteTwice,      ///< a completion is reported again (D17)
  kSackCompletes,      ///< a SACK completes a work request (2.5)
  kLoseTimer,          ///< no ACK timer after cack advanced (D13)
  kUnchargeTwice,      ///< a lost packet leaves inflight twice (D7)
  kCountDuplicates,    ///< rcvd_bytes counts duplicates (3.2)
  kNoReordering,       ///< loss is inferred without the reordering allowance (D8)
  kKeepRetryCount,     ///< the retry count survives progress (D13)
  kCountOldSack,       ///< an old SACK's rcvd_bytes is subtracted again (D6)
  kWrongOffset,        ///< a retransmission reads the payload of the next packet (2.4)
  kDataOnSilentPlane,  ///< a plane that is DOWN goes on carrying data (D9)
  kDownLastPlane,      ///< the last usable plane may go DOWN (D9)
  kIgnorePeerPorts,    ///< data goes on to ports that the peer calls down (D19)
  kShrinkRefuses,      ///< a responder that shrinks its window refuses what its peer may yet send (D16)
  kNoPlaneFlush,       ///< what is under way on a plane that falls silent waits for its own verdicts (D9)
  kRestoreAll,         ///< every SKIP that a choice passes is restored (D10)
  kForgetProbe,        ///< an EV is condemned and never probed (D9)
  kBelowFloor,         ///< EVs are condemned below ev_min_active (D9)
  kBlameTrimmed,       ///< a trim notice condemns its EV (D9)
  kWrongOooCount,      ///< ooo_count counts what is missing too (3.2)
  kNackAnyCopy,        ///< a NACK of an earlier transmission gives the last one up (D11)
  kSkipUnmarked,       ///< a SACK without a mark skips its EV (5.5)
  kHastyPlane,         ///< two silent EVs take their plane with them (D9)
  kKeepReverseEv,      ///< probes that nobody answers do not replace the reverse EV (D19)
  kCountTrims,         ///< a trim notice counts as a retry (D11)
  kCount
};

#ifdef MRC_SEEDED_DEFECTS
constexpr const char* name_of(Defect d) {
  constexpr const char* kNames[] = {"none",
                                    "ack before placed",
                                    "accept duplicate",
                                    "forget PSN wrap",
                                    "SACK base off by one",
                                    "ignore MPR",
                                    "ignore WriteIMM limit",
                                    "deliver immediate early",
                                    "retransmit on the same EV",
                                    "complete twice",
                                    "SACK completes",
                                    "lose timer",
                                    "uncharge twice",
                                    "count duplicates",
                                    "no reordering allowance",
                                    "keep retry count",
                                    "count an old SACK",
                                    "retransmit wrong offset",
                                    "data on a silent plane",
                                    "the last plane goes down",
                                    "ignore the peer's ports",
                                    "shrinking refuses",
                                    "no flush with the plane",
                                    "restore every SKIP",
                                    "forget the probe",
                                    "condemn below the floor",
                                    "trims condemn",
                                    "wrong ooo_count",
                                    "a NACK gives up any copy",
                                    "skip without a mark",
                                    "a plane falls too soon",
                                    "keep a reverse EV",
                                    "trims count as retries"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Defect::kCount));
  return kNames[static_cast<std::size_t>(d)];
}
inline Defect active_defect = Defect::kNone;  // NOLINT: test builds only
inline bool seeded_defect(Defect d) {
  return active_defect == d;
}
#else
constexpr bool seeded_defect(Defect) {
  return false;
}
#endif

}  // namespace mrc
