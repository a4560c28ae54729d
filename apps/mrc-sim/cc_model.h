// SPDX-License-Identifier: BSD-3-Clause
// The golden model behind `mrc-sim cc`: one controller of lib/cc, driven by JSON lines. Nothing of the
// algorithm is written here; every number out is read from the controller.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cc/qpcc.h"
#include "json_fields.h"

namespace mrc::simapp {

/// Lines in, lines out. The first line configures; another {"event":"config", ...} starts anew. One owner.
class CcModel {
 public:
  /// Applies one input line; returns the line to print, without a line end. After an error the state is that
  /// before the line.
  [[nodiscard]] Result<std::string> apply(std::string_view line);

  [[nodiscard]] bool configured() const { return qpcc_.has_value(); }
  /// Precondition: configured().
  [[nodiscard]] const cc::Qpcc& qpcc() const { return *qpcc_; }

 private:
  struct Event;

  [[nodiscard]] Result<std::string> configure(const Json& object);
  [[nodiscard]] Result<std::string> step(const Json& object, const std::string& kind);
  [[nodiscard]] Result<Event> read_event(const Json& object, const std::string& kind);
  void read_rtt(Fields& in, Event& e) const;
  void read_bytes(Fields& in, const std::string& kind, Event& e) const;
  void act(const Event& e);
  [[nodiscard]] const cc::Nscc& nscc() const { return std::get<cc::Nscc>(qpcc_->algorithm()); }
  [[nodiscard]] std::string state_text() const;

  std::optional<cc::Qpcc> qpcc_;
  Time now_;
  RcvdUnits newest_{0};
  std::uint32_t ack_gen_trigger_bytes_ = 0;
};

}  // namespace mrc::simapp
